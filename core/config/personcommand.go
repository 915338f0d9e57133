package config

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
)

// RunCommand runs a command line that the person has typed, in the target folder
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
