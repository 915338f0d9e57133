package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// newAnswer is what commands print as JSON that write new files.
type newAnswer struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
	Next  []string `json:"next,omitempty"` // what is still to be done, in sentences
}

func (p *program) extensionsNewCommand(g *globalFlags) *cobra.Command {
	return p.extensionSkeletonCommand(g, "new PATH [TEMPLATE]", "Begin an extension in a new folder", "fettle extensions new ./my-extension mcp-server")
}

func (p *program) newExtensionCommand(g *globalFlags) *cobra.Command {
	return p.extensionSkeletonCommand(g, "extension PATH [TEMPLATE]", "Begin an extension in a new folder", "fettle new extension ./my-extension mcp-server")
}

func (p *program) extensionSkeletonCommand(g *globalFlags, use, short, example string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: `Writes the skeleton of an extension into a folder, whose name is the
extension's. No file that is there is touched. A TEMPLATE adds an example of what it
may bring: ` + strings.Join(extensions.Templates(), ", ") + `.`,
		Example: "  " + example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usageError("The path of the new extension is needed, and at most a template.", "As in "+example+".")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			names, _ := layout.Named(g.layout) // the flag takes no other name
			k := extensions.Skeleton{Dir: under(g, args[0]), ContextFile: names.ContextFile}
			if names.Name == layout.Gemini().Name {
				k.Manifest = "gemini-extension.json"
			}
			if len(args) == 2 {
				k.Template = args[1]
			}
			files, err := extensions.New(k)
			if err != nil {
				return newFailure(err)
			}
			next := []string{
				"fettle extensions validate " + args[0] + " checks it.",
				"fettle extensions link " + args[0] + " lets the next sessions use it from there.",
			}
			return p.tellWritten(newAnswer{Name: args[0], Files: files, Next: next}, asJSON)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return extensions.Templates(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newFailure gives an error of what writes new files its exit code.
func newFailure(err error) error {
	if fault.CodeOf(err) == fault.InvalidToolParams {
		return &exitError{code: exitUsage, err: err}
	}
	return err
}

func (p *program) tellWritten(a newAnswer, asJSON bool) error {
	if asJSON {
		return printJSON(p.out, a)
	}
	var b strings.Builder
	for _, file := range a.Files {
		fmt.Fprintf(&b, "wrote %s\n", printable(file))
	}
	for _, next := range a.Next {
		fmt.Fprintf(&b, "%s\n", printable(next))
	}
	_, err := fmt.Fprint(p.out, b.String())
	return err
}
