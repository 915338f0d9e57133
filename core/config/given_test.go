package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// unattended is a session that nobody listens to.
func unattended(t *testing.T) (*config.Config, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, HomeDir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, dir
}

func writing(file, content string) model.FunctionCall {
	args, _ := json.Marshal(map[string]string{"file_path": file, "content": content})
	return model.FunctionCall{ID: "call", Name: "write_file", Args: args}
}

// A question that nobody answers is left open, and the answer is given with the
// next attempt, also after a way through JSON.
func TestRunCallWithAnAnswer(t *testing.T) {
	c, dir := unattended(t)
	path := filepath.Join(dir, "f")
	call := writing("f", "one\n")
	answer, r, open, err := c.RunCall(t.Context(), call, nil)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Equal(t, fault.NobodyToAsk, r.Result.Error.Code)
	require.Equal(t, "call", answer.ID)
	require.Equal(t, "one\n", open.Details.NewContent)
	require.NoFileExists(t, path)

	raw, err := json.Marshal(open)
	require.NoError(t, err)
	var asked bus.ToolConfirmationRequest
	require.NoError(t, json.Unmarshal(raw, &asked))
	no := &config.Given{Question: asked}
	_, r, open, err = c.RunCall(t.Context(), call, no)
	require.NoError(t, err)
	require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
	require.Nil(t, open)
	require.NoFileExists(t, path)

	yes := &config.Given{Question: asked, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	answer, r, open, err = c.RunCall(t.Context(), call, yes)
	require.NoError(t, err)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Nil(t, open)
	require.Contains(t, string(answer.Response), `"output"`)
	require.FileExists(t, path)
}

// What a person has approved of does not stand for anything else.
func TestRunCallThatIsNoLongerTheSame(t *testing.T) {
	c, dir := unattended(t)
	_, _, open, err := c.RunCall(t.Context(), writing("f", "one\n"), nil)
	require.NoError(t, err)
	yes := func() *config.Given {
		return &config.Given{Question: *open, Answer: bus.ToolConfirmationResponse{Confirmed: true}}
	}
	for name, call := range map[string]model.FunctionCall{"other content": writing("f", "two\n"), "another file": writing("g", "one\n")} {
		_, r, again, err := c.RunCall(t.Context(), call, yes())
		require.NoError(t, err, name)
		require.Equal(t, fault.NobodyToAsk, r.Result.Error.Code, name)
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

// A front end on the bus is asked as ever, and questions of other calls are left
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

// A call that is called off leaves no question, and one of a closed session does
// not begin.
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
