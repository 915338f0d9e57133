package config

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config/internal/prompts"
	"github.com/fettle-dev/fettle/core/config/internal/slash"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// SlashCommands returns the commands that a person can type: those of extra, in
// their order, then those of prompts of MCP servers that are connected, of skills and
// agents that are enabled, and of files, of which the user's go before the
// project's, which count where its directory is trusted, and those before extensions'.
// Who comes later wins, see [commands.Assemble]. To load them again, call it again.
// What is wrong with a command is a Problem, and loses no other. The error is of code
// not_initialized or cancelled.
func (c *Config) SlashCommands(ctx context.Context, extra ...commands.Loader) (*commands.Set, []fault.Problem, error) {
	s, err := c.own("SlashCommands")
	if err != nil {
		return nil, nil, err
	}
	sh, err := c.services("SlashCommands")
	if err != nil {
		return nil, nil, err
	}
	userDir, _ := c.userDir() // "": there is none
	return slash.Load(ctx, slash.Options{
		Servers: sh.servers.Load(), Skills: sh.skills, Activate: c.ActivateSkill, Registry: s.registry, Lines: s.commandLines(),
		UserDir: userDir, ProjectDir: filepath.Join(sh.workspace.Target(), c.params().Layout.Dir), Trusted: c.params().Trust == trust.Trusted,
		Extensions: c.brought().Commands, Files: sh.promptFiles(), Tools: prompts.Tools{Scheduler: s.scheduler}, Hold: s.hold,
	}, extra...)
}

// commandLines returns what runs the lines of this conversation's own commands, made at
// first use: most have none.
func (s *session) commandLines() *slash.Lines {
	s.linesOnce.Do(func() { s.lines = slash.NewLines(s.scheduler, s.shared.rules) })
	return s.lines
}

// RunCommand runs a command line that the person has typed, in the target directory
// and as run_shell_command does: with its limits, its environment and its
// confinement. Nobody is asked, as whoever types a command has decided; what policy
// denies is refused. output is sent what the command prints, see
// [process.Command]; nil: nobody listens. Errors are of code policy_violation,
// not_initialized, and those of [process.Service.Run].
func (c *Config) RunCommand(ctx context.Context, line string, output func(chunk string)) (process.Result, error) {
	s, err := c.own("RunCommand")
	if err != nil {
		return process.Result{}, err
	}
	sh, err := c.services("RunCommand")
	if err != nil {
		return process.Result{}, err
	}
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return process.Result{}, err
	}
	decision, err := s.scheduler.Explain(ctx, scheduler.Request{Tool: shellTool, Args: args}, scheduler.Situation{})
	if err != nil {
		return process.Result{}, err
	}
	if decision.Decision == policy.Deny {
		return process.Result{}, fault.New(fault.PolicyViolation, "config.runCommand", fmt.Sprintf("The command is denied: %s", decision.Reason), decision.Remedy)
	}
	return s.processes.Run(ctx, process.Command{Line: line, Dir: sh.workspace.Target(), PTY: c.params().Commands.Terminal, Output: output})
}

// shellTool is the tool that runs commands.
const shellTool = "run_shell_command"
