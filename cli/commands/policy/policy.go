// Package policy implements the commands that explain, list, test and suggest policy rules.
package policy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Command returns the fettle policy command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Explain, list, test and suggest the rules for tool calls",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(policyCheckCommand(p, g), policyListCommand(p, g), policyTestCommand(p, g), policySuggestCommand(p, g))
	return cmd
}

func policyCheckCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var batch, interactive bool
	var subagent string
	cmd := &cobra.Command{
		Use:   "check TOOL [JSON|-]",
		Short: "Show the decision about a tool call and its rule",
		Long: `Evaluates the policy for a tool call without running it, and prints the decision
as one JSON object: decision, rule, tier, file, line, reason, remedy,
and for a command line the decision on each part. The tool need not be registered.

With --batch each line of stdin is a call, {"id", "tool", "args",
"approval_mode", "interactive", "subagent"}, and is answered immediately by one line.`,
		Example: `  fettle policy check run_shell_command '{"command":"git status && rm -rf build"}'
  fettle --approval-mode plan policy check write_file '{"file_path":"a.txt","content":""}'
  fettle policy check --batch < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case !batch && len(args) > 2:
				return program.UsageError("Unexpected arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -. Give a flag its value with =, as in --interactive=false.")
			case !batch && len(args) > 0 && args[0] == "":
				return program.UsageError("The tool name is empty.", "fettle tools lists them.")
			}
			return program.CallArguments(args, batch)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			asked := scheduler.Situation{Headless: program.Ptr(!interactive), Subagent: &subagent}
			if batch {
				return withPolicy(ctx, p, g, func(s program.Session) error { return checkBatch(ctx, p, s, asked) })
			}
			params := json.RawMessage("{}")
			if len(args) == 2 {
				var err error
				if params, err = program.Arguments(ctx, p, args[1]); err != nil {
					return err
				}
			}
			return withPolicy(ctx, p, g, func(s program.Session) error {
				d, err := s.Explain(ctx, scheduler.Request{Tool: args[0], Args: params}, asked)
				if err != nil {
					return err
				}
				return program.PrintJSON(p.Out, checked(nil, &d))
			})
		},
		ValidArgsFunction: program.CompleteTools(p, g),
	}
	f := cmd.Flags()
	f.BoolVar(&batch, "batch", false, "evaluate the calls on stdin, one per line")
	f.BoolVar(&interactive, "interactive", true, "whether an approver is available")
	f.StringVar(&subagent, "subagent", "", "`name` of the calling subagent (default: the main agent)")
	return cmd
}

// withPolicy opens a session and reports problems in policy files.
func withPolicy(ctx context.Context, p *program.Program, g *program.Flags, use func(program.Session) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		p.ReportProblems(s)
		return use(s)
	})
}

// checkLine is one call of a batch of checks.
type checkLine struct {
	ID           json.RawMessage      `json:"id"`
	Tool         string               `json:"tool"`
	Args         json.RawMessage      `json:"args"`
	ApprovalMode *policy.ApprovalMode `json:"approval_mode"`
	Interactive  *bool                `json:"interactive"`
	Subagent     *string              `json:"subagent"`
}

// checkAnswer is its result.
type checkAnswer struct {
	ID json.RawMessage `json:"id,omitempty"`
	*policy.Decision
	Checkers []checkerListing `json:"checkers,omitempty"` // run before the call; they may make the decision stricter
	Error    *fault.Error     `json:"error,omitempty"`
}

// checkerListing is the JSON output for a safety checker.
type checkerListing struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // in-process or external
	Tier   string `json:"tier"`
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
}

// checked returns the result for a decision.
func checked(id json.RawMessage, d *policy.Decision) checkAnswer {
	a := checkAnswer{ID: id, Decision: d}
	for _, ch := range d.Checkers {
		kind := "in-process"
		if ch.External {
			kind = "external"
		}
		a.Checkers = append(a.Checkers, checkerListing{ch.Name, kind, ch.Tier.String(), ch.Source, ch.Line})
	}
	return a
}

// checkBatch answers the calls on stdin line by line. Blank lines are skipped; an
// invalid line is answered with an error, and the exit code is then 1.
func checkBatch(ctx context.Context, p *program.Program, s program.Session, asked scheduler.Situation) error {
	return program.EachLine(ctx, p, func(line int, text []byte) (program.ExitCode, error) {
		a := checkOne(ctx, s, text, asked)
		if err := program.PrintJSON(p.Out, a); err != nil {
			return program.ExitToolError, err
		}
		program.ReportFailure(p, line, a.Error)
		if a.Error != nil {
			return program.ExitToolError, nil
		}
		return program.ExitDone, nil
	})
}

func checkOne(ctx context.Context, s program.Session, text []byte, asked scheduler.Situation) checkAnswer {
	var call checkLine
	if err := program.DecodeLine(text, &call); err != nil {
		return checkAnswer{ID: call.ID, Error: program.AsFault(err)}
	}
	if call.Tool == "" {
		return checkAnswer{ID: call.ID, Error: program.InvalidCall(errors.New(`it has no "tool"`))}
	}
	if call.Args == nil {
		call.Args = json.RawMessage("{}")
	}
	asked.Mode = call.ApprovalMode
	if call.Interactive != nil {
		asked.Headless = program.Ptr(!*call.Interactive)
	}
	if call.Subagent != nil {
		asked.Subagent = call.Subagent
	}
	d, err := s.Explain(ctx, scheduler.Request{Tool: call.Tool, Args: call.Args}, asked)
	if err != nil {
		return checkAnswer{ID: call.ID, Error: program.AsFault(err)}
	}
	return checked(call.ID, &d)
}
