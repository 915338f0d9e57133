package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// unattended is a session without an approver, with additional tools.
func unattended(t *testing.T, more ...tools.DeclarativeTool) (*config.Config, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: t.TempDir()}, Tools: config.Tools{Own: more}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, dir
}

func writing(file, content string) model.FunctionCall {
	args, _ := json.Marshal(map[string]string{"file_path": file, "content": content})
	return model.FunctionCall{ID: "call", Name: "write_file", Args: args}
}

// An unanswered question is left open, and the answer is given with the next
// attempt, also after a round trip through JSON.
func TestRunCallWithAnAnswer(t *testing.T) {
	c, dir := unattended(t)
	path := filepath.Join(dir, "f")
	call := writing("f", "one\n")
	answer, r, open, err := c.RunCall(t.Context(), call, nil)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)
	require.Equal(t, "call", answer.ID)
	require.Equal(t, "one\n", open.Details.NewContent)
	require.NoFileExists(t, path)

	raw, err := json.Marshal(open)
	require.NoError(t, err)
	var asked bus.ToolConfirmationRequest
	require.NoError(t, json.Unmarshal(raw, &asked))
	no := &config.PriorAnswer{Question: asked}
	_, r, open, err = c.RunCall(t.Context(), call, no)
	require.NoError(t, err)
	require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
	require.Nil(t, open)
	require.NoFileExists(t, path)

	yes := &config.PriorAnswer{Question: asked, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	answer, r, open, err = c.RunCall(t.Context(), call, yes)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Nil(t, open)
	require.Contains(t, string(answer.Response), `"output"`)
	require.FileExists(t, path)
}

// The user's approval applies to nothing else.
func TestRunCallThatIsNoLongerTheSame(t *testing.T) {
	c, dir := unattended(t)
	_, _, open, err := c.RunCall(t.Context(), writing("f", "one\n"), nil)
	require.NoError(t, err)
	yes := func() *config.PriorAnswer {
		return &config.PriorAnswer{Question: *open, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	}
	for name, call := range map[string]model.FunctionCall{"other content": writing("f", "two\n"), "another file": writing("g", "one\n")} {
		_, r, again, err := c.RunCall(t.Context(), call, yes())
		require.NoError(t, err, name)
		require.Equal(t, fault.NoApprover, r.Result.Error.Code, name)
		require.NotNil(t, again, name)
	}
	require.NoFileExists(t, filepath.Join(dir, "f"))
	require.NoFileExists(t, filepath.Join(dir, "g"))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("somebody's\n"), 0o600))
	_, r, again, err := c.RunCall(t.Context(), writing("f", "one\n"), yes())
	require.NoError(t, err)
	require.NotEqual(t, scheduler.StatusSuccess, r.Status)
	require.Nil(t, again, "it is refused before anybody is asked")
}

// A front end on the bus is asked as usual, and questions of other calls are left
// to it.
func TestRunCallBesideAFrontEnd(t *testing.T) {
	c, dir := unattended(t)
	held := make(chan bus.ToolConfirmationRequest)
	bus.Subscribe(t.Context(), c.MessageBus(), func(_ context.Context, q bus.ToolConfirmationRequest) { held <- q })
	other := make(chan scheduler.Response)
	go func() {
		answers, responses, err := c.RunCalls(t.Context(), []model.FunctionCall{{ID: "other", Name: "write_file", Args: writing("g", "x").Args}})
		if err == nil && len(answers) == 1 {
			other <- responses[0]
		}
		close(other)
	}()
	ofOther := <-held
	done := make(chan scheduler.Response)
	go func() {
		_, r, open, _ := c.RunCall(t.Context(), writing("f", "one\n"), nil)
		if open == nil {
			done <- r
		}
		close(done)
	}()
	for _, q := range []bus.ToolConfirmationRequest{<-held, ofOther} {
		require.NoError(t, c.MessageBus().Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: q.CallID == "call"}))
	}
	require.Equal(t, scheduler.StatusSuccess, (<-done).Status)
	require.Equal(t, fault.DeniedByUser, (<-other).Result.Error.Code)
	require.FileExists(t, filepath.Join(dir, "f"))
	require.NoFileExists(t, filepath.Join(dir, "g"))
}

// A cancelled call leaves no question, and one of a closed session does not
// begin.
func TestRunCallEnds(t *testing.T) {
	c, _ := unattended(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, r, open, err := c.RunCall(ctx, writing("f", "one\n"), nil)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusCancelled, r.Status)
	require.Nil(t, open)
	require.NoError(t, c.Close())
	_, _, _, err = c.RunCall(t.Context(), writing("f", "one\n"), nil)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// An answer applies to every digit shown, to the offered answers, and to the
// server's description of its tool.
func TestRunCallWithAnAnswerToAlmostTheSame(t *testing.T) {
	type payParams struct {
		Amount string `json:"amount"`
	}
	var paid []string
	pay, err := tools.Define("pay", "Pays.", tools.KindOther, func(_ context.Context, p payParams) (tools.Result, error) {
		paid = append(paid, p.Amount)
		return tools.Result{}, nil
	})
	require.NoError(t, err)
	c, _ := unattended(t, pay)
	call := func(amount string) model.FunctionCall {
		return model.FunctionCall{ID: "call", Name: "pay", Args: json.RawMessage(`{"amount": "` + amount + `"}`)}
	}
	_, _, open, err := c.RunCall(t.Context(), call("1"), nil)
	require.NoError(t, err)
	require.NotEmpty(t, open.Remembers)
	changed := map[string]func(q *bus.ToolConfirmationRequest){
		"less is offered":           func(q *bus.ToolConfirmationRequest) { q.Outcomes = []bus.Outcome{bus.ProceedOnce, bus.Cancel} },
		"an answer stands for more": func(q *bus.ToolConfirmationRequest) { q.Remembers = nil },
		"the server said more":      func(q *bus.ToolConfirmationRequest) { q.ToolAnnotations = map[string]any{"readOnlyHint": true} },
	}
	for name, change := range changed {
		asked := *open
		change(&asked)
		_, r, again, err := c.RunCall(t.Context(), call("1"), &config.PriorAnswer{Question: asked, Answer: bus.ToolConfirmationResponse{Confirmed: true}})
		require.NoError(t, err, name)
		require.Equal(t, fault.NoApprover, fault.CodeOf(r.Result.Error), name)
		require.NotNil(t, again, name)
	}
	require.Empty(t, paid)
	_, _, again, err := c.RunCall(t.Context(), call("1"), &config.PriorAnswer{Question: *open, Answer: bus.ToolConfirmationResponse{Confirmed: true}})
	require.NoError(t, err)
	require.Nil(t, again)
	require.Equal(t, []string{"1"}, paid)
}

// Two numbers with the same float64 value are different.
func TestRunCallWithALargeNumber(t *testing.T) {
	type payParams struct {
		Amount int64 `json:"amount"`
	}
	var paid []int64
	pay, err := tools.Define("pay", "Pays.", tools.KindOther, func(_ context.Context, p payParams) (tools.Result, error) {
		paid = append(paid, p.Amount)
		return tools.Result{}, nil
	}, tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupMCP, Server: "bank", Tool: "pay"} }))
	require.NoError(t, err)
	c, _ := unattended(t, pay)
	call := func(amount string) model.FunctionCall {
		return model.FunctionCall{ID: "call", Name: "pay", Args: json.RawMessage(`{"amount":` + amount + `}`)}
	}
	_, _, open, err := c.RunCall(t.Context(), call("9007199254740992"), nil)
	require.NoError(t, err)
	yes := &config.PriorAnswer{Question: *open, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	_, _, again, err := c.RunCall(t.Context(), call("9007199254740993"), yes)
	require.NoError(t, err)
	require.NotNil(t, again)
	require.Empty(t, paid)
	_, _, again, err = c.RunCall(t.Context(), call("9007199254740992"), yes)
	require.NoError(t, err)
	require.Nil(t, again)
	require.Equal(t, []int64{9007199254740992}, paid)
}

// A subagent started by the call asks for itself, even if its model gives a call
// the same id and arguments.
func TestRunCallAnswersNoSubagent(t *testing.T) {
	var c *config.Config
	var dir string
	var inner scheduler.Response
	begin, err := tools.Define("begin", "Begins a subagent.", tools.KindThink, func(ctx context.Context, _ struct{}) (tools.Result, error) {
		child, err := c.Derive(config.DeriveParameters{Subagent: "helper"})
		if err != nil {
			return tools.Result{}, err
		}
		_, responses, err := child.RunCalls(ctx, []model.FunctionCall{writing("f", "one\n")})
		if err == nil {
			inner = responses[0]
		}
		return tools.Result{}, errors.Join(err, child.Close())
	})
	require.NoError(t, err)
	c, dir = unattended(t, begin)
	_, _, open, err := c.RunCall(t.Context(), writing("f", "one\n"), nil)
	require.NoError(t, err)
	yes := &config.PriorAnswer{Question: *open, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	_, r, open, err := c.RunCall(t.Context(), model.FunctionCall{ID: "call", Name: "begin"}, yes)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Nil(t, open)
	require.Equal(t, fault.NoApprover, fault.CodeOf(inner.Result.Error))
	require.NoFileExists(t, filepath.Join(dir, "f"))
}
