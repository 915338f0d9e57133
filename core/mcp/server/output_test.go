package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// EX-20: a result matches its tool's output schema, or is an error that reports
// the mismatch.
func TestOutput(t *testing.T) {
	const numbered = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	fits, err := tools.JSON(map[string]any{"n": 1})
	require.NoError(t, err)
	unfit, err := tools.JSON(map[string]any{"n": "a"})
	require.NoError(t, err)
	said := tools.Text("what there is")
	failed := fault.New(fault.ExecutionFailed, "test", "It failed.", "")
	for name, tt := range map[string]struct {
		schema string
		result tools.Result
		fails  bool
		want   string // structured content; "": none
	}{
		"content":             {numbered, tools.Result{LLMContent: fits}, false, `{"n":1}`},
		"beside":              {numbered, tools.Result{LLMContent: said, Structured: json.RawMessage(`{"n":2}`)}, false, `{"n":2}`},
		"taken out":           {numbered, tools.Result{LLMContent: said}, true, ""},
		"unfit content":       {numbered, tools.Result{LLMContent: unfit}, true, ""},
		"unfit beside":        {numbered, tools.Result{LLMContent: said, Structured: json.RawMessage(`{}`)}, true, ""},
		"no object":           {numbered, tools.Result{LLMContent: said, Structured: json.RawMessage(`"a"`)}, true, ""},
		"no JSON":             {numbered, tools.Result{LLMContent: fits, Structured: json.RawMessage(`{`)}, true, ""},
		"a failure":           {numbered, tools.Result{LLMContent: fits, Structured: json.RawMessage(`{"n":2}`), Error: failed}, true, ""},
		"nothing is promised": {"", tools.Result{LLMContent: said, Structured: json.RawMessage(`{"n":2}`)}, false, ""},
		"no list is promised": {`{"type":"array"}`, tools.Result{LLMContent: said}, false, ""},
		"no usable promise":   {`{"type":"object","pattern":"(?=a)"}`, tools.Result{LLMContent: fits}, false, `{"n":1}`},
		"none, unusable":      {`{"type":"object","pattern":"(?=a)"}`, tools.Result{LLMContent: said}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.New(server.Options{Name: "s", Version: "1", Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
				svc := plain(nil)
				svc.Tools = func() []tools.DeclarativeTool {
					return []tools.DeclarativeTool{tool{tools.Spec{Name: "t", Schema: json.RawMessage(objectSchema), OutputSchema: json.RawMessage(tt.schema)}}}
				}
				svc.Call = func(context.Context, string, json.RawMessage) tools.Result { return tt.result }
				return svc, nil
			}})
			c := clientOf(t, stdio(t, s).transport(), "2025-11-25", sdk.ClientOptions{})
			for range 2 { // the second time with a cached schema
				r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "t"})
				require.NoError(t, err)
				require.Equal(t, tt.fails, r.IsError, textOf(t, r))
				if tt.want == "" {
					require.Nil(t, r.StructuredContent)
				} else {
					got, err := json.Marshal(r.StructuredContent)
					require.NoError(t, err)
					require.JSONEq(t, tt.want, string(got))
				}
				last, ok := r.Content[len(r.Content)-1].(*sdk.TextContent)
				require.True(t, ok)
				require.Equal(t, tt.result.LLMContent.String(), last.Text, "what there is to read is there")
			}
		})
	}
}

// ST-07: JSON that contains the failure itself, as that of the file tools does,
// is the first block, so that its hash is not cut off; a text follows the error.
func TestWhatTellsOfAFailureComesFirst(t *testing.T) {
	failed := fault.New(fault.FileChangedSinceRead, "test", `It is "changed".`, "Go on.")
	report, err := tools.JSON(map[string]any{"message": failed.Text(), "sha256": "b0"})
	require.NoError(t, err)
	noted := tools.Content{Parts: []tools.Part{report.Parts[0], {Text: "Notice: n"}}}
	other, err := tools.JSON(map[string]any{"n": 1})
	require.NoError(t, err)
	clipped, err := tools.JSON(map[string]any{"message": "It is…", "sha256": "b0"})
	require.NoError(t, err)
	const code = "Error file_changed_since_read"
	const line = `Error file_changed_since_read: It is "changed". Go on.`
	for name, tt := range map[string]struct {
		content tools.Content
		want    []string
	}{
		"a report":             {report, []string{report.String(), code}},
		"a clipped message":    {clipped, []string{clipped.String(), line}},
		"with a notice behind": {noted, []string{report.String(), code, "Notice: n"}},
		"other JSON":           {other, []string{line, other.String()}},
		"text":                 {tools.Text("text"), []string{line, "text"}},
		"the error alone":      {tools.Fail(failed).LLMContent, []string{line}},
		"nothing":              {tools.Content{}, []string{line}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.New(server.Options{Name: "s", Version: "1", Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
				svc := plain(nil)
				svc.Tools = func() []tools.DeclarativeTool {
					return []tools.DeclarativeTool{tool{tools.Spec{Name: "t", Schema: json.RawMessage(objectSchema)}}}
				}
				svc.Call = func(context.Context, string, json.RawMessage) tools.Result {
					return tools.Result{LLMContent: tt.content, Error: failed}
				}
				return svc, nil
			}})
			c := clientOf(t, stdio(t, s).transport(), "2025-11-25", sdk.ClientOptions{})
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "t"})
			require.NoError(t, err)
			require.True(t, r.IsError)
			var got []string
			for _, block := range r.Content {
				got = append(got, block.(*sdk.TextContent).Text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}
