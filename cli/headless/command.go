package headless

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// command runs the command that the prompt's text names: of a file, of a server's
// prompts, of a skill or an agent. ok is false for text that names none, which is for
// the model as it stands. A command that wants something else done than to say
// something to the model is an error, and so are those of a session at the terminal.
func (h *headlessRun) command(ctx context.Context, c *config.Config, in promptInput) (parts []model.Part, ok bool, err error) {
	if !new(commands.Set).Parse(in.text).IsCommand { // so that nothing is loaded
		return nil, false, nil
	}
	set, problems, err := c.SlashCommands(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, p := range problems {
		h.Warn(p.String())
	}
	m := set.Parse(in.text)
	if m.Command == nil {
		if slices.Contains(builtin.Names(), m.Name) {
			return nil, true, program.UsageError(fmt.Sprintf("The command /%s is for a session at the terminal.", m.Name), "Say in words what is to be done, or start the program without -p.")
		}
		return nil, false, nil
	}
	result, err := m.Run(ctx, &commands.Context{UI: headlessUI{h}, Session: commands.Session{ID: c.SessionID()}})
	switch r := result.(type) {
	case commands.SubmitPrompt:
		parts, err := h.submitted(ctx, c, r)
		return parts, true, err
	case commands.ConfirmShellCommands:
		return nil, true, h.unasked(ctx, c, m.Name, r.Commands)
	}
	switch {
	case fault.CodeOf(err) == fault.PolicyViolation:
		err = &program.ExitError{Code: program.ExitDenied, Err: err}
	case err == nil:
		err = program.UsageError(fmt.Sprintf("The command /%s says nothing to the model, and so is for a session at the terminal.", m.Name), "Start the program without -p for it.")
	}
	return nil, true, err
}

// submitted is what a command says to the model.
func (h *headlessRun) submitted(ctx context.Context, c *config.Config, p commands.SubmitPrompt) ([]model.Part, error) {
	if p.Expanded || p.Content.HasData() {
		return agent.Parts(p.Content), nil
	}
	return h.named(ctx, c, p.Content.String())
}

// unasked is the error of a command that runs what a person would have to approve.
func (h *headlessRun) unasked(ctx context.Context, c *config.Config, name string, lines []string) error {
	refused := fault.New(fault.NoApprover, "cli", fmt.Sprintf("The command /%s runs !{%s}, which needs a person's approval, and there is nobody to ask; nothing was run.",
		name, strings.Join(lines, "}, !{")), "Allow it with a rule, or run the command in a session at the terminal.")
	s, err := c.Scheduler()
	if err != nil {
		return err
	}
	if remedy := remedyOf(ctx, s, lines[0]); remedy != "" {
		refused = fault.New(refused.Code, refused.Op, refused.Message, remedy)
	}
	return &program.ExitError{Code: program.ExitDenied, Err: refused}
}

// remedyOf is what would allow a line without a person: what a call of it is told,
// which is refused as nobody can be asked.
func remedyOf(ctx context.Context, s *scheduler.Scheduler, line string) string {
	args, err := json.Marshal(shell.RunShellCommandParams{Command: line})
	if err != nil {
		return ""
	}
	r := s.Run(ctx, scheduler.Request{CallID: bus.NewID(), Tool: shell.RunShellCommand, Args: args})
	if r.Result.Error == nil || r.Result.Error.Code != fault.NoApprover {
		return ""
	}
	return r.Result.Error.Remedy
}

// headlessUI tells on stderr what a command has to tell.
type headlessUI struct{ *headlessRun }

// Say implements [commands.UI].
func (u headlessUI) Say(m commands.Message) { u.Warn(m.Text) }

// Progress implements [commands.UI]: nobody watches.
func (headlessUI) Progress(string) {}
