package apply

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// search decides who searches the web: the service of the settings, else
// Gemini where there is a key for it, else nobody.
func (c *checker) search() {
	if c.given.Decides(keySearch) {
		return
	}
	s := c.usable.Web.Search
	if s.URL != "" {
		c.usable.Search = func(t websearch.Transport) (SearchService, error) {
			return websearch.NewJSON(websearch.JSONOptions{
				URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, ResultsPath: s.ResultsPath, TitlePath: s.TitlePath,
				URLPath: s.URLPath, SnippetPath: s.SnippetPath, AnswerPath: s.AnswerPath, Limit: s.Limit, Transport: t,
			})
		}
		if err := c.trySearch(); err != nil {
			key := searchKey(err.Message)
			c.tell(fault.Problem{Message: err.Message + " There is no tool web_search.", Remedy: "Correct it."}, key, c.loaded.OriginOf(key))
		}
		return
	}
	key, address := Gemini(Variables(c.given.Environ, c.loaded))
	if key == "" {
		return
	}
	c.usable.Search = func(t websearch.Transport) (SearchService, error) {
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
func (c *checker) trySearch() *fault.Error {
	service, err := c.usable.Search(websearch.Transport{})
	if err != nil {
		c.usable.Search = nil
		return fault.As(err)
	}
	_ = service.Close() // it has opened nothing
	return nil
}

// keySearch stands for all keys of the service that searches the web.
const keySearch = "web.search"

// The variables that say with which key and where Gemini searches.
const (
	geminiKey     = "GEMINI_API_KEY"
	geminiAddress = "GOOGLE_GEMINI_BASE_URL"
)

// Gemini returns what the variables hold, "" for what is not used.
func Gemini(variable func(name string) (value string, ofProject bool)) (key, address string) {
	key, ofProject := variable(geminiKey)
	if key == "" {
		return "", ""
	}
	address, elsewhere := variable(geminiAddress)
	if elsewhere && !ofProject { // a person's key is for nobody else
		address = ""
	}
	return key, address
}

// Variables are those of an environment and of the .env files that were loaded.
func Variables(environ []string, loaded *settings.Result) func(name string) (value string, ofProject bool) {
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
