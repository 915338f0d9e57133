package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// placeholder represents the query in URL and Body.
const placeholder = "{query}"

// JSONOptions configure a search service that responds with JSON.
//
// A path names a value in the response by object keys and 0-based list indexes, separated by dots,
// such as web.results or hits.0.title.
type JSONOptions struct {
	// URL is the address of the service, with {query} in place of the query, which is URL-escaped.
	// Required. The URL may omit {query} if Body contains it.
	URL string
	// Method is GET or POST. "": POST if there is a Body, else GET.
	Method string
	// Headers are sent with each request. Their values are never displayed.
	Headers map[string]string
	// Body is sent with each request, as JSON, with {query} in place of the query as a JSON string:
	// {"q": {query}}. "": none.
	Body string

	// ResultsPath is the path of the list of results. "": the response is the list.
	ResultsPath string
	// TitlePath, URLPath and SnippetPath are paths within a result. "": title, url and snippet.
	TitlePath, URLPath, SnippetPath string
	// AnswerPath is the path of an answer in prose. "": none.
	AnswerPath string
	// Limit is the maximum number of results. Zero: 10.
	Limit int

	Transport
}

// JSON searches with the service of its [JSONOptions]. It is safe for concurrent use.
type JSON struct {
	*client
	o      JSONOptions
	header http.Header
}

// NewJSON returns a JSON. It does no I/O. The error has code invalid_config and names the option.
func NewJSON(o JSONOptions) (*JSON, error) {
	if problem := o.check(); problem != "" {
		return nil, badOption("The web search is not configured correctly: "+problem+".", "Correct this setting of the web search.")
	}
	if o.Method = strings.ToUpper(o.Method); o.Method == "" {
		o.Method = http.MethodGet
		if o.Body != "" {
			o.Method = http.MethodPost
		}
	}
	o.Limit = cmp.Or(o.Limit, 10)
	for path, usual := range map[*string]string{&o.TitlePath: "title", &o.URLPath: "url", &o.SnippetPath: "snippet"} {
		if *path == "" {
			*path = usual
		}
	}
	header := http.Header{"Accept": {"application/json"}}
	if o.Body != "" {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range o.Headers {
		header.Set(name, value)
	}
	return &JSON{client: newClient(o.Transport, ""), o: o, header: header}, nil
}

// check returns the first problem of the options, or "".
func (o *JSONOptions) check() string {
	u, err := url.Parse(fill(o.URL, "x"))
	elsewhere, err2 := url.Parse(fill(o.URL, "y"))
	switch {
	case o.URL == "":
		return "url is missing"
	case err != nil || err2 != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "url is not an http or https URL"
	case u.Host != elsewhere.Host:
		return "url has " + placeholder + " in its host"
	case !strings.Contains(o.URL, placeholder) && !strings.Contains(o.Body, placeholder):
		return "neither url nor body has " + placeholder
	case !slices.Contains([]string{"", http.MethodGet, http.MethodPost}, strings.ToUpper(o.Method)):
		return fmt.Sprintf("method is %q, but only GET and POST are supported", o.Method)
	case o.Body != "" && strings.EqualFold(o.Method, http.MethodGet):
		return "body needs the method POST"
	case o.Body != "" && !json.Valid([]byte(fillJSON(o.Body, "x"))):
		return "body is not JSON after replacing " + placeholder + " with a JSON string"
	case o.Limit < 0:
		return "limit is negative"
	}
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(o.Headers[name]) {
			return fmt.Sprintf("headers has %q with an invalid name or value", name)
		}
	}
	for _, path := range [][2]string{
		{"resultsPath", o.ResultsPath}, {"titlePath", o.TitlePath}, {"urlPath", o.URLPath}, {"snippetPath", o.SnippetPath}, {"answerPath", o.AnswerPath},
	} {
		if path[1] != "" && slices.Contains(strings.Split(path[1], "."), "") {
			return fmt.Sprintf("%s is %q, which has an empty part", path[0], path[1])
		}
	}
	return ""
}

// fill replaces the placeholder in a URL, escaped for both a path and a query.
func fill(address, query string) string {
	return strings.ReplaceAll(address, placeholder, strings.ReplaceAll(url.QueryEscape(query), "+", "%20"))
}

// fillJSON replaces the placeholder in a body, with or without quotes around it.
func fillJSON(body, query string) string {
	text, _ := json.Marshal(query) // never fails for a string
	return strings.NewReplacer(`"`+placeholder+`"`, string(text), placeholder, string(text)).Replace(body)
}

// Search queries the service. The error has code web_search_failed or cancelled.
func (j *JSON) Search(ctx context.Context, query string) (Answer, error) {
	var body []byte
	if j.o.Body != "" {
		body = []byte(fillJSON(j.o.Body, query))
	}
	data, err := j.do(ctx, j.o.Method, fill(j.o.URL, query), j.header, body, func([]byte) string { return "" })
	if err != nil {
		return Answer{}, err
	}
	var read any
	if err := json.Unmarshal(data, &read); err != nil {
		return Answer{}, j.failed("The response of the search service is not JSON: "+j.quote(err.Error())+".", settings)
	}
	var a Answer
	if j.o.AnswerPath != "" {
		a.Text = text(read, j.o.AnswerPath)
	}
	results, ok := at(read, j.o.ResultsPath)
	list, isList := results.([]any)
	switch {
	case ok && results != nil && !isList:
		return Answer{}, j.failed(fmt.Sprintf("The response of the search service has no list at %q.", j.o.ResultsPath), settings)
	case !ok && a.Text == "":
		return Answer{}, j.failed(fmt.Sprintf("The response of the search service has nothing at %q: there are no results, or the setting is wrong.", j.o.ResultsPath),
			"Search for something else, or ask the user to check the settings of the web search.")
	}
	for _, result := range list {
		s := Source{Title: text(result, j.o.TitlePath), URL: text(result, j.o.URLPath), Snippet: text(result, j.o.SnippetPath)}
		if len(a.Sources) < j.o.Limit && s != (Source{}) {
			a.Sources = append(a.Sources, s)
		}
	}
	return a, nil
}

// at returns the value at a path, and whether it exists.
func at(value any, path string) (any, bool) {
	if path == "" {
		return value, true
	}
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[key]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// text returns the text at a path, or "".
func text(value any, path string) string {
	found, _ := at(value, path)
	switch v := found.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
