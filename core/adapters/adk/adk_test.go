package adk_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	adkmodel "google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/adapters/adk"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// actor is a scripted model of the ADK: it receives the last result of each of its
// calls.
type actor struct {
	next  func(answers []string) (*adaptertest.Call, string, error)
	calls []*genai.Part // made together at the start, instead of the first call of next
}

// Name implements model.LLM.
func (a actor) Name() string { return "actor" }

// GenerateContent implements model.LLM.
func (a actor) GenerateContent(_ context.Context, r *adkmodel.LLMRequest, _ bool) iter.Seq2[*adkmodel.LLMResponse, error] {
	return func(yield func(*adkmodel.LLMResponse, error) bool) {
		var answers []string
		places := map[string]int{}
		for _, turn := range r.Contents {
			for _, part := range turn.Parts {
				if part.FunctionResponse == nil {
					continue
				}
				raw, err := json.Marshal(part.FunctionResponse.Response)
				if err != nil {
					yield(nil, err)
					return
				}
				if at, again := places[part.FunctionResponse.ID]; again {
					answers[at] = string(raw)
					continue
				}
				places[part.FunctionResponse.ID] = len(answers)
				answers = append(answers, string(raw))
			}
		}
		parts := a.calls
		if parts == nil || len(answers) > 0 {
			call, text, err := a.next(answers)
			if err != nil {
				yield(nil, err)
				return
			}
			parts = []*genai.Part{{Text: text}}
			if call != nil {
				parts = []*genai.Part{of(*call)}
			}
		}
		yield(&adkmodel.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}, nil)
	}
}

// of converts a call to the ADK's type.
func of(c adaptertest.Call) *genai.Part {
	var args map[string]any
	if err := json.Unmarshal(c.Args, &args); err != nil {
		panic(err)
	}
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: c.ID, Name: c.Name, Args: args}}
}

// FD-05: every tool of a session is declared with its schema, and the list follows the
// session.
func TestTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"run_shell_command"} })
	set := adk.New(s.Config, adk.Options{})
	require.Equal(t, "fettle", set.Name())
	list, err := set.Tools(nil)
	require.NoError(t, err)
	want, err := s.Declarations(model.DialectGemini)
	require.NoError(t, err)
	require.Len(t, list, len(want))
	request := &adkmodel.LLMRequest{}
	for i, one := range list {
		require.Equal(t, want[i].Name, one.Name())
		require.Equal(t, want[i].Description, one.Description())
		require.False(t, one.IsLongRunning())
		require.NoError(t, one.(interface {
			ProcessRequest(agent.Context, *adkmodel.LLMRequest) error
		}).ProcessRequest(nil, request))
	}
	encoded, err := json.Marshal(request.Config.Tools)
	require.NoError(t, err)
	var sent []struct{ FunctionDeclarations []declaration }
	require.NoError(t, json.Unmarshal(encoded, &sent))
	require.Len(t, sent, 1)
	for i, d := range sent[0].FunctionDeclarations {
		require.Equal(t, want[i].Name, d.Name)
		require.NotEqual(t, "run_shell_command", d.Name)
		require.JSONEq(t, string(want[i].Parameters), string(d.ParametersJSONSchema))
	}
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	again, err := set.Tools(nil)
	require.NoError(t, err)
	require.Contains(t, names(again), "exit_plan_mode")
	require.NotContains(t, names(list), "exit_plan_mode")

	require.NoError(t, s.Close())
	_, err = set.Tools(nil)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

type declaration struct {
	Name                 string
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
}

func names(list []tool.Tool) (names []string) {
	for _, one := range list {
		names = append(names, one.Name())
	}
	return names
}

// code returns the error code in a result, "" for a success.
func code(t *testing.T, answer string) fault.Code {
	t.Helper()
	var response struct {
		Error  struct{ Type fault.Code }
		Output *string
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &response))
	require.NotNil(t, response.Output)
	return response.Error.Type
}

// talk is an ADK session with its recorded events.
type talk struct {
	t         *testing.T
	say       func(*genai.Content)
	confirm   *genai.FunctionCall // the last request for confirmation
	lastText  string              // of the model
	responses map[string]map[string]any
}

// talkTo starts a session with a scripted agent.
func talkTo(t *testing.T, c *config.Config, a actor) *talk {
	t.Helper()
	r, err := newRunner(c, a)
	require.NoError(t, err)
	s := &talk{t: t, responses: map[string]map[string]any{}}
	s.say = func(message *genai.Content) {
		t.Helper()
		s.confirm = nil
		require.NoError(t, send(t.Context(), r, message, func(e *session.Event) {
			if e.Content == nil {
				return
			}
			for _, part := range e.Content.Parts {
				switch {
				case part.FunctionCall != nil && part.FunctionCall.Name == toolconfirmation.FunctionCallName:
					s.confirm = part.FunctionCall
				case part.FunctionResponse != nil:
					s.responses[part.FunctionResponse.ID] = part.FunctionResponse.Response
				case part.Text != "":
					s.lastText = part.Text
				}
			}
		}))
	}
	return s
}

// answer sends the user's answer to the last request for confirmation.
func (s *talk) answer(response map[string]any) {
	s.t.Helper()
	require.NotNil(s.t, s.confirm)
	s.say(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: s.confirm.ID, Name: toolconfirmation.FunctionCallName, Response: response,
	}}}})
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

// writer makes one call of write_file and reports its result.
func writer(t *testing.T) actor {
	return actor{next: func(answers []string) (*adaptertest.Call, string, error) {
		if len(answers) == 0 {
			return &adaptertest.Call{ID: "1", Name: "write_file", Args: json.RawMessage(`{"file_path": "a.txt", "content": "x\n"}`)}, "", nil
		}
		if c := code(t, answers[0]); c != "" {
			return nil, string(c), nil
		}
		return nil, answers[0], nil
	}}
}

// A call that needs approval is confirmed through the ADK, and the answer applies to
// the request that was shown.
func TestConfirmations(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   map[string]any
		meddle   string // written by another program meanwhile
		want     string // the expected content of the file; "": it does not exist
		lastText string
	}{
		"yes":               {answer: map[string]any{"confirmed": true}, want: "x\n", lastText: `"output"`},
		"as a web client":   {answer: map[string]any{"response": `{"confirmed": true}`}, want: "x\n", lastText: `"output"`},
		"no":                {answer: map[string]any{"confirmed": false}, lastText: "denied_by_user"},
		"no outcome counts": {answer: map[string]any{"confirmed": false, "payload": map[string]any{"outcome": "proceed_once", "confirmed": true}}, lastText: "denied_by_user"},
		"with words": {answer: map[string]any{"confirmed": true, "payload": map[string]any{
			"outcome": "proceed_always", "payload": map[string]any{"feedback": "Well done."},
		}}, want: "x\n", lastText: "Well done."},
		"yes, and too late": {answer: map[string]any{"confirmed": true}, meddle: "another program's\n", want: "another program's\n", lastText: "edit_requires_prior_read"},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := unattended(t)
			path := filepath.Join(dir, "a.txt")
			s := talkTo(t, c, writer(t))
			s.say(genai.NewContentFromText("Write it.", genai.RoleUser))
			require.NotNil(t, s.confirm)
			require.NoFileExists(t, path)
			shown, err := json.Marshal(s.confirm.Args)
			require.NoError(t, err)
			var args struct {
				ToolConfirmation struct {
					Hint    string
					Payload bus.ToolConfirmationRequest
				}
			}
			require.NoError(t, json.Unmarshal(shown, &args))
			require.Contains(t, args.ToolConfirmation.Hint, "+x")
			require.Contains(t, args.ToolConfirmation.Hint, path)
			require.Equal(t, "x\n", args.ToolConfirmation.Payload.Details.NewContent)
			if tt.meddle != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.meddle), 0o600))
			}

			s.answer(tt.answer)
			require.Nil(t, s.confirm)
			require.Contains(t, s.lastText, tt.lastText)
			if tt.want == "" {
				require.NoFileExists(t, path)
				return
			}
			held, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(held))
		})
	}
}

// A front end on the message bus takes precedence over the ADK's confirmation;
// without either the call is denied.
func TestOthersToAsk(t *testing.T) {
	s := configtest.New(t)
	k := talkTo(t, s.Config, writer(t))
	k.say(genai.NewContentFromText("Write it.", genai.RoleUser))
	require.Nil(t, k.confirm)
	require.Len(t, s.Confirmations(), 1)
	require.Equal(t, "x\n", s.Read("a.txt"))

	c, dir := unattended(t)
	list, err := adk.New(c, adk.Options{NoConfirmations: true}).Tools(nil)
	require.NoError(t, err)
	for _, one := range list {
		if one.Name() == "write_file" {
			answer, err := run(t.Context(), t, one, map[string]any{"file_path": "a.txt", "content": "x"})
			require.NoError(t, err)
			require.Equal(t, fault.NoApprover, code(t, answer))
		}
	}
	require.NoFileExists(t, filepath.Join(dir, "a.txt"))
}

// invocation is an invocation of no agent, with a ctx.
type invocation struct {
	agent.InvocationContext
	ctx context.Context
}

func (i invocation) Artifacts() agent.Artifacts  { return nil }
func (i invocation) Session() session.Session    { return nil }
func (i invocation) Deadline() (time.Time, bool) { return i.ctx.Deadline() }
func (i invocation) Done() <-chan struct{}       { return i.ctx.Done() }
func (i invocation) Err() error                  { return i.ctx.Err() }
func (i invocation) Value(key any) any           { return i.ctx.Value(key) }

// run calls a tool as the ADK does.
func run(ctx context.Context, t *testing.T, one tool.Tool, args map[string]any) (string, error) {
	t.Helper()
	c := agent.NewToolContext(invocation{ctx: ctx}, "id", &session.EventActions{}, nil)
	answer, err := one.(interface {
		Run(agent.Context, any) (map[string]any, error)
	}).Run(c, args)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(answer)
	require.NoError(t, err)
	return string(raw), nil
}

// After the end of ctx or the session, nothing runs; invalid arguments are answered
// with an error.
func TestEnds(t *testing.T) {
	c, _ := unattended(t)
	list, err := adk.New(c, adk.Options{Name: "mine"}).Tools(nil)
	require.NoError(t, err)
	answer, err := run(t.Context(), t, list[0], map[string]any{"no_such_argument": 1})
	require.NoError(t, err)
	require.Equal(t, fault.InvalidToolParams, code(t, answer))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	answer, err = run(ended, t, list[0], map[string]any{})
	require.NoError(t, err)
	require.Equal(t, fault.Cancelled, code(t, answer))
	require.NoError(t, c.Close())
	_, err = run(t.Context(), t, list[0], map[string]any{})
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// Several calls of one response run in the model's order.
func TestInOrder(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeAutoEdit })
	var calls []*genai.Part
	for i, content := range []string{"one\n", "two\n", "three\n"} {
		args, err := json.Marshal(map[string]string{"file_path": "f" + string(rune('1'+i)), "content": content})
		require.NoError(t, err)
		calls = append(calls, of(adaptertest.Call{ID: string(rune('1' + i)), Name: "write_file", Args: args}))
	}
	var told []string
	k := talkTo(t, s.Config, actor{calls: calls, next: func(answers []string) (*adaptertest.Call, string, error) {
		for _, answer := range answers {
			told = append(told, adaptertest.Summary(answer))
		}
		return nil, "done", nil
	}})
	k.say(genai.NewContentFromText("Write them.", genai.RoleUser))
	require.Equal(t, []string{"done, version 1", "done, version 2", "done, version 3"}, told, "versions count in the order of the writes")
	require.Equal(t, "three\n", s.Read("f3"))
}
