package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// suggestFlags are the flags of fettle policy suggest.
type suggestFlags struct {
	since       string
	least       int
	yes, asJSON bool
}

func policySuggestCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Suggest rules from the approvals of recorded sessions",
		Long: `Reads the recorded sessions of this project and lists the fewest rules that would
have answered their questions, each with an example and a similar call that still
asks. No rule is broader than a saved approval. There is none for refused calls,
protected paths, commands such as rm or git push, and unconfined commands.

At a terminal it asks whether to save the rules, with tests, among your approvals.`,
		Example: `  fettle policy suggest
  fettle policy suggest --since 7d --json
  fettle policy suggest --yes && fettle policy test`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.least < 1 {
				return program.UsageError(fmt.Sprintf("--min cannot be %d.", f.least), "Give a number of questions, at least 1.")
			}
			since, err := f.beginning()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return withPolicy(ctx, p, g, func(s program.Session) error { return suggest(ctx, p, s, since, &f) })
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.since, "since", "30d", "read calls of this `age` at most: a number and h, d, w or m (months)")
	set.IntVar(&f.least, "min", 2, "the `number` of questions that a rule would have answered at least")
	set.BoolVar(&f.yes, "yes", false, "save the rules without asking for confirmation")
	set.BoolVar(&f.asJSON, "json", false, "print JSON; save only with --yes")
	return cmd
}

var ageForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A[0-9]+[hdwm]\z`)
})

// beginning returns the time since which calls count.
func (f *suggestFlags) beginning() (time.Time, error) {
	if !ageForm().MatchString(f.since) {
		return time.Time{}, program.UsageError(fmt.Sprintf("%.40q is not an age.", f.since), "Give a number and h, d, w or m, as in --since 30d.")
	}
	return time.Now().Add(-conversation.AgeOf(f.since)), nil
}

// suggestReport is the JSON output.
type suggestReport struct {
	Since       time.Time           `json:"since"`
	Sessions    int                 `json:"sessions"` // with calls that asked
	Prompts     int                 `json:"prompts"`  // approved calls that asked
	Refused     int                 `json:"refused"`  // calls that the approver refused
	Suggestions []suggestionListing `json:"suggestions"`
	Saved       string              `json:"saved,omitempty"` // the file to which the rules were added
}

// suggestionListing is the JSON output for a suggestion.
type suggestionListing struct {
	Words   string      `json:"words"`
	Prompts int         `json:"prompts"` // that it would have answered, alone or with others
	Example string      `json:"example"`
	Rule    policy.Rule `json:"rule"`
	Tests   []suggested `json:"tests"`
}

// suggested is a test of a suggestion.
type suggested struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Decision policy.Verdict  `json:"decision"`
}

// suggest prints suggestions, and saves them once the user agrees.
func suggest(ctx context.Context, p *program.Program, s program.Session, since time.Time, f *suggestFlags) error {
	report := suggestReport{Since: since.UTC().Truncate(time.Second), Suggestions: []suggestionListing{}}
	approved, refused, err := observe(ctx, p, s, since, &report)
	if err != nil {
		return err
	}
	found, err := s.Config().Policy().Suggest(approved, refused, f.least)
	if err != nil {
		return err
	}
	for _, sg := range found {
		l := suggestionListing{Words: sg.Rule.Words(), Prompts: sg.Prompts, Example: exampleOf(sg.Example), Rule: sg.Rule, Tests: []suggested{}}
		for _, c := range sg.Tests {
			l.Tests = append(l.Tests, suggested{c.Call.Tool, c.Call.Params, c.Expect})
		}
		report.Suggestions = append(report.Suggestions, l)
	}
	if !f.asJSON {
		if _, err := fmt.Fprint(p.Out, report.text(f)); err != nil {
			return err
		}
	}
	save := f.yes
	if len(found) > 0 && !f.yes && !f.asJSON {
		if save, err = agreeToSave(ctx, p, len(found)); err != nil {
			return err
		}
	}
	if save && len(found) > 0 {
		if report.Saved, err = s.Config().Policy().SaveSuggestions(ctx, found); err != nil {
			return err
		}
		if !f.asJSON {
			_, err = fmt.Fprintf(p.Out, "Saved in %s. fettle policy test runs the tests.\n", display.Line(report.Saved))
			return err
		}
	}
	if f.asJSON {
		return program.PrintJSON(p.Out, report)
	}
	return nil
}

// observe reads the recorded calls that asked.
func observe(ctx context.Context, p *program.Program, s program.Session, since time.Time, report *suggestReport) (approved, refused []policy.Call, err error) {
	store, err := config.NewTranscripts(s.Config(), nil)
	if err != nil {
		return nil, nil, &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	list, problems, err := store.List(ctx)
	if err != nil {
		return nil, nil, conversation.Failure(ctx, err)
	}
	for _, problem := range problems {
		p.PrintError(errors.New(problem.String()))
	}
	for _, summary := range list {
		if summary.Updated.Before(since) {
			continue
		}
		session, err := store.Load(ctx, summary.ID)
		if err != nil {
			return nil, nil, conversation.Failure(ctx, err)
		}
		before := len(approved) + len(refused)
		for _, a := range recordings.Asked(session) {
			if a.Time.Before(since) {
				continue
			}
			call, err := s.Subject(ctx, scheduler.Request{Tool: a.Tool, Args: a.Args}, scheduler.Situation{Mode: a.Mode, Headless: program.Ptr(false)})
			if ctx.Err() != nil {
				return nil, nil, program.Interrupted()
			}
			if err != nil || a.Confined != "" && call.Confined == "" { // the approval was of a confined command
				continue
			}
			if a.Refused {
				refused = append(refused, call)
			} else {
				approved = append(approved, call)
			}
		}
		if len(approved)+len(refused) > before {
			report.Sessions++
		}
	}
	report.Prompts, report.Refused = len(approved), len(refused)
	return approved, refused, nil
}

// exampleOf returns a call as one line.
func exampleOf(c policy.Call) string {
	var args struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
	}
	_ = json.Unmarshal(c.Params, &args) // other arguments are shown as they are
	switch {
	case args.Command != "":
		return args.Command
	case args.Path != "":
		return c.Tool + " " + args.Path
	}
	return c.Tool + " " + string(c.Params)
}

// text returns the suggestions for a terminal.
func (r *suggestReport) text(f *suggestFlags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Since %s, %s asked and were approved, in %s.\n", r.Since.Local().Format("2006-01-02"), counted(r.Prompts, "call"), counted(r.Sessions, "session"))
	if len(r.Suggestions) == 0 {
		fmt.Fprintf(&b, "No rule would have answered %s. --min 1 also lists rules for calls that were approved once.\n", counted(f.least, "question"))
		return b.String()
	}
	b.WriteString("These rules would have answered questions:\n")
	for _, sg := range r.Suggestions {
		fmt.Fprintf(&b, "\n  %4d  %s\n", sg.Prompts, display.Line(sg.Words))
		fmt.Fprintf(&b, "        example:    %s\n", escape.Clip(display.Line(sg.Example), display.ListingWidth))
		for _, t := range sg.Tests {
			if t.Decision == policy.AskUser {
				fmt.Fprintf(&b, "        still asks: %s\n", escape.Clip(display.Line(exampleOf(policy.Call{Tool: t.Tool, Params: t.Args})), display.ListingWidth))
			}
		}
	}
	return b.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// agreeToSave asks the user at the terminal. Without one nothing is saved.
func agreeToSave(ctx context.Context, p *program.Program, rules int) (bool, error) {
	user, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	if !user.IsThere() {
		p.PrintError(fault.New(fault.NoApprover, "cli.policy", "Nothing was saved: no approver is available.", "Run the command in a terminal, or add --yes."))
		return false, nil
	}
	agreed, err := user.Agrees(ctx, fmt.Sprintf("\nSave %s with tests among your approvals?", counted(rules, "rule")))
	if err != nil {
		return false, program.Interrupted()
	}
	return agreed, nil
}
