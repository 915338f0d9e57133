package websearch_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// search queries a service that responds with body, and returns the received request as method,
// URI, headers and body.
func search(t testing.TB, o websearch.JSONOptions, path, query, body string) (a websearch.Answer, got string, err error) {
	t.Helper()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		got = r.Method + " " + r.RequestURI + " " + r.Header.Get("X-Key") + " " + r.Header.Get("Content-Type") + " " + string(sent)
		_, _ = io.WriteString(w, body)
	})
	o.URL = server.URL + path
	j, err := websearch.NewJSON(o)
	require.NoError(t, err)
	defer j.Close()
	a, err = j.Search(t.Context(), query)
	return a, got, err
}

// TO-12: any service that responds with JSON.
func TestJSON(t *testing.T) {
	a, got, err := search(t, websearch.JSONOptions{
		ResultsPath: "web.results", SnippetPath: "extra.0.text", Limit: 3, Headers: map[string]string{"x-key": key},
	}, "/s?n=3&q={query}", `a&b=c "d" é/+`, `{"web":{"results":[
		{"title":"A ","url":"https://a.test/","extra":[{"text":"first"}]},
		{"title":7,"url":null},
		{"other":1}, "text",
		{"title":"C"}, {"title":"D"}, {"title":"E"}]}}`)
	require.NoError(t, err)
	require.Equal(t, "GET /s?n=3&q=a%26b%3Dc%20%22d%22%20%C3%A9%2F%2B "+key+"  ", got)
	require.Equal(t, websearch.Answer{Sources: []websearch.Source{{"A", "https://a.test/", "first"}, {Title: "7"}, {Title: "C"}}}, a)

	a, got, err = search(t, websearch.JSONOptions{
		Body: `{"query": {query}, "again": "{query}", "n": 1}`, AnswerPath: "answer", TitlePath: "t", URLPath: "l",
	}, "/", `say "hi" {query}`, `{"answer": "42", "results": 1, "0": []}`)
	require.Equal(t, `POST /  application/json {"query": "say \"hi\" {query}", "again": "say \"hi\" {query}", "n": 1}`, got)
	failed(t, err, "no list at")
	require.Empty(t, a)

	a, _, err = search(t, websearch.JSONOptions{AnswerPath: "answer", ResultsPath: "results"}, "/{query}", "a b", `{"answer": " 42 "}`)
	require.NoError(t, err)
	require.Equal(t, websearch.Answer{Text: "42"}, a)

	a, _, err = search(t, websearch.JSONOptions{URLPath: "l"}, "/{query}", "x", `[{"title":"T","l":"u"}]`)
	require.NoError(t, err)
	require.Equal(t, []websearch.Source{{Title: "T", URL: "u"}}, a.Sources)
}

func TestJSONErrors(t *testing.T) {
	for body, words := range map[string]string{
		"":                    "is not JSON",
		"<html>":              "is not JSON",
		`{}`:                  `nothing at "a.b"`,
		`{"a":[]}`:            `nothing at "a.b"`,
		`{"a":{"b":{"c":1}}}`: "no list at",
	} {
		_, _, err := search(t, websearch.JSONOptions{ResultsPath: "a.b"}, "/?{query}", "x", body)
		failed(t, err, words)
	}
	for _, body := range []string{`{"a":{"b":null}}`, `{"a":{"b":[]}}`, `{"a":{"b":[null, 1]}}`} {
		a, _, err := search(t, websearch.JSONOptions{ResultsPath: "a.b"}, "/?{query}", "x", body)
		require.NoError(t, err)
		require.Empty(t, a.Sources)
	}
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "your key is "+key, http.StatusForbidden) })
	j, err := websearch.NewJSON(websearch.JSONOptions{URL: server.URL + "/{query}", Headers: map[string]string{"Authorization": key}})
	require.NoError(t, err)
	_, err = j.Search(t.Context(), "x")
	failed(t, err, "status 403 Forbidden.")
}

func TestJSONOptions(t *testing.T) {
	const good = "https://x.test/?q={query}"
	for words, o := range map[string]websearch.JSONOptions{
		"url is missing":             {},
		"url is not an http":         {URL: "ftp://x/{query}"},
		"in its host":                {URL: "https://{query}.test/"},
		"neither url nor body":       {URL: "https://x.test/"},
		`method is "DELETE"`:         {URL: good, Method: "DELETE"},
		"body needs the method POST": {URL: good, Method: "get", Body: "{}"},
		"body is not JSON":           {URL: good, Body: "{"},
		"limit is negative":          {URL: good, Limit: -1},
		`headers has "a b"`:          {URL: good, Headers: map[string]string{"a b": key}},
		`headers has "x"`:            {URL: good, Headers: map[string]string{"x": key + "\n"}},
		`resultsPath is "a..b"`:      {URL: good, ResultsPath: "a..b"},
		`answerPath is "."`:          {URL: good, AnswerPath: "."},
		`snippetPath is "x."`:        {URL: good, SnippetPath: "x."},
	} {
		_, err := websearch.NewJSON(o)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), words)
		require.Contains(t, err.Error(), words)
		require.NotContains(t, err.Error(), key)
	}
	for _, o := range []websearch.JSONOptions{{URL: good}, {URL: good, Method: "post"}, {URL: "http://127.0.0.1/", Body: `{"q":"{query}"}`}} {
		_, err := websearch.NewJSON(o)
		require.NoError(t, err)
	}
}
