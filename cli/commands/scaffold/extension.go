package scaffold

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// newAnswer is the JSON output of commands that create files.
type newAnswer struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
	Next  []string `json:"next,omitempty"` // the next steps, in sentences
}

// ExtensionsCommand returns the fettle extensions new command.
func ExtensionsCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionSkeletonCommand(p, g, "new PATH [TEMPLATE]", "Create an extension in a new directory", "fettle extensions new ./my-extension mcp-server")
}

func newExtensionCommand(p *program.Program, g *program.Flags) *cobra.Command {
	return extensionSkeletonCommand(p, g, "extension PATH [TEMPLATE]", "Create an extension in a new directory", "fettle new extension ./my-extension mcp-server")
}

func extensionSkeletonCommand(p *program.Program, g *program.Flags, use, short, example string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: `Creates the skeleton of an extension in a directory with the name of the
extension. Existing files are not changed. A TEMPLATE adds an example of one of the
parts of an extension: ` + strings.Join(extensionstore.Templates(), ", ") + `.`,
		Example: "  " + example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return program.UsageError("The path of the new extension is required, and at most a template.", "As in "+example+".")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			names, _ := layout.Named(g.Layout) // the flag accepts no other name
			k := extensionstore.Skeleton{Dir: program.Under(g, args[0]), ContextFile: names.ContextFile}
			if names.Name == layout.Gemini().Name {
				k.Manifest = "gemini-extension.json"
			}
			if len(args) == 2 {
				k.Template = args[1]
			}
			files, err := extensionstore.New(k)
			if err != nil {
				return newFailure(err)
			}
			next := []string{
				"fettle extensions validate " + args[0] + " checks it.",
				"fettle extensions link " + args[0] + " makes it available to new sessions.",
			}
			return printWritten(p, newAnswer{Name: args[0], Files: files, Next: next}, asJSON)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return extensionstore.Templates(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newFailure returns an error of file creation with its exit code.
func newFailure(err error) error {
	if fault.CodeOf(err) == fault.InvalidToolParams {
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	return err
}

func printWritten(p *program.Program, a newAnswer, asJSON bool) error {
	if asJSON {
		return program.PrintJSON(p.Out, a)
	}
	var b strings.Builder
	for _, file := range a.Files {
		fmt.Fprintf(&b, "wrote %s\n", display.Printable(file))
	}
	for _, next := range a.Next {
		fmt.Fprintf(&b, "%s\n", display.Printable(next))
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}
