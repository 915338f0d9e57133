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
	ID         string `json:"id" jsonschema_description:"The id of the background process, as p1."`
	Input      string `json:"input" jsonschema_description:"The text to write, as it is: end a line with a line break."`
	CloseInput bool   `json:"close_input,omitempty" jsonschema_description:"Close the input after that, so that the process reads its end. At a terminal that is ^D, which a program that reads keys may take for one."`
}

const writeBackgroundDescription = "Writes text to the standard input of a background process. " +
	"What it answers is read with " + ReadBackground + ". A process that does not take the text within 10 seconds loses the rest, and the error tells how much it has. A process at a terminal takes it as typed: \\u0003 interrupts, and the text shows up in its output."

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

// Confirmation shows all that would be written: to a shell it is a command.
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

// closed tells of the closing of the input: what was done, and what follows for
// the model. At a terminal it is for the program to end of it.
func (c *writeBackground) closed(wrote, id string) (done, more string) {
	if !c.services.Terminal {
		return wrote + " and closed its input", ""
	}
	done = wrote + " and offered the end of input (^D) at its terminal"
	i := slices.IndexFunc(c.services.Reader.List(), func(i process.Info) bool { return i.ID == id && !i.Running })
	if i >= 0 {
		return done + "; it has ended", ""
	}
	return done + "; it still runs", " It may be busy, or read keys, to which ^D is one like any other. Nothing more can be written to it: see with " +
		ReadBackground + " whether it ends, or end it with " + StopBackground + "."
}
