package eino_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/adapters/eino"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// actor is a scripted model of eino: it receives the results so far.
type actor struct {
	next func(answers []string) (*adaptertest.Call, string, error)
}

func (a actor) Generate(_ context.Context, input []*schema.Message, _ ...einomodel.Option) (*schema.Message, error) {
	var answers []string
	for _, m := range input {
		if m.Role == schema.Tool {
			answers = append(answers, m.Content)
		}
	}
	call, text, err := a.next(answers)
	if err != nil || call == nil {
		return schema.AssistantMessage(text, nil), err
	}
	return schema.AssistantMessage("", []schema.ToolCall{
		{ID: call.ID, Type: "function", Function: schema.FunctionCall{Name: call.Name, Arguments: string(call.Args)}},
	}), nil
}

func (a actor) Stream(ctx context.Context, input []*schema.Message, opts ...einomodel.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := a.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (a actor) WithTools(list []*schema.ToolInfo) (einomodel.ToolCallingChatModel, error) {
	if len(list) < 10 {
		return nil, errors.New("where are the tools?")
	}
	return a, nil
}

// FD-05: every tool of a session is declared, and its schema survives eino's type.
func TestTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"run_shell_command"} })
	for _, d := range []model.Dialect{"", model.DialectGemini, model.DialectAnthropic} {
		list, err := eino.Toolset{Config: s.Config, Dialect: d}.Tools()
		require.NoError(t, err)
		if d == "" {
			d = model.DialectOpenAI
		}
		want, err := s.Declarations(d)
		require.NoError(t, err)
		require.Len(t, list, len(want))
		for i, one := range list {
			require.Implements(t, (*tool.InvokableTool)(nil), one)
			info, err := one.Info(t.Context())
			require.NoError(t, err)
			require.Equal(t, want[i].Name, info.Name)
			require.Equal(t, want[i].Description, info.Desc)
			require.NotEqual(t, "run_shell_command", info.Name)
			parameters, err := info.ToJSONSchema()
			require.NoError(t, err)
			encoded, err := json.Marshal(parameters)
			require.NoError(t, err)
			require.Equal(t, plain(t, want[i].Parameters), plain(t, encoded), info.Name)
		}
	}
}

// plain returns a schema without the two parts that eino's type rewrites: the schema
// of any value, {} or true, and duplicates.
func plain(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				return true
			}
			for key := range v {
				v[key] = walk(v[key])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	return walk(v)
}

// node runs the calls of one message as an agent does, and returns the results.
func node(ctx context.Context, t *testing.T, s eino.Toolset, calls ...schema.ToolCall) []*schema.Message {
	t.Helper()
	conf, err := s.Node()
	require.NoError(t, err)
	n, err := compose.NewToolNode(ctx, &conf)
	require.NoError(t, err)
	answers, err := n.Invoke(ctx, schema.AssistantMessage("", calls))
	require.NoError(t, err)
	return answers
}

func call(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

// code returns the error code in a result, "" for a success.
func code(t *testing.T, text string) fault.Code {
	t.Helper()
	var response struct {
		Error  struct{ Type fault.Code }
		Output *string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &response))
	require.NotNil(t, response.Output)
	return response.Error.Type
}

// The calls of one message run one after another and are answered in order, whatever
// their results are, and none ends the run.
func TestNode(t *testing.T) {
	var mu sync.Mutex
	var began []string
	s := configtest.New(t)
	s.Answer = func(q bus.ToolConfirmationRequest) bus.Outcome {
		mu.Lock()
		defer mu.Unlock()
		began = append(began, q.CallID)
		if q.CallID == "4" {
			return bus.Cancel
		}
		return bus.ProceedOnce
	}
	s.Write("a.txt", "one\n")
	answers := node(t.Context(), t, eino.Toolset{Config: s.Config},
		call("1", "read_file", `{"file_path": "a.txt"}`), call("2", "no_such_tool", `{}`), call("3", "read_file", `{"file_`),
		call("4", "write_file", `{"file_path": "b.txt", "content": "x"}`), call("5", "write_file", `{"file_path": "c.txt", "content": "x"}`),
	)
	want := []fault.Code{"", fault.ToolNotRegistered, fault.InvalidToolParams, fault.DeniedByUser, ""}
	require.Len(t, answers, len(want))
	for i, m := range answers {
		require.Equal(t, string(rune('1'+i)), m.ToolCallID)
		require.Equal(t, want[i], code(t, m.Content))
	}
	require.Equal(t, []string{"4", "5"}, began)
	require.Equal(t, "x", s.Read("c.txt"))
}

// Data is returned next to the text if the model accepts it.
func TestData(t *testing.T) {
	content := tools.Data("a picture", "image/png", []byte{1, 2})
	for _, mimeType := range []string{"audio/wav", "video/mp4", "application/pdf"} {
		content.Parts = append(content.Parts, tools.Part{InlineData: &tools.InlineData{MIMEType: mimeType, Data: []byte{3}}})
	}
	show, err := tools.Define("show", "Shows a picture.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: content}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{show} })
	list, err := eino.Toolset{Config: s.Config, Multimodal: true}.Tools()
	require.NoError(t, err)
	for _, one := range list {
		info, err := one.Info(t.Context())
		require.NoError(t, err)
		if info.Name != "show" {
			continue
		}
		result, err := one.(tool.EnhancedInvokableTool).InvokableRun(t.Context(), &schema.ToolArgument{Text: `{}`})
		require.NoError(t, err)
		require.Len(t, result.Parts, 5)
		require.JSONEq(t, `{"output": "a picture"}`, result.Parts[0].Text)
		require.Equal(t, "AQI=", *result.Parts[1].Image.Base64Data)
		require.Equal(t, "audio/wav", result.Parts[2].Audio.MIMEType)
		require.Equal(t, "video/mp4", result.Parts[3].Video.MIMEType)
		require.Equal(t, "application/pdf", result.Parts[4].File.MIMEType)
		return
	}
	t.Fatal("show is not declared")
}

// store keeps checkpoints.
type store struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.kept[id]
	return data, ok, nil
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[id] = data
	return nil
}

// unattended returns a session without an approver.
func unattended(t *testing.T) (*config.Config, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: t.TempDir()}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, dir
}

// drain returns the interrupt that ended a run, or the final text of the model.
func drain(t *testing.T, events *adk.AsyncIterator[*adk.AgentEvent]) (asked *adk.InterruptCtx, text string) {
	t.Helper()
	for event, more := events.Next(); more; event, more = events.Next() {
		require.NoError(t, event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			for _, at := range event.Action.Interrupted.InterruptContexts {
				if at.IsRootCause {
					asked = at
				}
			}
		}
		if event.Output != nil && event.Output.MessageOutput != nil {
			m, err := event.Output.MessageOutput.GetMessage()
			require.NoError(t, err)
			text = m.Content
		}
	}
	return asked, text
}

// A call that needs approval ends the run with an interrupt, and the user's answer on
// resumption applies to the request that was shown.
func TestInterrupts(t *testing.T) {
	for name, tt := range map[string]struct {
		answer bus.ToolConfirmationResponse
		meddle string // written by another program meanwhile
		want   string
		text   string
	}{
		"yes":               {answer: bus.ToolConfirmationResponse{Confirmed: true}, want: "x", text: "done"},
		"no":                {text: "denied_by_user"},
		"yes, and too late": {answer: bus.ToolConfirmationResponse{Confirmed: true}, meddle: "another program's", want: "another program's", text: "edit_requires_prior_read"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := unattended(t)
			agent, err := newAgent(t.Context(), c, actor{next: func(answers []string) (*adaptertest.Call, string, error) {
				if len(answers) == 0 {
					return &adaptertest.Call{ID: "1", Name: "write_file", Args: json.RawMessage(`{"file_path": "a.txt", "content": "x"}`)}, "", nil
				}
				if c := code(t, answers[0]); c != "" {
					return nil, string(c), nil
				}
				return nil, "done", nil
			}})
			require.NoError(t, err)
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: &store{kept: map[string][]byte{}}})
			asked, _ := drain(t, runner.Query(t.Context(), "Write it.", adk.WithCheckPointID("run")))
			require.NotNil(t, asked)
			question, err := eino.Question(asked.Info)
			require.NoError(t, err)
			require.Equal(t, "1", question.CallID)
			require.Equal(t, "x", question.Details.NewContent)
			path := filepath.Join(dir, "a.txt")
			require.NoFileExists(t, path)
			if tt.meddle != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.meddle), 0o600))
			}

			events, err := runner.ResumeWithParams(t.Context(), "run", &adk.ResumeParams{Targets: map[string]any{asked.ID: tt.answer}})
			require.NoError(t, err)
			again, text := drain(t, events)
			require.Nil(t, again)
			require.Equal(t, tt.text, text)
			if tt.want == "" {
				require.NoFileExists(t, path)
				return
			}
			held, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(held))
		})
	}
	_, err := eino.Question(7)
	require.Error(t, err)
	_, err = eino.Question("no JSON")
	require.Error(t, err)
}

// Without interrupts and without an approver the call is denied; after the end of ctx
// or the session, nothing runs.
func TestRefusals(t *testing.T) {
	c, dir := unattended(t)
	write := call("1", "write_file", `{"file_path": "a.txt", "content": "x"}`)
	require.Equal(t, fault.NoApprover, code(t, node(t.Context(), t, eino.Toolset{Config: c}, write)[0].Content))

	list, err := eino.Toolset{Config: c}.Tools()
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	answer, err := list[0].(tool.InvokableTool).InvokableRun(ended, `{}`)
	require.NoError(t, err)
	require.Equal(t, fault.Cancelled, code(t, answer))
	require.NoFileExists(t, filepath.Join(dir, "a.txt"))

	require.NoError(t, c.Close())
	_, err = list[0].(tool.InvokableTool).InvokableRun(t.Context(), `{}`)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = eino.Toolset{Config: c}.Node()
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}
