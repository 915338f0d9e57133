package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fettle-dev/fettle/core/tools"
)

// WriteBackgroundParams are the parameters of write_background_input.
type WriteBackgroundParams struct {
	ID         string `json:"id" jsonschema_description:"The id of the background process, as p1."`
	Input      string `json:"input" jsonschema_description:"The text to write, as it is: end a line with a line break."`
	CloseInput bool   `json:"close_input,omitempty" jsonschema_description:"Close the input after that, so that the process reads its end."`
}

const writeBackgroundDescription = "Writes text to the standard input of a background process. " +
	"What it answers is read with " + ReadBackground + ". A process at a terminal takes it as typed: \\u0003 interrupts, and the text shows up in its output."

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
	d := "Write " + strconv.Quote(c.p.Input) + " to " + printable(c.p.ID)
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
	if c.p.CloseInput {
		done += " and closed its input"
	}
	return tools.Result{LLMContent: tools.Text(done + "."), ReturnDisplay: tools.TextDisplay(done)}, nil
}
