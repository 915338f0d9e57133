package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

//lint:file-ignore SA1019 sampling, roots and logging are deprecated since revision 2026-07-28, and part of the protocol

// transports lists the transports of a server, each with its revisions.
var transports = map[string]struct {
	revisions []string
	dial      func(t *testing.T, s *server.Server) sdk.Transport
}{
	"pipe": {sdk.SupportedProtocolVersions(), func(t *testing.T, s *server.Server) sdk.Transport { return stdio(t, s).transport() }},
	"process": {sdk.SupportedProtocolVersions()[:2], func(t *testing.T, _ *server.Server) sdk.Transport {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FETTLE_TEST_STDIO_SERVER=1")
		return &sdk.CommandTransport{Command: cmd}
	}},
	"http": {sdk.SupportedProtocolVersions()[1:], func(t *testing.T, s *server.Server) sdk.Transport {
		return overHTTP(t, s, server.HTTPOptions{})
	}},
	"stateless": {sdk.SupportedProtocolVersions()[:1], func(t *testing.T, s *server.Server) sdk.Transport {
		return overHTTP(t, s, server.HTTPOptions{Stateless: true})
	}},
}

func overHTTP(t *testing.T, s *server.Server, o server.HTTPOptions) *sdk.StreamableClientTransport {
	t.Helper()
	h := httptest.NewServer(s.Handler(o))
	t.Cleanup(func() { require.NoError(t, s.Close()); h.Close() })
	return &sdk.StreamableClientTransport{Endpoint: h.URL + server.Path}
}

// EX-20: all features of a client, in every revision and over every transport
// that supports it.
func TestServe(t *testing.T) {
	for name, tr := range transports {
		for _, revision := range tr.revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				shop := newShop()
				s := server.New(options(shop))
				c := clientOf(t, tr.dial(t, s), revision, answering())
				require.Equal(t, revision, c.InitializeResult().ProtocolVersion)
				require.Equal(t, "Be gentle, tester.", c.InitializeResult().Instructions)
				modern := revision == "2026-07-28"

				t.Run("tools", func(t *testing.T) { testTools(t, c, modern) })
				t.Run("calls", func(t *testing.T) { testCalls(t, c, modern) })
				t.Run("resources", func(t *testing.T) { testResources(t, c, modern) })
				t.Run("prompts", func(t *testing.T) { testPrompts(t, c) })
				t.Run("questions", func(t *testing.T) { testQuestions(t, c, revision) })
				t.Run("told", func(t *testing.T) { testTold(t, c, modern) })
			})
		}
	}
}

func testTools(t *testing.T, c *client, modern bool) {
	all, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "zebra", all.Tools[0].Name, "in the order of the Service")
	byName := map[string]*sdk.Tool{}
	for _, tool := range all.Tools {
		byName[tool.Name] = tool
	}
	echo := byName["echo"]
	require.Empty(t, echo.Title+echo.Annotations.Title, "the name contains it")
	require.Equal(t, "Find Pages", byName["fetch"].Title+byName["fetch"].Annotations.Title, "once")
	require.Equal(t, "The tool echo.", echo.Description)
	schema, err := json.Marshal(echo.InputSchema)
	require.NoError(t, err)
	require.JSONEq(t, wideSchema, string(schema), "whole")
	require.True(t, echo.Annotations.ReadOnlyHint)
	require.False(t, *echo.Annotations.OpenWorldHint)
	require.Nil(t, echo.Annotations.DestructiveHint)
	require.False(t, byName["remove"].Annotations.ReadOnlyHint)
	require.True(t, *byName["remove"].Annotations.DestructiveHint)
	require.Nil(t, byName["fetch"].Annotations.OpenWorldHint, "true is the default")
	require.False(t, byName["count"].Annotations.ReadOnlyHint, "of kind other nothing is known")
	require.Equal(t, &sdk.ToolAnnotations{Title: "Theirs", ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}, byName["foreign"].Annotations)
	require.NotNil(t, byName["object"].OutputSchema)
	require.Equal(t, modern, byName["list"].OutputSchema != nil, "a list is no result before 2026-07-28")
}

func testCalls(t *testing.T, c *client, modern bool) {
	const exact = `{"big":123456789012345678901234567890.000000000000000001e-5,"size":9007199254740993}`
	require.JSONEq(t, exact, c.text(t, "echo", json.RawMessage(exact)))
	require.Contains(t, c.text(t, "echo", json.RawMessage(exact)), "123456789012345678901234567890.000000000000000001e-5", "huge numbers are exact")
	require.Equal(t, "{}", c.text(t, "echoes", nil), "by an alias, without arguments")

	_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"})
	requireCode(t, err, -32602)
	require.ErrorContains(t, err, `Unknown tool "nothing"`)
	_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "panic"})
	requireCode(t, err, -32603)
	require.NotContains(t, err.Error(), "secret-token")

	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "fail"})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Equal(t, "Error file_changed_since_read (changed): The file has changed. Read it again.", textOf(t, r))
	require.Equal(t, "latest state", r.Content[1].(*sdk.TextContent).Text)
	require.Equal(t, map[string]any{"type": "file_changed_since_read", "reason": "changed", "message": "The file has changed.", "remedy": "Read it again."}, r.Meta["fettle/error"])

	r, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "contents"})
	require.NoError(t, err)
	require.Len(t, r.Content, 6)
	require.Equal(t, "a\ufffdb", textOf(t, r))
	require.Equal(t, []byte{1}, r.Content[1].(*sdk.ImageContent).Data)
	require.Equal(t, []byte{2}, r.Content[2].(*sdk.AudioContent).Data)
	require.Equal(t, []byte{3}, r.Content[3].(*sdk.EmbeddedResource).Resource.Blob)
	require.Equal(t, "t", r.Content[4].(*sdk.EmbeddedResource).Resource.Text)
	require.Equal(t, "shop:link", r.Content[5].(*sdk.ResourceLink).URI)

	r, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "object"})
	require.NoError(t, err)
	require.NotNil(t, r.StructuredContent)
	require.Contains(t, textOf(t, r), "12345678901234567890")
	r, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list"})
	require.NoError(t, err)
	require.Equal(t, modern, r.StructuredContent != nil)
	r, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "object_fails"})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Nil(t, r.StructuredContent, "not beside an error")
}

func testResources(t *testing.T, c *client, modern bool) {
	all, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, all.Resources, 2)
	require.EqualValues(t, 2, all.Resources[1].Size)
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "shop:item/{id}", templates.ResourceTemplates[0].URITemplate)
	r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "shop:text"})
	require.NoError(t, err)
	require.Equal(t, "hello", r.Contents[0].Text)
	r, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "shop:blob"})
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, r.Contents[0].Blob)
	_, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "shop:gone"})
	if modern {
		requireCode(t, err, -32602)
	} else {
		requireCode(t, err, -32002)
	}
	_, err = c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "shop:breaks"})
	requireCode(t, err, -32603)
	require.NotContains(t, err.Error(), "shadow")
}

func testPrompts(t *testing.T, c *client) {
	all, err := c.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "greet", all.Prompts[0].Name)
	require.True(t, all.Prompts[0].Arguments[0].Required)
	p, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Eve"}})
	require.NoError(t, err)
	require.Len(t, p.Messages, 3, "one content a message")
	require.Equal(t, "Greet Eve", p.Messages[0].Content.(*sdk.TextContent).Text)
	require.Equal(t, "hello", p.Messages[1].Content.(*sdk.EmbeddedResource).Resource.Text)
	require.Equal(t, "image/png", p.Messages[2].Content.(*sdk.ImageContent).MIMEType)
	_, err = c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "none"})
	requireCode(t, err, -32602)
	d, err := c.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: sdk.CompleteParamsArgument{Name: "who", Value: "A"}})
	require.NoError(t, err)
	require.Len(t, d.Completion.Values, 100)
	require.Equal(t, 150, d.Completion.Total)
	require.True(t, d.Completion.HasMore)
	require.Equal(t, "greetA-0", d.Completion.Values[0])
}

func testQuestions(t *testing.T, c *client, revision string) {
	const answer = `accept {"name":"Ada","title":"Dr"}`
	require.Equal(t, answer, c.text(t, "ask", nil), "with the schema's default")
	require.Equal(t, answer+answer, c.text(t, "ask_twice", nil))
	require.Equal(t, `{"name":"Ada","title":"Dr"}|hey by m|[{file:///work work}]`, c.text(t, "ask_all", nil))
	p, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "asks"})
	require.NoError(t, err, revision)
	require.Equal(t, answer, p.Messages[0].Content.(*sdk.TextContent).Text)
	r, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "shop:asks"})
	require.NoError(t, err)
	require.Equal(t, answer, r.Contents[0].Text)
}

func testTold(t *testing.T, c *client, modern bool) {
	p := &sdk.CallToolParams{Name: "progress"}
	p.SetProgressToken("token")
	_, err := c.CallTool(t.Context(), p)
	require.NoError(t, err)
	for _, want := range []float64{1, 2, 3} {
		got := <-c.progress
		require.Equal(t, want, got.Progress)
		require.Equal(t, "token", got.ProgressToken)
		require.Equal(t, fmt.Sprint("step ", want), got.Message)
	}
	_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "progress"})
	require.NoError(t, err)

	l := &sdk.CallToolParams{Name: "log", Meta: sdk.Meta{}}
	if modern {
		l.Meta[sdk.MetaKeyLogLevel] = "warning"
	} else {
		require.NoError(t, c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "warning"}))
	}
	_, err = c.CallTool(t.Context(), l)
	require.NoError(t, err)
	e := <-c.logs
	require.EqualValues(t, "warning", e.Level)
	require.Equal(t, map[string]any{"n": 1.0}, e.Data)
	require.Empty(t, c.progress, "nobody has asked for it")
}
