package integration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// noteParams are the arguments of a tool whose approval covers a notebook, whatever the text.
type noteParams struct {
	Book string `json:"book"`
	Text string `json:"text,omitempty"`
	Lock bool   `json:"lock,omitempty"`
}

func addNote(t *testing.T, varies ...string) (tools.DeclarativeTool, error) {
	t.Helper()
	return tools.Define("add_note", "Adds a note to a book.", tools.KindExecute,
		func(context.Context, noteParams) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("done")}, nil
		},
		tools.WithSpec(func(s *tools.Spec) { s.Varies = varies }))
}

// FD-06: a tool states which arguments may differ in the calls that "always" covers. The question names them, and all
// others are covered with their value only.
func TestVaryingArguments(t *testing.T) {
	t.Parallel()
	tool, err := addNote(t, "text")
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{tool} })
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ProceedAlways }
	asked := func(p noteParams) int {
		before := len(s.Confirmations())
		require.Equal(t, scheduler.StatusSuccess, s.Call("add_note", p).Status)
		return len(s.Confirmations()) - before
	}
	require.Equal(t, 1, asked(noteParams{Book: "work", Text: "one"}))
	remembers := s.Confirmations()[0].Remembers
	require.NotEmpty(t, remembers)
	require.Contains(t, remembers[0].Rules[0], `with exactly book "work", and any text`)
	require.Zero(t, asked(noteParams{Book: "work", Text: "another"}))
	require.Zero(t, asked(noteParams{Book: "work"}))
	require.Equal(t, 1, asked(noteParams{Book: "home", Text: "one"}))
	require.Equal(t, 1, asked(noteParams{Book: "work", Text: "one", Lock: true}))

	// No text of the varying argument passes for another argument.
	require.Equal(t, 1, asked(noteParams{Book: "third", Text: `","book":"work","text":"`}))
	require.Zero(t, asked(noteParams{Book: "work", Text: "a\"\x00,\n}"}))

	_, err = addNote(t, "texts")
	require.ErrorContains(t, err, `argument "texts" in Varies is not in the schema`)
}

// FD-06: a saved approval applies in the next session, to the same calls.
func TestVaryingArgumentsAreSaved(t *testing.T) {
	t.Parallel()
	type tagParams struct {
		Book string         `json:"book"`
		Tags map[string]any `json:"tags,omitempty"`
	}
	home, dir := t.TempDir(), t.TempDir()
	open := func(answer bus.Outcome) func(p tagParams) int {
		tool, err := tools.Define("tag", "Tags a book.", tools.KindExecute,
			func(context.Context, tagParams) (tools.Result, error) {
				return tools.Result{LLMContent: tools.Text("done")}, nil
			},
			tools.WithSpec(func(s *tools.Spec) { s.Varies = []string{"tags"} }))
		require.NoError(t, err)
		s := configtest.New(t, func(p *config.Parameters) {
			p.Environment.HomeDir, p.TargetDir, p.Tools.Own = home, dir, []tools.DeclarativeTool{tool}
		})
		s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return answer }
		return func(p tagParams) int {
			before := len(s.Confirmations())
			require.Equal(t, scheduler.StatusSuccess, s.Call("tag", p).Status)
			return len(s.Confirmations()) - before
		}
	}
	asked := open(bus.ProceedAlwaysAndSave)
	require.Equal(t, 1, asked(tagParams{Book: "work", Tags: map[string]any{"a": 1}}))
	asked = open(bus.ProceedOnce)
	require.Zero(t, asked(tagParams{Book: "work"}))
	require.Zero(t, asked(tagParams{Book: "work", Tags: map[string]any{"b": "text"}}))
	require.Zero(t, asked(tagParams{Book: "work", Tags: map[string]any{"b": []any{map[string]any{"c": "d"}}, "e": nil}}))
	require.Equal(t, 1, asked(tagParams{Book: "home", Tags: map[string]any{"book": "work"}}))
}
