package policy

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

func policyTestCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "test [PATH…]",
		Short: "Run the tests in policy files",
		Long: `Runs each [[test]] table of the policy files: a call and the expected decision of
all effective rules. With paths, those files or directories replace your user policy.

  [[test]]
  toolName = "run_shell_command"
  command = "git status"
  decision = "allow"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				g.PolicyPaths = args
			}
			return withPolicy(cmd.Context(), p, g, func(s program.Session) error { return runPolicyTests(p, s) })
		},
	}
}

// runPolicyTests runs the tests of all policy files. The exit code is 1 for a failed
// test, and for an error in a file, which may have removed a rule or a test.
func runPolicyTests(p *program.Program, s program.Session) error {
	passed, failed := 0, 0
	for _, file := range s.PolicyFiles() {
		for _, test := range file.Tests {
			if err := test.Run(s.Decide); err != nil {
				failed++
				if _, err := fmt.Fprintln(p.Out, "FAIL "+display.Line(fault.Line(err))); err != nil {
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
	if _, err := fmt.Fprintf(p.Out, "%d passed, %d failed, errors in files: %d\n", passed, failed, broken); err != nil {
		return err
	}
	if failed+broken > 0 {
		return &program.ExitError{Code: program.ExitToolError}
	}
	return nil
}
