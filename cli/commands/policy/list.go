package policy

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// ruleListing is the JSON output for a rule; these keys come first.
type ruleListing struct {
	Name      string         `json:"name,omitempty"`
	Short     string         `json:"rule"`  // in short form
	Words     string         `json:"words"` // a description of the calls that it matches
	Effective float64        `json:"effective"`
	Decision  policy.Verdict `json:"decision"`
	Tier      string         `json:"tier"`
	Session   bool           `json:"session,omitempty"`
	Source    string         `json:"source"`
	Line      int            `json:"line,omitempty"`
	policy.Rule
}

func ruleListingOf(r policy.Rule) ruleListing {
	return ruleListing{
		Name: r.Name, Short: r.String(), Words: r.Words(), Effective: r.Effective(), Decision: r.Decision, Tier: program.TierOf(r),
		Session: r.Session, Source: r.Source, Line: r.Line, Rule: r,
	}
}

func policyListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules in the order of evaluation",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withPolicy(cmd.Context(), p, g, func(s program.Session) error {
				rules := s.PolicyRules()
				if asJSON {
					list := make([]ruleListing, 0, len(rules))
					for _, r := range rules {
						list = append(list, ruleListingOf(r))
					}
					return program.PrintJSON(p.Out, list)
				}
				if err := listRules(p, rules); err != nil {
					return err
				}
				return listFiles(p, s.PolicyFiles())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listFiles prints the policy files with the number of their rules.
func listFiles(p *program.Program, files []rulefile.File) error {
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	if len(files) > 0 {
		_, _ = fmt.Fprintln(w, "\nFILE\tRULES\tCHECKERS\tTESTS") // Flush reports the error
	}
	for _, f := range files {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", display.Line(f.Path), len(f.Rules), len(f.Checkers), len(f.Tests))
	}
	return w.Flush()
}

func listRules(p *program.Program, rules []policy.Rule) error {
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "PRIORITY\tRULE\tTIER\tFROM") // Flush reports the error
	for _, r := range rules {
		from := r.Source
		if r.Line > 0 {
			from += ":" + strconv.Itoa(r.Line)
		}
		rule := r.String()
		if r.Approval { // as worded in its approval request
			rule = string(r.Decision) + " " + r.Words()
		}
		if r.Name != "" {
			rule += " (" + r.Name + ")"
		}
		_, _ = fmt.Fprintf(w, "%.3f\t%s\t%s\t%s\n", r.Effective(), display.Line(rule), program.TierOf(r), display.Line(from))
	}
	return w.Flush()
}
