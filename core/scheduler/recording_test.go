package scheduler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// recording records the calls of its methods.
type recording struct{ calls string }

func (r *recording) Mark() int    { return 3 }
func (r *recording) Withhold(int) { r.calls += "withhold " }
func (r *recording) Commit()      { r.calls += "commit" }
func (r *recording) Drop()        { r.calls += "drop" }

// The content of a result counts as shown only if the response contains it.
func TestRecorded(t *testing.T) {
	result := tools.Result{LLMContent: tools.Text("content")}
	failed := result.WithError(fault.New(fault.ExecutionFailed, "test", "No.", ""))
	becomes := func(f func(tools.Result) (tools.Result, error)) scheduler.After {
		return func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) { return f(r) }
	}
	for name, tt := range map[string]struct {
		run   func(context.Context) (tools.Result, error)
		after scheduler.After
		want  string
	}{
		"success":              {func(context.Context) (tools.Result, error) { return result, nil }, nil, "commit"},
		"failure with content": {func(context.Context) (tools.Result, error) { return failed, nil }, nil, "commit"},
		"failure alone":        {func(context.Context) (tools.Result, error) { return tools.Fail(failed.Error), nil }, nil, "drop"},
		"error":                {func(context.Context) (tools.Result, error) { return tools.Result{}, errors.New("no") }, nil, "drop"},
		"panic":                {func(context.Context) (tools.Result, error) { panic("oh") }, nil, "drop"},
		"cancelled":            {func(context.Context) (tools.Result, error) { return result, context.Canceled }, nil, "drop"},
		"something added": {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(r tools.Result) (tools.Result, error) {
			r.LLMContent.Parts = append(r.LLMContent.Parts, tools.Part{Text: "more"})
			return r, nil
		}), "commit"},
		"something added to nothing": {func(context.Context) (tools.Result, error) { return tools.Result{}, nil }, becomes(func(r tools.Result) (tools.Result, error) {
			r.LLMContent = tools.Text("more")
			return r, nil
		}), "commit"},
		"a context":         {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(r tools.Result) (tools.Result, error) { return r.WithContext("more"), nil }), "commit"},
		"a step that fails": {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(tools.Result) (tools.Result, error) { return tools.Result{}, errors.New("no") }), "commit"},
		"other content":     {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(r tools.Result) (tools.Result, error) { r.LLMContent = tools.Text("other"); return r, nil }), "withhold commit"},
		"changed in place":  {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(r tools.Result) (tools.Result, error) { r.LLMContent.Parts[0].Text = "masked"; return r, nil }), "withhold commit"},
		"an error instead":  {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(tools.Result) (tools.Result, error) { return tools.Fail(failed.Error), nil }), "withhold drop"},
		"an error added":    {func(context.Context) (tools.Result, error) { return result, nil }, becomes(func(r tools.Result) (tools.Result, error) { return r.WithError(failed.Error), nil }), "commit"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := tools.Define("t", "Tests.", tools.KindRead, func(ctx context.Context, _ struct{}) (tools.Result, error) { return tt.run(ctx) })
			require.NoError(t, err)
			r := tools.NewRegistry(tools.RegistryOptions{})
			require.NoError(t, r.Register(tool))
			var rec recording
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := scheduler.Options{Tools: r, Record: func(ctx context.Context) (context.Context, scheduler.Recording) {
				if name == "cancelled" {
					cancel()
				}
				return ctx, &rec
			}}
			if tt.after != nil {
				o.After = []scheduler.After{tt.after}
			}
			resp := scheduler.New(o).Run(ctx, scheduler.Request{Tool: "t"})
			require.Equal(t, tt.want, rec.calls, "%+v", resp)
			require.Equal(t, len(tt.want) > len("withhold") && tt.want[:8] == "withhold", resp.Replaced)
		})
	}
}
