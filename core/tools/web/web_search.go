package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// WebSearchParams are the parameters of web_search.
type WebSearchParams struct {
	Query string `json:"query" jsonschema_description:"The query: a question or keywords."`
}

const webSearchDescription = "Searches the web and returns the findings with their sources. Numbers in brackets, such as [1], refer to the list of sources at the end. " +
	untrustedAdvice + "To read a source, fetch it with " + WebFetch + "."

func newWebSearch() (*SearchFactory, error) {
	return tools.NewFactory(tools.Definition[Searcher, WebSearchParams]{
		Spec: tools.Spec{
			Name: WebSearch, Aliases: []string{GoogleWebSearch}, DisplayName: "WebSearch", Description: webSearchDescription,
			Kind: tools.KindFetch, Effects: []tools.Effect{tools.EffectNetwork}, Parallel: true,
		},
		Validate: func(_ Searcher, p WebSearchParams) error {
			if strings.TrimSpace(p.Query) == "" {
				return badParameter("The 'query' parameter must be non-empty.", "Pass a query.")
			}
			return nil
		},
		Build: func(s Searcher, p WebSearchParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &webSearch{s, p.Query, params}, nil
		},
	})
}

type webSearch struct {
	searcher Searcher
	query    string
	params   json.RawMessage
}

func (c *webSearch) Params() json.RawMessage { return c.params }

func (c *webSearch) Description() string {
	return "Search the web for " + escape.Quote(shorten(escape.OneLine(c.query)))
}

func (c *webSearch) Locations() []tools.Location { return nil }

// Confirmation shows the whole query, because it leaves the machine.
func (c *webSearch) Confirmation(context.Context) (*tools.Confirmation, error) {
	return &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Confirm Web Search",
		InfoDetails: &tools.InfoDetails{Prompt: "Search the web for: " + c.query},
	}, nil
}

func (c *webSearch) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	found, err := c.searcher.Search(ctx, c.query)
	switch {
	case err != nil && ctx.Err() != nil:
		return tools.Fail(fault.Wrap(fault.Cancelled, "web.search", "The search was cancelled.", "", err)), nil
	case err != nil:
		return tools.Fail(failed(err, fault.WebSearchFailed, "web.search")), nil
	}
	text, notice := shown(found)
	if text == "" {
		nothing := "Nothing was found for " + escape.Quote(c.query) + "."
		return tools.Result{LLMContent: tools.Text(nothing), ReturnDisplay: tools.TextDisplay(nothing)}, nil
	}
	display := fmt.Sprintf("Found %d sources", len(found.Sources))
	if len(found.Sources) == 1 {
		display = "Found 1 source"
	}
	return tools.Result{LLMContent: tools.Text(notice + tools.Untrusted(text)), ReturnDisplay: tools.TextDisplay(display)}, nil
}
