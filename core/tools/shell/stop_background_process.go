package shell

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// StopBackgroundParams are the parameters of stop_background_process.
type StopBackgroundParams struct {
	ID string `json:"id" jsonschema_description:"Such as p1."`
}

const stopBackgroundDescription = "Ends a background process and its child processes; returns its remaining output."

func newStopBackground() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, StopBackgroundParams]{
		Spec: tools.Spec{
			Name: StopBackground, DisplayName: "Stop Background Process", Description: stopBackgroundDescription,
			Kind: tools.KindExecute, Effects: []tools.Effect{tools.EffectRunProcess},
		},
		Rewrite:  rewriteHandle,
		Validate: func(_ Services, p StopBackgroundParams) error { return validHandle(p.ID) },
		Build: func(s Services, p StopBackgroundParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &stopBackground{s, p, params}, nil
		},
	})
}

type stopBackground struct {
	services Services
	p        StopBackgroundParams
	params   json.RawMessage
}

func (c *stopBackground) Params() json.RawMessage { return c.params }

func (c *stopBackground) Description() string { return "Stop " + printable(c.p.ID) }

func (c *stopBackground) Locations() []tools.Location { return nil }

func (c *stopBackground) Confirmation(context.Context) (*tools.Confirmation, error) {
	return question("Confirm Stopping a Process", "Stop the background process "+known(c.services.Reader, c.p.ID)), nil
}

func (c *stopBackground) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	id := handle(c.services.Reader, c.p.ID)
	if err := ctx.Err(); err != nil {
		return tools.Fail(failed(ctx, "shell.stop", err)), nil
	}
	if _, err := c.services.Control.Kill(ctx, id); err != nil {
		return tools.Fail(failed(ctx, "shell.stop", err)), nil
	}
	u, err := c.services.Reader.Read(ctx, id, process.ReadOptions{})
	if err != nil {
		return tools.Fail(failed(ctx, "shell.stop", err)), nil
	}
	return unread(u), nil
}
