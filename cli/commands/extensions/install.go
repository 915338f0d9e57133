package extensions

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
)

// installAnswer is what install and link print as JSON.
type installAnswer struct {
	Name    string                 `json:"name"`
	Version string                 `json:"version"`
	Path    string                 `json:"path"` // of its files
	Source  string                 `json:"source"`
	Type    extensions.InstallType `json:"type"`
}

func extensionsInstallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var r extensions.InstallRequest
	var consent, asJSON bool
	cmd := &cobra.Command{
		Use:   "install PATH-OR-URL",
		Short: "Install an extension from a directory or a git repository",
		Long: `Copies an extension from a directory, or fetches it from a git repository, into your
extensions directory. First it shows what the extension will be able to do, and asks;
--consent agrees beforehand. Then it asks for the values of the extension's
settings. Nothing is installed unless all of it works.

A repository is an address that begins with https://, http://, ssh://, sso://,
file:/// or git@HOST:, or is written github:OWNER/REPOSITORY or
gitlab:OWNER/REPOSITORY. No hook of it runs, its submodules are left out, and git
asks nobody for a password.`,
		Example: `  fettle extensions install ./my-extension
  fettle extensions install https://example.org/tools/shelf.git --ref v1.2.0`,
		Args: program.ExactlyOne("The directory or the address of an extension is needed.", "As in fettle extensions install ./my-extension."),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Source, r.Environ = from(g, args[0]), os.Environ()
			return installsExtensions(cmd.Context(), p, g, func(store *extensions.Store) error {
				person, done := newInstaller(p, consent)
				defer done()
				e, err := store.Install(cmd.Context(), r, person)
				if err != nil {
					return err
				}
				person.tellMissing(e.Name)
				return tellInstalled(p, e, "is installed in", asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Ref, "ref", "", "branch, tag or whole commit `hash` of the repository (default: its own choice)")
	f.BoolVar(&r.AutoUpdate, "auto-update", false, "keep with it that it may be updated without being asked for; nothing does so yet")
	f.BoolVar(&r.PreRelease, "pre-release", false, "keep with it that it may be a release before its time; what is fetched is --ref")
	f.BoolVar(&consent, "consent", false, "agree to what it will be able to do")
	f.BoolVar(&r.SkipSettings, "skip-settings", false, "do not ask for the values of its settings")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func extensionsLinkCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var consent, asJSON bool
	cmd := &cobra.Command{
		Use:   "link PATH",
		Short: "Install an extension whose files stay where they are",
		Long: `Makes a directory one of your extensions without copying it, for work on an
extension: what is changed there holds in the next session. It shows what the
extension will be able to do, and asks, as install does.`,
		Args: program.ExactlyOne("The directory of an extension is needed.", "As in fettle extensions link ./my-extension."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return installsExtensions(cmd.Context(), p, g, func(store *extensions.Store) error {
				person, done := newInstaller(p, consent)
				defer done()
				e, err := store.Link(cmd.Context(), from(g, args[0]), person)
				if err != nil {
					return err
				}
				return tellInstalled(p, e, "is linked to", asJSON)
			})
		},
		ValidArgsFunction: program.CompleteFolder,
	}
	cmd.Flags().BoolVar(&consent, "consent", false, "agree to what it will be able to do")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// from is a source as --cwd means it: a path counts from there, an address does
// not.
func from(g *program.Flags, source string) string {
	if moved := program.Under(g, source); g.Cwd != "" && program.Exists(moved) {
		return moved
	}
	return source
}

func tellInstalled(p *program.Program, e extensions.Extension, did string, asJSON bool) error {
	if asJSON {
		return program.PrintJSON(p.Out, installAnswer{e.Name, e.Version, e.Path, e.Install.Source, e.Install.Type})
	}
	_, err := fmt.Fprintf(p.Out, "%s %s %s %s.\n", display.Line(e.Name), display.Line(e.Version), did, display.Printable(e.Path))
	return err
}
