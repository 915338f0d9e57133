package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

func (p *program) policyTestCommand(g *globalFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "test [PATH…]",
		Short: "Run the tests that stand in policy files beside the rules",
		Long: `Runs each [[test]] table of the policy files: a call and the decision that it
should get from all rules in force. With paths, those files or folders are the
user's policy, in place of the usual ones.

  [[test]]
  toolName = "run_shell_command"
  command = "git status"
  decision = "allow"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				g.policyPaths = args
			}
			return p.withPolicy(cmd.Context(), g, func(s session) error { return p.runPolicyTests(s) })
		},
	}
}

// runPolicyTests runs the tests of all policy files. A failed test, and an
// error in a file, which may have taken a rule or a test away, end with 1.
func (p *program) runPolicyTests(s session) error {
	passed, failed := 0, 0
	for _, file := range s.PolicyFiles() {
		for _, test := range file.Tests {
			if err := test.Run(s.Decide); err != nil {
				failed++
				if _, err := fmt.Fprintln(p.out, "FAIL "+oneLine(lineOf(err))); err != nil {
					return err
				}
				continue
			}
			passed++
		}
	}
	broken := 0
	for _, problem := range s.PolicyProblems() {
		if problem.Severity == rulefile.Error {
			broken++
		}
	}
	if _, err := fmt.Fprintf(p.out, "%d passed, %d failed, errors in files: %d\n", passed, failed, broken); err != nil {
		return err
	}
	if failed+broken > 0 {
		return &exitError{code: exitToolError}
	}
	return nil
}

func lineOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Line()
	}
	return err.Error()
}
