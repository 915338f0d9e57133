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

// SlashCommands returns the commands available to the user: those of extra, in
// their order, then those of prompts of connected MCP servers, of enabled skills
// and agents, and of files: the user's before the project's, which require a
// trusted directory, and those before extensions'. A later command replaces an
// earlier one of the same name, see [commands.Assemble]. Call it again to reload
// the commands. A problem in a command does not affect the others. The error has
// code not_initialized or cancelled.
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
	claudeUser, claudeProject := c.params().claudeDirs(sh.workspace.Target())
	return slash.Load(ctx, slash.Options{
		ClaudeUser: claudeUser, ClaudeProject: claudeProject,
		Servers: sh.servers.Load(), Skills: sh.skills, Activate: c.Skills().Activate, Registry: s.registry, Lines: s.commandLines(),
		UserDir: userDir, ProjectDir: filepath.Join(sh.workspace.Target(), c.params().Environment.Layout.Dir), Trusted: c.params().Policy.Trust == trust.Trusted,
		Extensions: c.brought().Commands, Files: sh.promptFiles(), Tools: prompts.Tools{Scheduler: s.scheduler}, Hold: s.hold,
	}, extra...)
}

// commandLines returns the runner for the lines of this conversation's own
// commands, created at first use because most conversations have none.
func (s *session) commandLines() *slash.Lines {
	s.linesOnce.Do(func() { s.lines = slash.NewLines(s.scheduler, s.shared.rules) })
	return s.lines
}

// RunCommand runs a command line typed by the user, in the target directory and
// under the conditions of run_shell_command: with its limits, its environment and
// its confinement. It requires no approval, because the user typed the command; a
// command that policy denies is refused. output receives the command's output,
// see [process.Command]; nil: it is dropped. The errors have code
// policy_violation or not_initialized, or are those of [process.Service.Run].
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
	return s.processes.Run(ctx, process.Command{Line: line, Dir: sh.workspace.Target(), PTY: c.params().Tools.Shell.Terminal, Output: output})
}

// shellTool is the name of the tool that runs commands.
const shellTool = "run_shell_command"
