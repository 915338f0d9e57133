package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// WriteBackgroundParams are the parameters of write_background_input.
type WriteBackgroundParams struct {
	ID         string `json:"id" jsonschema_description:"Such as p1."`
	Input      string `json:"input" jsonschema_description:"Written unchanged: end lines with a line break."`
	CloseInput bool   `json:"close_input,omitempty" jsonschema_description:"Then close the input; at a terminal: type ^D."`
}

const writeBackgroundDescription = "Writes to the standard input of a background process; " + ReadBackground + " returns its response. " +
	"At a terminal the text counts as typed: \\u0003 interrupts."

func newWriteBackground() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, WriteBackgroundParams]{
		Spec: tools.Spec{
			Name: WriteBackground, DisplayName: "Write Background Input", Description: writeBackgroundDescription,
			Kind:    tools.KindExecute,
			Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles, tools.EffectRunProcess, tools.EffectNetwork},
		},
		Rewrite:  rewriteHandle,
		Validate: func(_ Services, p WriteBackgroundParams) error { return validHandle(p.ID) },
		Build: func(s Services, p WriteBackgroundParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &writeBackground{s, p, params}, nil
		},
	})
}

type writeBackground struct {
	services Services
	p        WriteBackgroundParams
	params   json.RawMessage
}

func (c *writeBackground) Params() json.RawMessage { return c.params }

func (c *writeBackground) Description() string {
	d := "Write " + escape.Quote(c.p.Input) + " to " + printable(c.p.ID)
	if c.p.CloseInput {
		d += " and close its input"
	}
	return d
}

func (c *writeBackground) Locations() []tools.Location { return nil }

// Confirmation shows the whole input, because a shell may run it as a command.
func (c *writeBackground) Confirmation(context.Context) (*tools.Confirmation, error) {
	return question("Confirm Background Input", fmt.Sprintf("%s\nThe process: %s", c.Description(), known(c.services.Reader, c.p.ID))), nil
}

func (c *writeBackground) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	id := handle(c.services.Reader, c.p.ID)
	if err := c.services.Control.Write(ctx, id, c.p.Input, c.p.CloseInput); err != nil {
		return tools.Fail(failed(ctx, "shell.write", err)), nil
	}
	done := fmt.Sprintf("Wrote %d bytes to %s", len(c.p.Input), id)
	if !c.p.CloseInput {
		return tools.Result{LLMContent: tools.Text(done + "."), ReturnDisplay: tools.TextDisplay(done)}, nil
	}
	done, more := c.closed(done, id)
	return tools.Result{LLMContent: tools.Text(done + "." + more), ReturnDisplay: tools.TextDisplay(done)}, nil
}

// closed describes the result of closing the input for the user and, in more, for the model. At a terminal the program
// decides whether to end.
func (c *writeBackground) closed(wrote, id string) (done, more string) {
	if !c.services.Terminal {
		return wrote + " and closed its input", ""
	}
	done = wrote + " and sent end of file (^D) at its terminal"
	i := slices.IndexFunc(c.services.Reader.List(), func(i process.Info) bool { return i.ID == id && !i.Running })
	if i >= 0 {
		return done + "; it has ended", ""
	}
	return done + "; it still runs", " It may be busy, or may read ^D as a key. Nothing more can be written to it: check with " +
		ReadBackground + " whether it ends, or end it with " + StopBackground + "."
}
