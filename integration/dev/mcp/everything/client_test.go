package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

//lint:file-ignore SA1019 sampling, roots and logging are deprecated since revision 2026-07-28, and part of the protocol

// ways are the ways in which clients reach the server: its flags, the protocol
// revision, and whether requests to the client are possible.
var ways = map[string]struct {
	flags    []string
	revision string
	asked    bool
}{
	"stdio 2025-06-18":     {nil, "2025-06-18", true},
	"stdio 2025-11-25":     {nil, "2025-11-25", true},
	"stdio 2026-07-28":     {nil, "2026-07-28", true},
	"sessions 2025-06-18":  {[]string{"-http", "127.0.0.1:0"}, "2025-06-18", true},
	"sessions 2025-11-25":  {[]string{"-http", "127.0.0.1:0"}, "2025-11-25", true},
	"stateless 2025-11-25": {[]string{"-http", "127.0.0.1:0", "-stateless"}, "2025-11-25", false},
	"stateless 2026-07-28": {[]string{"-http", "127.0.0.1:0", "-stateless"}, "2026-07-28", true},
}

// started runs the server as its main function does, until the end of the test, and
// returns a transport to it.
func started(t *testing.T, flags []string) sdk.Transport {
	t.Helper()
	inside, stdin := io.Pipe()
	stdout, outside := io.Pipe()
	output, stderr := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, append([]string{"-update", "50ms"}, flags...), inside, outside, stderr)
		_ = outside.Close()
		_ = stderr.Close()
		done <- err
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		cancel()
		require.NoError(t, <-done)
	})
	lines := bufio.NewScanner(output)
	defer func() { go func() { _, _ = io.Copy(io.Discard, output) }() }()
	if len(flags) == 0 {
		return &sdk.IOTransport{Reader: stdout, Writer: stdin}
	}
	require.True(t, lines.Scan())
	url, ok := strings.CutPrefix(lines.Text(), "serving ")
	require.True(t, ok, lines.Text())
	return &sdk.StreamableClientTransport{Endpoint: url}
}

// client is the SDK's client, whose user and model answer every request.
type client struct {
	*sdk.ClientSession
	progress chan float64
	tools    chan struct{}
	updated  chan string
}

func connected(t *testing.T, flags []string, revision string) *client {
	t.Helper()
	c := &client{progress: make(chan float64, 100), tools: make(chan struct{}, 100), updated: make(chan string, 100)}
	impl := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			schema, err := json.Marshal(r.Params.RequestedSchema)
			if err != nil {
				return nil, err
			}
			var form struct {
				Properties map[string]struct {
					Type, Format string
					Default      any
				}
			}
			if err := json.Unmarshal(schema, &form); err != nil {
				return nil, err
			}
			filled := map[string]any{}
			for name, p := range form.Properties {
				switch {
				case p.Default != nil: // the default of an omitted field
				case p.Format == "email":
					filled[name] = "me@example.com"
				case p.Type == "string":
					filled[name] = "my " + name
				}
			}
			return &sdk.ElicitResult{Action: "accept", Content: filled}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "as you say"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { c.progress <- r.Params.Progress },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.tools <- struct{}{} },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			select {
			case c.updated <- r.Params.URI:
			default:
			}
		},
	})
	impl.AddRoots(&sdk.Root{URI: "file:///work"})
	session, err := impl.Connect(t.Context(), started(t, flags), &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	require.Equal(t, revision, session.InitializeResult().ProtocolVersion)
	c.ClientSession = session
	return c
}

// EX-20: the same tools return the same results over every transport.
func TestWays(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connected(t, way.flags, way.revision)
			call := func(tool string, args map[string]any) *sdk.CallToolResult {
				p := &sdk.CallToolParams{Name: tool, Arguments: args}
				p.SetProgressToken("token")
				r, err := c.CallTool(t.Context(), p)
				require.NoError(t, err, tool)
				return r
			}
			text := func(r *sdk.CallToolResult) string {
				require.NotEmpty(t, r.Content)
				first, ok := r.Content[0].(*sdk.TextContent)
				require.True(t, ok)
				return first.Text
			}

			tools, err := c.ListTools(t.Context(), nil)
			require.NoError(t, err)
			byName := map[string]*sdk.Tool{}
			for _, tool := range tools.Tools {
				byName[tool.Name] = tool
			}
			require.True(t, byName["test_simple_text"].Annotations.ReadOnlyHint)
			schema, err := json.Marshal(byName["json_schema_2020_12_tool"].InputSchema)
			require.NoError(t, err)
			for _, kept := range []string{`"$schema":"https://json-schema.org/draft/2020-12/schema"`, `"$anchor":"addressDef"`, `"if":`, `"then":`, `"else":`, `"allOf":`} {
				require.Contains(t, string(schema), kept)
			}

			image := call("test_image_content", nil).Content[0].(*sdk.ImageContent)
			require.Equal(t, redDot(), image.Data)
			audio := call("test_audio_content", nil).Content[0].(*sdk.AudioContent)
			require.Equal(t, silence(), audio.Data)
			link := call("test_resource_link", nil).Content[0].(*sdk.ResourceLink)
			held, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
			require.NoError(t, err)
			require.Equal(t, "This is the content of the static text resource.", held.Contents[0].Text)
			require.Equal(t, map[string]any{"temperature": 22.5, "conditions": "partly cloudy"}, call("test_structured_content", nil).StructuredContent)
			require.True(t, call("test_error_handling", nil).IsError)

			call("test_tool_with_progress", nil)
			for _, want := range []float64{0, 50, 100} {
				select {
				case got := <-c.progress:
					require.Equal(t, want, got)
				case <-time.After(time.Minute):
					require.Fail(t, "no progress")
				}
			}
			require.Equal(t, "The host has reconnected.", text(call("test_reconnection", nil)))

			asking := map[string]string{ // the tools with requests to the client, and their results
				"test_elicitation":                           `Elicitation completed: action=accept, content={"email":"me@example.com","username":"my username"}`,
				"test_sampling":                              "LLM response: as you say",
				"test_elicitation_sep1034_defaults":          `Elicitation completed: action=accept, content={"age":30,"name":"John Doe","score":95.5,"status":"active","verified":true}`,
				"test_input_required_result_list_roots":      "The host has 1 directories: file:///work",
				"test_input_required_result_multiple_inputs": "as you say my name, with 1 directories",
				"test_input_required_result_multi_round":     "my name likes my color.",
				"test_input_required_result_capabilities":    "The host answered 3 of 3 questions.",
			}
			for tool, want := range asking {
				args := map[string]any{}
				switch tool {
				case "test_elicitation":
					args["message"] = "Who?"
				case "test_sampling":
					args["prompt"] = "Say something."
				}
				r := call(tool, args)
				if way.asked {
					require.Equal(t, want, text(r))
				} else if tool != "test_input_required_result_capabilities" {
					require.True(t, r.IsError, tool)
					require.Contains(t, text(r), "session", tool)
				}
			}
			filled, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "test_input_required_result_prompt"})
			if way.asked {
				require.NoError(t, err)
				require.Equal(t, "Context: my context", filled.Messages[0].Content.(*sdk.TextContent).Text)
			} else {
				require.Error(t, err)
			}
			done, err := c.Complete(t.Context(), &sdk.CompleteParams{
				Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: "test://template/{id}/data"},
				Argument: sdk.CompleteParamsArgument{Name: "id", Value: ""},
			})
			require.NoError(t, err)
			require.Equal(t, []string{"1", "2", "3"}, done.Completion.Values)
		})
	}
}

// EX-20: a client is notified of changes: those that it triggers and those of a
// resource that it has subscribed to.
func TestNotifiedOfChanges(t *testing.T) {
	for name, way := range ways {
		if name == "stateless 2025-11-25" {
			continue // no client to notify
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connected(t, way.flags, way.revision)
			require.NoError(t, c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: watchedURI}))
			select {
			case uri := <-c.updated:
				require.Equal(t, watchedURI, uri)
			case <-time.After(time.Minute):
				require.Fail(t, "no update came")
			}
			_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "test_trigger_tool_change"})
			require.NoError(t, err)
			select {
			case <-c.tools:
			case <-time.After(time.Minute):
				require.Fail(t, "the client was not notified of the tool")
			}
			r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "test_transient_tool"})
			require.NoError(t, err)
			require.False(t, r.IsError)
		})
	}
}
