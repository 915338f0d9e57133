package config

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// search decides who searches the web: the service of the settings, else
// Gemini where there is a key for it, else nobody.
func (c *settingsChecker) search() {
	if c.given.WebSearch != nil {
		return
	}
	s := c.usable.Web.Search
	if s.URL != "" {
		c.usable.search = func(t websearch.Transport) (searchService, error) {
			return websearch.NewJSON(websearch.JSONOptions{
				URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, ResultsPath: s.ResultsPath, TitlePath: s.TitlePath,
				URLPath: s.URLPath, SnippetPath: s.SnippetPath, AnswerPath: s.AnswerPath, Limit: s.Limit, Transport: t,
			})
		}
		if err := c.trySearch(); err != nil {
			key := searchKey(err.Message)
			c.tell(fault.Problem{Message: err.Message + " There is no tool web_search.", Remedy: "Correct it."}, key, originOf(c.loaded, key))
		}
		return
	}
	key, address := c.gemini()
	if key == "" {
		return
	}
	c.usable.search = func(t websearch.Transport) (searchService, error) {
		return websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: address, Transport: t})
	}
	if err := c.trySearch(); err != nil {
		source := "the variable " + geminiKey
		if address != "" {
			source += ", or " + geminiAddress
		}
		c.tell(fault.Problem{Message: err.Message + " There is no tool web_search.", Remedy: err.Remedy}, "",
			settings.Origin{Layer: settings.LayerEnvironment, Source: source})
	}
}

// trySearch makes the search service once, and leaves it out where that fails.
func (c *settingsChecker) trySearch() *fault.Error {
	service, err := c.usable.search(websearch.Transport{})
	if err != nil {
		c.usable.search = nil
		return fault.As(err)
	}
	_ = service.Close() // it has opened nothing
	return nil
}

// The variables that say with which key and where Gemini searches.
const (
	geminiKey     = "GEMINI_API_KEY"
	geminiAddress = "GOOGLE_GEMINI_BASE_URL"
)

// gemini returns what the variables hold, "" for what is not used.
func (c *settingsChecker) gemini() (key, address string) {
	key, ofProject := c.variable(geminiKey)
	if key == "" {
		return "", ""
	}
	address, elsewhere := c.variable(geminiAddress)
	if elsewhere && !ofProject { // a person's key is for nobody else
		address = ""
	}
	return key, address
}

func (c *settingsChecker) variable(name string) (value string, ofProject bool) {
	return variables(c.given.Settings.Environ, c.loaded)(name)
}

// variables are those of an environment and of the .env files that were loaded.
func variables(environ []string, loaded *settings.Result) Variables {
	return func(name string) (value string, ofProject bool) {
		if value, added := loaded.Env[name]; added {
			return value, loaded.OfProject(name)
		}
		for _, line := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value, false
			}
		}
		return "", false
	}
}

// searchKey returns the key that a complaint about the search service is about:
// it names the option, which the key is named like.
func searchKey(message string) string {
	_, words, _ := strings.Cut(message, ": ")
	name, _, _ := strings.Cut(words, " ")
	for _, k := range settings.Keys() {
		if k.Path == "web.search."+name {
			return k.Path
		}
	}
	return "web.search.url"
}
