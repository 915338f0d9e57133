// Package policy has the commands that explain, list and test the rules about calls.
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

// Command is fettle policy.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Explain, list and test the rules that decide about tool calls",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(policyCheckCommand(p, g), policyListCommand(p, g), policyTestCommand(p, g))
	return cmd
}

func policyCheckCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var batch, interactive bool
	var subagent string
	cmd := &cobra.Command{
		Use:   "check TOOL [JSON|-]",
		Short: "Say what would happen to a tool call, and which rule says so",
		Long: `Decides about a tool call without making it, and prints the decision as one
JSON object: verdict, rule, tier, file, line, reason, what would change it, and
for a command line the verdict on each part. Nothing runs and nobody is asked.
The tool need not be registered.

With --batch each line of stdin is a call, {"id", "tool", "args",
"approval_mode", "interactive", "subagent"}, and is answered at once by one line.`,
		Example: `  fettle policy check run_shell_command '{"command":"git status && rm -rf build"}'
  fettle --approval-mode plan policy check write_file '{"file_path":"a.txt","content":""}'
  fettle policy check --batch < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case !batch && len(args) > 2:
				return program.UsageError("There are arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -. A flag's value follows =, as in --interactive=false.")
			case !batch && len(args) > 0 && args[0] == "":
				return program.UsageError("The name of the tool is empty.", "fettle tools lists them.")
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
	f.BoolVar(&batch, "batch", false, "decide about the calls that stdin lists, one a line")
	f.BoolVar(&interactive, "interactive", true, "whether somebody can be asked")
	f.StringVar(&subagent, "subagent", "", "`name` of the subagent that calls; none is the main agent")
	return cmd
}

// withPolicy opens a session, tells what is wrong in policy files, and hands
// the session to use.
func withPolicy(ctx context.Context, p *program.Program, g *program.Flags, use func(program.Session) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		p.TellProblems(s)
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

// checkAnswer is the answer to it.
type checkAnswer struct {
	ID json.RawMessage `json:"id,omitempty"`
	*policy.Decision
	Checkers []checkerListing `json:"checkers,omitempty"` // due before the call; they may tighten the decision
	Error    *fault.Error     `json:"error,omitempty"`
}

// checkerListing is a safety checker in JSON.
type checkerListing struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // in-process or external
	Tier   string `json:"tier"`
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
}

// checked is the answer with a decision.
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

// checkBatch answers the calls on stdin line by line. Blank lines are skipped;
// a line that is no call is answered with an error, and the exit code is then 1.
func checkBatch(ctx context.Context, p *program.Program, s program.Session, asked scheduler.Situation) error {
	return program.EachLine(ctx, p, func(line int, text []byte) (program.ExitCode, error) {
		a := checkOne(ctx, s, text, asked)
		if err := program.PrintJSON(p.Out, a); err != nil {
			return program.ExitToolError, err
		}
		program.TellFailure(p, line, a.Error)
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
		return checkAnswer{ID: call.ID, Error: program.NotACall(errors.New(`it has no "tool"`))}
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
