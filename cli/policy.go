package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/scheduler"
)

func (p *program) policyCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Explain, list and test the rules that decide about tool calls",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(p.policyCheckCommand(g), p.policyListCommand(g), p.policyTestCommand(g))
	return cmd
}

func (p *program) policyCheckCommand(g *globalFlags) *cobra.Command {
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
				return usageError("There are arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -. A flag's value follows =, as in --interactive=false.")
			case !batch && len(args) > 0 && args[0] == "":
				return usageError("The name of the tool is empty.", "fettle tools lists them.")
			}
			return callArguments(args, batch)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			asked := scheduler.Situation{Headless: ptr(!interactive), Subagent: &subagent}
			if batch {
				return p.withPolicy(ctx, g, func(s session) error { return p.checkBatch(ctx, s, asked) })
			}
			params := json.RawMessage("{}")
			if len(args) == 2 {
				var err error
				if params, err = p.arguments(ctx, args[1]); err != nil {
					return err
				}
			}
			return p.withPolicy(ctx, g, func(s session) error {
				d, err := s.Explain(ctx, scheduler.Request{Tool: args[0], Args: params}, asked)
				if err != nil {
					return err
				}
				return printJSON(p.out, checked(nil, &d))
			})
		},
		ValidArgsFunction: p.completeTools(g),
	}
	f := cmd.Flags()
	f.BoolVar(&batch, "batch", false, "decide about the calls that stdin lists, one a line")
	f.BoolVar(&interactive, "interactive", true, "whether somebody can be asked")
	f.StringVar(&subagent, "subagent", "", "`name` of the subagent that calls; none is the main agent")
	return cmd
}

func ptr[T any](v T) *T { return &v }

// withPolicy opens a session, tells what is wrong in policy files, and hands
// the session to use.
func (p *program) withPolicy(ctx context.Context, g *globalFlags, use func(session) error) error {
	return p.withSession(ctx, sessionOptions{flags: g}, func(s session) error {
		p.tellProblems(s)
		return use(s)
	})
}

// tellProblems prints what is wrong in settings, in tools that the person's own
// programs bring, and in policy files, one line each; of rules that a file may
// not hold one line a file. What only has no effect here is for fettle config
// validate.
func (p *program) tellProblems(s session) {
	for _, problem := range s.SettingsProblems() {
		if problem.Severity != settings.Notice {
			p.complain(errors.New(problem.String()))
		}
	}
	for _, err := range s.DiscoveryProblems() {
		p.complain(err)
	}
	if c := s.Config(); c != nil && !c.TrustedFolder() {
		for _, notice := range switchNotices(c) {
			p.say(notice)
		}
	}
	p.tellExtensionProblems(s)
	problems := s.PolicyProblems()
	ignored := map[string]int{}
	for _, problem := range problems {
		if problem.Kind == rulefile.KindIgnored {
			ignored[likeness(problem)]++
		}
	}
	for _, problem := range problems {
		n := ignored[likeness(problem)]
		switch {
		case problem.Kind != rulefile.KindIgnored || n == 1:
			p.complain(errors.New(problem.String()))
		case n > 1:
			ignored[likeness(problem)] = -1
			p.complain(fmt.Errorf("%s (and %d more like it in this file)", problem, n-1))
		}
	}
}

// likeness is what two problems have in common that are told in one line: the
// file, and whether a rule or only a key of it is ignored.
func likeness(p fault.Problem) string { return p.Path + "\x00" + p.Key }

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
func (p *program) checkBatch(ctx context.Context, s session, asked scheduler.Situation) error {
	return p.eachLine(ctx, func(line int, text []byte) (exitCode, error) {
		a := checkOne(ctx, s, text, asked)
		if err := printJSON(p.out, a); err != nil {
			return exitToolError, err
		}
		p.tellFailure(line, a.Error)
		if a.Error != nil {
			return exitToolError, nil
		}
		return exitDone, nil
	})
}

func checkOne(ctx context.Context, s session, text []byte, asked scheduler.Situation) checkAnswer {
	var call checkLine
	if err := decodeLine(text, &call); err != nil {
		return checkAnswer{ID: call.ID, Error: asFault(err)}
	}
	if call.Tool == "" {
		return checkAnswer{ID: call.ID, Error: notACall(errors.New(`it has no "tool"`))}
	}
	if call.Args == nil {
		call.Args = json.RawMessage("{}")
	}
	asked.Mode = call.ApprovalMode
	if call.Interactive != nil {
		asked.Headless = ptr(!*call.Interactive)
	}
	if call.Subagent != nil {
		asked.Subagent = call.Subagent
	}
	d, err := s.Explain(ctx, scheduler.Request{Tool: call.Tool, Args: call.Args}, asked)
	if err != nil {
		return checkAnswer{ID: call.ID, Error: asFault(err)}
	}
	return checked(call.ID, &d)
}

// asFault gives err a class.
func asFault(err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(fault.ExecutionFailed, "cli", sentence(err.Error()), "", err)
}
