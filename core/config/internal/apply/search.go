package apply

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// search selects the web search service: that of the settings, else Gemini if
// there is a key for it, else none.
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
			c.tell(fault.Problem{Message: err.Message + " The tool web_search is not available.", Remedy: "Correct it."}, key, c.loaded.OriginOf(key))
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
		c.tell(fault.Problem{Message: err.Message + " The tool web_search is not available.", Remedy: err.Remedy}, "",
			settings.Origin{Layer: settings.LayerEnvironment, Source: source})
	}
}

// trySearch creates the search service once, and drops it if that fails.
func (c *checker) trySearch() *fault.Error {
	service, err := c.usable.Search(websearch.Transport{})
	if err != nil {
		c.usable.Search = nil
		return fault.As(err)
	}
	_ = service.Close() // it has opened nothing
	return nil
}

// keySearch stands for all keys of the web search service.
const keySearch = "web.search"

// Variables with the key and the address of Gemini.
const (
	geminiKey     = "GEMINI_API_KEY"
	geminiAddress = "GOOGLE_GEMINI_BASE_URL"
)

// Gemini returns the values of these variables, "" for unused ones.
func Gemini(variable func(name string) (value string, ofProject bool)) (key, address string) {
	key, ofProject := variable(geminiKey)
	if key == "" {
		return "", ""
	}
	address, elsewhere := variable(geminiAddress)
	if elsewhere && !ofProject { // the user's key must not be sent to another address
		address = ""
	}
	return key, address
}

// Variables returns a lookup in an environment and the loaded .env files.
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

// searchKey returns the key to which an error of the search service refers: the
// error names an option with the same name.
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
