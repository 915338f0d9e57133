package extensions

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

func extensionsMarketplaceCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var r extensionstore.InstallRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "marketplace PATH-OR-URL",
		Short: "List the plugins of a marketplace",
		Long: `Lists the plugins of a marketplace of Claude Code, which is a directory or a Git
repository. fettle extensions install PATH-OR-URL --plugin NAME installs one.`,
		Args: program.ExactlyOne("The directory or address of the marketplace is missing.", "Example: fettle extensions marketplace github:OWNER/REPOSITORY."),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Source, r.Environ = from(g, args[0]), os.Environ()
			return installsExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				all, err := store.Marketplace(cmd.Context(), r)
				if err != nil {
					return err
				}
				if asJSON {
					return program.PrintJSON(p.Out, all)
				}
				return printMarketplace(p.Out, all)
			})
		},
		ValidArgsFunction: program.CompleteDirectory,
	}
	cmd.Flags().StringVar(&r.Ref, "ref", "", "branch, tag or full commit `hash` of the repository (default: its default branch)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printMarketplace(w io.Writer, all []extensionstore.MarketplacePlugin) error {
	width := 0
	for _, e := range all {
		width = max(width, len(display.Line(e.Name)))
	}
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%-*s  %s\n", width, display.Line(e.Name), escape.Clip(display.FirstSentence(display.Line(e.Description)), display.ListingWidth))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
