package settings

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/services/process"
)

// diagnosis is the JSON output of doctor.
type diagnosis struct {
	Features []process.Feature `json:"features"`
	Sandbox  string            `json:"sandbox"` // effect of tools.sandbox auto: namespaces, landlock or none
	Auto     string            `json:"auto"`    // effect of the approval mode auto: confines, or autoEdit
	Summary  []string          `json:"summary"`
}

// DoctorCommand returns the fettle doctor command.
func DoctorCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show the support of this machine for confined commands",
		Long: `Tests the features of this machine that fettle can use: namespaces, landlock and
seccomp confine commands; leases and exchange protect changes of files in the
target directory. Then prints what follows for tools.sandbox and the approval mode
auto. The exit code is 0, whatever the machine supports.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := diagnose(cmd.Context(), cmp.Or(g.Cwd, "."))
			if asJSON {
				return program.PrintJSON(p.Out, d)
			}
			w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
			for _, f := range d.Features {
				works := "no"
				if f.Works {
					works = "yes"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, works, display.Line(f.Detail))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, line := range d.Summary {
				fmt.Fprintln(p.Out, line)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func diagnose(ctx context.Context, dir string) diagnosis {
	d := diagnosis{Features: process.Features(ctx, dir), Sandbox: "none", Auto: "autoEdit"}
	works := map[string]bool{}
	for _, f := range d.Features {
		works[f.Name] = f.Works
	}
	switch {
	case works["namespaces"]:
		d.Sandbox, d.Auto = "namespaces", "confines"
		d.Summary = []string{
			"tools.sandbox auto confines commands by namespaces: protected paths are read-only, the home directory is hidden, the network is 127.0.0.1 only.",
			"The approval mode auto runs confined commands without approval.",
		}
	case works["landlock"]:
		d.Sandbox = "landlock"
		d.Summary = []string{
			"tools.sandbox auto confines commands by landlock: they write in the workspace only, protected paths included.",
			"The approval mode auto is the same as auto_edit, because protected paths cannot be kept.",
		}
	default:
		d.Summary = []string{
			"tools.sandbox auto confines no command.",
			"The approval mode auto is the same as auto_edit.",
		}
	}
	return d
}
