package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// maxURLs is the maximum number of URLs of one call.
const maxURLs = 20

// urlsOf returns the distinct URLs of the parameters, in their order. The error has code invalid_tool_params.
func urlsOf(p WebFetchParams) ([]string, error) {
	one, prompt := strings.TrimSpace(p.URL), strings.TrimSpace(p.Prompt)
	switch {
	case one == "" && prompt == "":
		return nil, badParameter("Neither 'url' nor 'prompt' is given.", "Pass one of them: 'url' with one URL, or 'prompt' with a text that contains 1 to 20.")
	case one != "" && prompt != "":
		return nil, badParameter("Both 'url' and 'prompt' are given.", "Pass only one of them: 'url' with one URL, or 'prompt' with a text that contains 1 to 20.")
	case one != "":
		u, err := webfetch.ParseURL(one)
		if err != nil {
			return nil, err
		}
		return []string{u.String()}, nil
	}
	var urls []string
	for _, token := range tokens(prompt) {
		u, err := webfetch.ParseURL(token)
		if err != nil {
			return nil, err
		}
		if text := u.String(); !slices.Contains(urls, text) {
			if len(urls) == maxURLs {
				return nil, badParameter(fmt.Sprintf("The prompt contains more than %d URLs.", maxURLs), "Fetch them in several calls.")
			}
			urls = append(urls, text)
		}
	}
	if len(urls) == 0 {
		return nil, badParameter("The prompt contains no URL.", "Write each URL in full, beginning with http:// or https://.")
	}
	return urls, nil
}

// address matches a URL: a possible scheme, "://", and everything up to white space, a quote or an angle bracket.
var address = lazyregexp.New("[A-Za-z0-9+.!$%/?@^\\\\-]*://[^\\s\"`<>]*")

// tokens returns the possible URLs in a text: everything with "://", without enclosing brackets and trailing
// punctuation.
func tokens(text string) []string {
	found := address().FindAllString(text, -1)
	for i, token := range found {
		found[i] = trimEnd(token)
	}
	return found
}

// trimEnd removes what ends a sentence or closes a bracket that the URL does
// not open.
func trimEnd(token string) string {
	for token != "" {
		last, size := utf8.DecodeLastRuneInString(token)
		switch {
		case strings.ContainsRune(".,;:!?'*_|\\…。、，）」』”’»", last):
		case last == ')' && strings.Count(token, ")") > strings.Count(token, "("):
		case last == ']' && strings.Count(token, "]") > strings.Count(token, "["):
		case last == '}' && strings.Count(token, "}") > strings.Count(token, "{"):
		default:
			return token
		}
		token = token[:len(token)-size]
	}
	return token
}

// shorten returns a URL for a line, with its middle omitted.
func shorten(rawURL string) string { return escape.Middle(rawURL, 100, "[...]") }

// hosts returns the distinct hosts of URLs.
func hosts(urls []string) []string {
	var all []string
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil && !slices.Contains(all, u.Host) {
			all = append(all, u.Host)
		}
	}
	return all
}

// badParameter returns the error for a parameter that violates a rule of the tool.
func badParameter(message, remedy string) *fault.Error {
	e := fault.New(fault.InvalidToolParams, "web.validate", message, remedy)
	e.Short = "Invalid arguments"
	return e
}
