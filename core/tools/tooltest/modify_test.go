package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// proposal is a modifiable invocation made of functions.
type proposal struct {
	invocation
	modify func(content string) (tools.ToolInvocation, error)
}

func (p *proposal) Modify(_ context.Context, content string) (tools.ToolInvocation, error) {
	return p.modify(content)
}

// propose returns an invocation that writes text. breaks changes it and the result of its Modify.
func propose(text string, breaks func(*proposal)) *proposal {
	p := &proposal{}
	p.text = "Write."
	p.params = func() json.RawMessage {
		params, _ := tools.Amend(json.RawMessage(`{}`), map[string]any{"text": text})
		return params
	}
	p.confirm = func(context.Context) (*tools.Confirmation, error) {
		return &tools.Confirmation{Type: tools.ConfirmEdit, Title: "Write?",
			EditDetails: &tools.EditDetails{FileName: "f", FilePath: "/f", NewContent: text}}, nil
	}
	p.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("written")}, ctx.Err()
	}
	p.modify = func(content string) (tools.ToolInvocation, error) { return propose(content, breaks), nil }
	if breaks != nil {
		breaks(p)
	}
	return p
}

// AR-21: content that a user puts in the place of a proposal is confirmed, matched by policy and executed.
func TestModifiable(t *testing.T) {
	fails := func(context.Context, tools.Output) (tools.Result, error) {
		return tools.Fail(fault.New(fault.ExecutionFailed, "t", "No.", "")), nil
	}
	for want, breaks := range map[string]func(p *proposal){
		"": nil,
		"no content to modify": func(p *proposal) {
			p.confirm = func(context.Context) (*tools.Confirmation, error) {
				return &tools.Confirmation{Type: tools.ConfirmInfo, Title: "Write?", InfoDetails: &tools.InfoDetails{Prompt: "p"}}, nil
			}
		},
		"not a *fault.Error": func(p *proposal) {
			p.modify = func(string) (tools.ToolInvocation, error) { return nil, errors.New("no") }
		},
		"Modify of": func(p *proposal) {
			p.modify = func(string) (tools.ToolInvocation, error) {
				return nil, fault.New(fault.ExecutionFailed, "t", "No.", "")
			}
		},
		"neither an invocation nor an error": func(p *proposal) { p.modify = func(string) (tools.ToolInvocation, error) { return nil, nil } },
		"still shows the proposal":           func(p *proposal) { p.modify = func(string) (tools.ToolInvocation, error) { return p, nil } },
		"does not change its Params": func(p *proposal) {
			params := p.params
			p.modify = func(content string) (tools.ToolInvocation, error) {
				next := propose(content, nil)
				next.params = params
				return next, nil
			}
		},
		"fails after Modify": func(p *proposal) {
			p.modify = func(content string) (tools.ToolInvocation, error) {
				next := propose(content, nil)
				next.run = fails
				return next, nil
			}
		},
		"panics": func(p *proposal) { p.modify = func(string) (tools.ToolInvocation, error) { panic("ouch") } },
	} {
		good := define(t, tools.KindEdit, echo, tools.WithSpec(func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectWriteFiles} }))
		broken := &tool{spec: good.Spec(), build: func(args json.RawMessage) (tools.ToolInvocation, error) {
			inv, err := good.Build(args)
			if err != nil {
				return nil, err
			}
			var p echoParams
			if err := json.Unmarshal(inv.Params(), &p); err != nil {
				return nil, err
			}
			next := propose(p.Text, breaks)
			if p.Times != 0 {
				next.params = inv.Params
			}
			return next, nil
		}}
		failures := failuresOf(t, broken, tooltest.Cases{Examples: args(`{"text":"a"}`)})
		if want == "" {
			require.Empty(t, failures)
			continue
		}
		require.Contains(t, failures, want)
	}
}
