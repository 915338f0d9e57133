package extensions

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// installAnswer is the JSON output of install and link.
type installAnswer struct {
	Name    string                 `json:"name"`
	Version string                 `json:"version"`
	Path    string                 `json:"path"` // of its files
	Source  string                 `json:"source"`
	Type    extensions.InstallType `json:"type"`
}

func extensionsInstallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var r extensionstore.InstallRequest
	var consent, asJSON bool
	cmd := &cobra.Command{
		Use:   "install PATH-OR-URL",
		Short: "Install an extension or a plugin from a directory, an archive or a git repository",
		Long: `Copies an extension from a directory, or fetches it from a Git repository, into
your extensions directory. The command first shows the abilities of the extension and
asks for consent, unless --consent is given. Then it asks for the values of the
extension's settings. If any step fails, nothing is installed.

The source may be a plugin of Claude Code, a marketplace of such plugins (with
--plugin; fettle extensions marketplace lists them), or an archive (.zip, .tar.gz).

A repository is an address with https://, http://, ssh://, sso://, file:/// or
git@HOST:, or github:OWNER/REPOSITORY or gitlab:OWNER/REPOSITORY. Its Git hooks do
not run, its submodules are not fetched, and git asks for no password.`,
		Example: `  fettle extensions install ./my-extension
  fettle extensions install https://example.org/tools/shelf.git --ref v1.2.0`,
		Args: program.ExactlyOne("The directory or address of the extension is missing.", "Example: fettle extensions install ./my-extension."),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Source, r.Environ = from(g, args[0]), os.Environ()
			return installsExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				user, done := newInstaller(p, consent)
				defer done()
				e, err := store.Install(cmd.Context(), r, user)
				if err != nil {
					return err
				}
				user.printMissing(e.Name)
				return printInstalled(p, e, "is installed in", asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Ref, "ref", "", "branch, tag or full commit `hash` of the repository (default: its default branch)")
	f.StringVar(&r.Plugin, "plugin", "", "`name` of a plugin, if the source is a marketplace of Claude Code")
	f.BoolVar(&r.AutoUpdate, "auto-update", false, "record that automatic updates are allowed; no command uses this yet")
	f.BoolVar(&r.PreRelease, "pre-release", false, "record that pre-releases are allowed; --ref selects the fetched version")
	f.BoolVar(&consent, "consent", false, "consent to the abilities of the extension")
	f.BoolVar(&r.SkipSettings, "skip-settings", false, "do not ask for the values of its settings")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func extensionsLinkCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var consent, asJSON bool
	cmd := &cobra.Command{
		Use:   "link PATH",
		Short: "Install an extension without copying its files",
		Long: `Installs the extension in a directory without copying it, for the development of
an extension: changes take effect in the next session. The command shows the
abilities of the extension and asks for consent, as install does.`,
		Args: program.ExactlyOne("The directory of the extension is missing.", "Example: fettle extensions link ./my-extension."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return installsExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				user, done := newInstaller(p, consent)
				defer done()
				e, err := store.Link(cmd.Context(), from(g, args[0]), user)
				if err != nil {
					return err
				}
				return printInstalled(p, e, "is linked to", asJSON)
			})
		},
		ValidArgsFunction: program.CompleteDirectory,
	}
	cmd.Flags().BoolVar(&consent, "consent", false, "consent to the abilities of the extension")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// from returns a source relative to --cwd if it is a path; an address is unchanged.
func from(g *program.Flags, source string) string {
	if moved := program.Under(g, source); g.Cwd != "" && program.Exists(moved) {
		return moved
	}
	return source
}

func printInstalled(p *program.Program, e extensions.Extension, did string, asJSON bool) error {
	if asJSON {
		return program.PrintJSON(p.Out, installAnswer{e.Name, e.Version, e.Path, e.Install.Source, e.Install.Type})
	}
	_, err := fmt.Fprintf(p.Out, "%s %s %s %s.\n", display.Line(e.Name), display.Line(e.Version), did, display.Printable(e.Path))
	return err
}
