package shell

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// ReadBackgroundParams are the parameters of read_background_output.
type ReadBackgroundParams struct {
	ID       string `json:"id" jsonschema_description:"Such as p1."`
	WaitMS   *int   `json:"wait_ms,omitempty" jsonschema:"minimum=0,maximum=300000" jsonschema_description:"Maximum wait. Default: 0; 30000 with until_end."`
	UntilEnd bool   `json:"until_end,omitempty" jsonschema_description:"Wait for the end."`
}

const readBackgroundDescription = "Returns the unread output and the state of a background process."

func newReadBackground() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ReadBackgroundParams]{
		Spec: tools.Spec{
			Name: ReadBackground, DisplayName: "Read Background Output", Description: readBackgroundDescription,
			Kind: tools.KindRead, Parallel: true,
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			rename(args, "delay_ms", "wait_ms")
			return rewriteHandle(args)
		},
		Validate: func(_ Services, p ReadBackgroundParams) error { return validHandle(p.ID) },
		Build: func(s Services, p ReadBackgroundParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &readBackground{s, p, params}, nil
		},
	})
}

type readBackground struct {
	services Services
	p        ReadBackgroundParams
	params   json.RawMessage
}

func (c *readBackground) Params() json.RawMessage { return c.params }

func (c *readBackground) Description() string { return "Read the output of " + printable(c.p.ID) }

func (c *readBackground) Locations() []tools.Location { return nil }

func (c *readBackground) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *readBackground) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	u, err := c.services.Reader.Read(ctx, handle(c.services.Reader, c.p.ID), process.ReadOptions{
		Wait: c.wait(), ForEnd: c.p.UntilEnd, MaxRead: c.services.readBytes(),
	})
	if err != nil {
		return tools.Fail(failed(ctx, "shell.read", err)), nil
	}
	return unread(u), nil
}

// wait returns the maximum time to wait.
func (c *readBackground) wait() time.Duration {
	const untilEnd = 30 * time.Second
	switch {
	case c.p.WaitMS != nil:
		return time.Duration(*c.p.WaitMS) * time.Millisecond
	case c.p.UntilEnd:
		return untilEnd
	}
	return 0
}

// unread returns the state of a background process and its unread output.
func unread(u process.Unread) tools.Result {
	var a answer
	a.process(u)
	shown := display(process.Result{ANSI: u.ANSI})
	if u.ANSI == "" {
		shown = tools.TextDisplay(state(u.Info))
	}
	return tools.Result{LLMContent: a.content(u.Text), ReturnDisplay: shown}
}
