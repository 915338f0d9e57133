package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/tools"
)

// WebFetchParams are the parameters of web_fetch. Exactly one of them is set.
type WebFetchParams struct {
	URL    string `json:"url,omitempty" jsonschema_description:"http or https; not with prompt."`
	Prompt string `json:"prompt,omitempty" jsonschema_description:"Text with complete URLs; not with url."`
}

// fetchOutput is the JSON schema of the structured result; the model receives its pages as a list.
const fetchOutput = `{"type":"object","properties":{"pages":{"type":"array","items":{"type":"object","properties":{` +
	`"url":{"type":"string"},"final_url":{"type":"string","description":"the final address, after a redirect"},"status":{"type":"integer"},` +
	`"content_type":{"type":"string"},"notice":{"type":"string"},"truncated":{"type":"boolean"},` +
	`"content":{"type":"string","description":"between the lines <untrusted_context> and </untrusted_context>"},` +
	`"error":{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},"remedy":{"type":"string"},"reason":{"type":"string"}},` +
	`"required":["type","message"],"additionalProperties":false}},"required":["url"],"additionalProperties":false}}},` +
	`"required":["pages"],"additionalProperties":false}`

const webFetchDescription = "Fetches web pages as text, HTML as Markdown, by url or by a prompt with up to 20 URLs. " +
	"Returns a JSON array with content or error for each URL. " +
	untrustedAdvice +
	"Other files than text, and private addresses, are refused."

func newWebFetch() (*FetchFactory, error) {
	return tools.NewFactory(tools.Definition[Fetcher, WebFetchParams]{
		Spec: tools.Spec{
			Name: WebFetch, DisplayName: "WebFetch", Description: webFetchDescription,
			Kind: tools.KindFetch, Effects: []tools.Effect{tools.EffectNetwork}, Parallel: true, OutputSchema: json.RawMessage(fetchOutput),
		},
		Build: func(f Fetcher, p WebFetchParams, params json.RawMessage) (tools.ToolInvocation, error) {
			urls, err := urlsOf(p)
			if err != nil {
				return nil, err
			}
			return &webFetch{f, urls, params}, nil
		},
	})
}

type webFetch struct {
	fetcher Fetcher
	urls    []string
	params  json.RawMessage
}

func (c *webFetch) Params() json.RawMessage { return c.params }

// Description lists the first few URLs.
func (c *webFetch) Description() string {
	const most = 3
	var names []string
	for _, u := range c.urls[:min(len(c.urls), most)] {
		names = append(names, shorten(u))
	}
	if more := len(c.urls) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return "Fetch " + strings.Join(names, ", ")
}

func (c *webFetch) Locations() []tools.Location { return nil }

// Confirmation shows every URL. If all of them will be rejected, no approval is needed.
func (c *webFetch) Confirmation(context.Context) (*tools.Confirmation, error) {
	refused := make([]webfetch.Page, len(c.urls))
	for i, u := range c.urls {
		err := c.fetcher.Check(u)
		if err == nil {
			return &tools.Confirmation{
				Type: tools.ConfirmInfo, Title: "Confirm Web Fetch",
				InfoDetails: &tools.InfoDetails{Prompt: c.question(), URLs: c.urls},
			}, nil
		}
		refused[i] = webfetch.Page{URL: u, Err: failed(err, fault.WebFetchProcessing, "web.fetch")}
	}
	result, err := answer(refused)
	if err != nil {
		return nil, err
	}
	return nil, tools.WillRefuse(result)
}

func (c *webFetch) question() string {
	if len(c.urls) == 1 {
		return "Fetch this page from " + strings.Join(hosts(c.urls), "") + "?"
	}
	return fmt.Sprintf("Fetch these %d pages from %s?", len(c.urls), strings.Join(hosts(c.urls), ", "))
}

func (c *webFetch) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	return answer(c.fetcher.Fetch(ctx, c.urls))
}

// fetched is the result of one page for the model.
type fetched struct {
	URL         string       `json:"url"`
	FinalURL    string       `json:"final_url,omitempty"` // if it differs from URL
	Status      int          `json:"status,omitempty"`
	ContentType string       `json:"content_type,omitempty"`
	Notice      string       `json:"notice,omitempty"`
	Error       *fault.Error `json:"error,omitempty"`
	Truncated   bool         `json:"truncated,omitempty"`
	Content     string       `json:"content,omitempty"`
}

// answer formats pages. The call has failed if all of them have.
func answer(pages []webfetch.Page) (tools.Result, error) {
	all := make([]fetched, len(pages))
	var failures []*fault.Error
	chars := 0
	for i, p := range pages {
		all[i] = fetched{URL: p.URL, Status: p.Status, ContentType: p.ContentType, Notice: p.Notice, Error: p.Err, Truncated: p.Truncated}
		if p.FinalURL != p.URL {
			all[i].FinalURL = p.FinalURL
		}
		if p.Err == nil || p.Text != "" {
			all[i].Content = tools.Untrusted(p.Text)
			chars += utf8.RuneCountInString(p.Text)
		}
		if p.Err != nil {
			failures = append(failures, p.Err)
		}
	}
	content, err := tools.JSON(all)
	if err != nil {
		return tools.Result{}, err
	}
	display := fmt.Sprintf("Fetched %d of %d pages (%d characters)", len(pages)-len(failures), len(pages), chars)
	if len(pages) == 1 {
		display = fmt.Sprintf("Fetched %s (%d characters)", shorten(pages[0].URL), chars)
	}
	result := tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}
	if len(failures) == len(pages) {
		f := together(failures)
		result.Error, result.ReturnDisplay = f, tools.TextDisplay(f.Display())
		return result, nil
	}
	result.Structured = json.RawMessage(`{"pages":` + content.String() + `}`)
	return result, nil
}

// together returns the failure of a call whose pages have all failed.
func together(failures []*fault.Error) *fault.Error {
	first := failures[0]
	if len(failures) == 1 {
		return first
	}
	code, reason := first.Code, first.Reason
	for _, f := range failures {
		if f.Code != code {
			code = fault.WebFetchProcessing
		}
		if f.Reason != reason {
			reason = ""
		}
	}
	all := fault.Wrap(code, "web.fetch", fmt.Sprintf("None of the %d pages could be fetched. The first: %s", len(failures), first.Message),
		"See the error of each of them in the result. "+first.Remedy, first)
	return all.Because(reason)
}

// failed classifies an error.
func failed(err error, code fault.Code, op string) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(code, op, err.Error(), "", err)
}
