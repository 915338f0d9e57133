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

// command runs the slash command in the prompt's text: of a command file, an MCP
// prompt, a skill or an agent. ok is false if the text names no command and is sent
// to the model as it is. A command with another result than a prompt is an error, and
// so is a command of interactive sessions.
func (h *headlessRun) command(ctx context.Context, c *config.Config, in promptInput) (parts []model.Part, ok bool, err error) {
	if !new(commands.Set).Parse(in.text).IsCommand { // so that no commands are loaded
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
			return nil, true, program.UsageError(fmt.Sprintf("The command /%s requires an interactive session.", m.Name), "Write the request as a prompt, or start the program without -p.")
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
		err = program.UsageError(fmt.Sprintf("The command /%s sends no prompt to the model and requires an interactive session.", m.Name), "Start the program without -p.")
	}
	return nil, true, err
}

// submitted returns the prompt of a command.
func (h *headlessRun) submitted(ctx context.Context, c *config.Config, p commands.SubmitPrompt) ([]model.Part, error) {
	if p.Expanded || p.Content.HasData() {
		return agent.Parts(p.Content), nil
	}
	return h.named(ctx, c, p.Content.String())
}

// unasked returns the error for a command with shell lines that need approval.
func (h *headlessRun) unasked(ctx context.Context, c *config.Config, name string, lines []string) error {
	refused := fault.New(fault.NoApprover, "cli", fmt.Sprintf("The command /%s runs !{%s}, which needs approval, and no approver is available; nothing was run.",
		name, strings.Join(lines, "}, !{")), "Allow it with a rule, or use the command in an interactive session.")
	s, err := c.Scheduler()
	if err != nil {
		return err
	}
	if remedy := remedyOf(ctx, s, lines[0]); remedy != "" {
		refused = fault.New(refused.Code, refused.Op, refused.Message, remedy)
	}
	return &program.ExitError{Code: program.ExitDenied, Err: refused}
}

// remedyOf returns the remedy of the denied call: the flag or rule that would allow
// it without an approver.
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

// headlessUI prints the messages of a command on stderr.
type headlessUI struct{ *headlessRun }

// Say implements [commands.UI].
func (u headlessUI) Say(m commands.Message) { u.Warn(m.Text) }

// Progress implements [commands.UI]. It does nothing.
func (headlessUI) Progress(string) {}
