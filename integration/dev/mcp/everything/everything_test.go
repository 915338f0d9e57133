package main

import (
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

func made(t *testing.T) *everything {
	t.Helper()
	e, err := newEverything()
	require.NoError(t, err)
	return e
}

// The example uses only the standard library and fettle.
func TestImportsFettleAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			seen[path] = true
			host, _, _ := strings.Cut(path, "/")
			if strings.Contains(host, ".") {
				require.True(t, strings.HasPrefix(path, "github.com/fettle-dev/fettle/core/"), "%s imports %s", file, path)
			}
		}
	}
	require.True(t, seen["github.com/fettle-dev/fettle/core/mcp/server"], "the imports are read")
}

// TO-15: the tools without requests fulfil the contract of a tool.
func TestContract(t *testing.T) {
	e := made(t)
	for _, name := range []string{
		"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_resource_link",
		"test_multiple_content_types", "test_logging_tool", "test_structured_content",
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := e.registry.Lookup(name)
			require.NoError(t, err)
			tooltest.Run(t, tool, tooltest.Cases{Examples: []json.RawMessage{[]byte(`{}`)}})
		})
	}
}

// recordingHost is a [host.Host] that answers requests by their keys, and records its
// messages.
type recordingHost struct {
	replies  map[string]host.Reply // a missing key cannot be answered
	asked    []host.Question
	progress []host.Progress
	logged   []host.LogEntry
}

func (h *recordingHost) Progress(p host.Progress) { h.progress = append(h.progress, p) }
func (h *recordingHost) Log(e host.LogEntry)      { h.logged = append(h.logged, e) }

func (h *recordingHost) Ask(_ context.Context, questions ...host.Question) ([]host.Reply, error) {
	h.asked = append(h.asked, questions...)
	var replies []host.Reply
	for _, q := range questions {
		r, ok := h.replies[q.Key]
		if !ok {
			return nil, fault.New(fault.NoApprover, "test", "It cannot be answered.", "")
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func accepted(content string) host.Reply {
	return host.Reply{Elicit: &host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(content)}}
}

func sampled(text string) host.Reply {
	return host.Reply{Sample: &host.Sampled{Message: host.Message{Role: host.RoleAssistant, Content: tools.Text(text)}}}
}

// EX-20: tools that call their host, with a host that answers and one that cannot.
func TestAsking(t *testing.T) {
	e := made(t)
	roots := host.Reply{Roots: []host.Root{{URI: "file:///a"}, {URI: "file:///b"}}}
	for name, tt := range map[string]struct {
		args    string
		replies map[string]host.Reply
		want    string
	}{
		"test_sampling":    {`{"prompt":"say hello"}`, map[string]host.Reply{"answer": sampled("hello")}, "LLM response: hello"},
		"test_elicitation": {`{"message":"who?"}`, map[string]host.Reply{"user": accepted(`{"username":"u","email":"e@example.com"}`)}, `Elicitation completed: action=accept, content={"username":"u","email":"e@example.com"}`},
		"test_elicitation_sep1034_defaults": {`{}`, map[string]host.Reply{"profile": {Elicit: &host.Elicited{Action: host.ElicitDecline}}},
			"Elicitation completed: action=decline, content=null"},
		"test_elicitation_sep1330_enums":                 {`{}`, map[string]host.Reply{"choices": accepted(`{}`)}, "Elicitation completed: action=accept, content={}"},
		"test_streaming_elicitation":                     {`{}`, map[string]host.Reply{"confirm": accepted(`{"ok":true}`)}, `Elicitation completed: action=accept, content={"ok":true}`},
		"test_missing_capability":                        {`{}`, map[string]host.Reply{"word": sampled("yes")}, "The host has a model."},
		"test_input_required_result_elicitation":         {`{}`, map[string]host.Reply{"user_name": accepted(`{"name":"Ada"}`)}, "Hello, Ada!"},
		"test_input_required_result_sampling":            {`{}`, map[string]host.Reply{"capital_question": sampled("Paris")}, "The model answered: Paris"},
		"test_input_required_result_list_roots":          {`{}`, map[string]host.Reply{"client_roots": roots}, "The host has 2 directories: file:///a, file:///b"},
		"test_input_required_result_request_state":       {`{}`, map[string]host.Reply{"confirm": accepted(`{"ok":true}`)}, "state-ok: the call continued."},
		"test_input_required_result_multiple_inputs":     {`{}`, map[string]host.Reply{"user_name": accepted(`{"name":"Ada"}`), "greeting": sampled("Hi"), "client_roots": roots}, "Hi Ada, with 2 directories"},
		"test_input_required_result_multi_round":         {`{}`, map[string]host.Reply{"step1": accepted(`{"name":"Ada"}`), "step2": accepted(`{"color":"green"}`)}, "Ada likes green."},
		"test_input_required_result_capabilities":        {`{}`, map[string]host.Reply{"greeting": sampled("Hi")}, "The host answered 1 of 3 questions."},
		"test_input_required_result_capabilities (none)": {`{}`, nil, "The host answered 0 of 3 questions."},
	} {
		t.Run(name, func(t *testing.T) {
			tool := name
			if name == "test_input_required_result_capabilities (none)" {
				tool = "test_input_required_result_capabilities"
			}
			h := &recordingHost{replies: tt.replies}
			r := e.service().Call(host.NewContext(t.Context(), h), tool, json.RawMessage(tt.args))
			require.Nil(t, r.Error)
			require.Equal(t, tt.want, r.LLMContent.String())
			if tool == "test_input_required_result_capabilities" {
				return // it continues without answers
			}
			r = e.service().Call(t.Context(), tool, json.RawMessage(tt.args))
			require.NotNil(t, r.Error)
			require.Equal(t, fault.NoApprover, r.Error.Code)
		})
	}
}

func TestSpeaking(t *testing.T) {
	e := made(t)
	call := func(name string) (*recordingHost, tools.Result) {
		h := new(recordingHost)
		return h, e.service().Call(host.NewContext(t.Context(), h), name, nil)
	}
	h, r := call("test_tool_with_progress")
	require.Nil(t, r.Error)
	require.Equal(t, []host.Progress{{Total: 100, Message: "working"}, {Done: 50, Total: 100, Message: "working"}, {Done: 100, Total: 100, Message: "working"}}, h.progress)
	h, _ = call("test_tool_with_logging")
	require.Len(t, h.logged, 3)
	require.Equal(t, `"Tool execution started"`, string(h.logged[0].Data))
	require.Equal(t, host.LogInfo, h.logged[0].Level)
	_, r = call("test_error_handling")
	require.Equal(t, fault.ExecutionFailed, r.Error.Code)
	_, r = call("test_structured_content")
	require.True(t, r.LLMContent.IsJSON())
	require.JSONEq(t, `{"temperature":22.5,"conditions":"partly cloudy"}`, r.LLMContent.String())
	_, r = call("no_such_tool")
	require.Equal(t, fault.ToolNotRegistered, r.Error.Code)
}

func TestResources(t *testing.T) {
	s := made(t).service()
	listed, err := s.Resources(t.Context())
	require.NoError(t, err)
	for _, r := range listed {
		held, err := s.Read(t.Context(), r.URI)
		require.NoError(t, err, r.URI)
		require.Equal(t, r.MIMEType, held[0].MIMEType)
		require.True(t, held[0].Text != "" || len(held[0].Blob) > 0, r.URI)
	}
	held, err := s.Read(t.Context(), "test://template/a%20b/data")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a%20b","templateTest":true,"data":"Data for ID: a%20b"}`, held[0].Text)
	for _, uri := range []string{"", "test://template//data", "test://template/a/b/data", "test://template/a", "file:///etc/passwd"} {
		_, err := s.Read(t.Context(), uri)
		require.Equal(t, fault.FileNotFound, fault.CodeOf(err), uri)
	}
}

func TestPrompts(t *testing.T) {
	s := made(t).service()
	ctx := host.NewContext(t.Context(), &recordingHost{replies: map[string]host.Reply{"user_context": accepted(`{"context":"trains"}`)}})
	listed, err := s.Prompts(ctx)
	require.NoError(t, err)
	for _, p := range listed {
		args := map[string]string{}
		for _, a := range p.Arguments {
			args[a.Name] = "value of " + a.Name
		}
		filled, err := s.Prompt(ctx, p.Name, args)
		require.NoError(t, err, p.Name)
		require.NotEmpty(t, filled.Messages, p.Name)
		if len(args) > 0 {
			_, err := s.Prompt(ctx, p.Name, nil)
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), p.Name)
		}
	}
	filled, err := s.Prompt(ctx, "test_input_required_result_prompt", nil)
	require.NoError(t, err)
	require.Equal(t, "Context: trains", filled.Messages[0].Content.String())
	_, err = s.Prompt(ctx, "none", nil)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
}

func TestCompletion(t *testing.T) {
	s := made(t).service()
	for name, tt := range map[string]struct {
		c    mcpservice.Completion
		want []string
	}{
		"prompt":   {mcpservice.Completion{Prompt: "test_prompt_with_arguments", Argument: "arg1", Value: "par"}, []string{"paris", "park", "party"}},
		"template": {mcpservice.Completion{Template: "test://template/{id}/data", Argument: "id"}, []string{"1", "2", "3"}},
		"unknown":  {mcpservice.Completion{Prompt: "test_prompt_with_arguments", Argument: "arg2"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Complete(t.Context(), tt.c)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// A change reaches every watching client, and none that has stopped watching.
func TestChanges(t *testing.T) {
	e := made(t)
	s := e.service()
	var first, second []mcp.Change
	stop := s.Watch(func(c mcp.Change) { first = append(first, c) })
	defer s.Watch(func(c mcp.Change) { second = append(second, c) })()
	names := func() int { return len(s.Tools()) }
	before := names()
	call := func(tool string) { require.Nil(t, s.Call(t.Context(), tool, nil).Error) }
	call("test_trigger_tool_change")
	require.Equal(t, before+1, names())
	require.Nil(t, s.Call(t.Context(), "test_transient_tool", nil).Error)
	stop()
	call("test_trigger_tool_change")
	require.Equal(t, before, names())
	call("test_trigger_prompt_change")
	prompts, err := s.Prompts(t.Context())
	require.NoError(t, err)
	require.Equal(t, "test_transient_prompt", prompts[len(prompts)-1].Name)
	require.Equal(t, []mcp.Change{{Tools: true}}, first)
	require.Equal(t, []mcp.Change{{Tools: true}, {Tools: true}, {Prompts: true}}, second)
}
