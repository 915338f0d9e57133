package settings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// TrustAnswer is the JSON output of trust and untrust.
type TrustAnswer struct {
	Dir   string       `json:"folder"`
	State trust.State  `json:"state"`
	Entry *trust.Entry `json:"entry,omitempty"` // the deciding entry
	File  string       `json:"file"`

	Powers  []settings.Power `json:"powers,omitempty"`  // abilities of the project as a result
	Outside []string         `json:"outside,omitempty"` // approved directories outside of the project
}

// trustListing is the JSON output for an entry.
type trustListing struct {
	trust.Entry
	Decides bool `json:"decides"` // for the target directory
}

// TrustCommand returns the fettle trust command.
func TrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var forget bool
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [PATH]",
		Short: "Mark a directory as trusted",
		Long: `Marks a directory as trusted, by default the target directory. The command first
lists on stderr the abilities of the project as a result, one item per line: settings,
variables, rules, hooks, servers, commands, agents, skills, and keys of git's
configuration by which git may run a program. At a terminal it asks
for confirmation, unless --yes is given. Without a terminal it does not ask: running
the command is the confirmation.

Directories outside of the project that the project includes need a separate
approval: a second question, or --outside. Directories without approval are ignored,
also those that the project adds later.

Trust applies to all subdirectories without an entry of their own. A directory with
the name of a subcommand is given as ./list.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state := trust.Trusted
			if forget {
				state = trust.Undecided
			}
			return recordTrust(cmd.Context(), p, g, args, state, o)
		},
		ValidArgsFunction: program.CompleteDirectory,
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "remove the entry of the directory")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "trust the directory without confirmation")
	cmd.Flags().BoolVar(&o.outside, "outside", false, "also approve the directories outside of the project that it includes")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.AddCommand(trustListCommand(p, g))
	return cmd
}

// UntrustCommand returns the fettle untrust command.
func UntrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "untrust [PATH]",
		Short: "Mark a directory as untrusted",
		Long: `Marks a directory as untrusted, by default the target directory: its rules may
deny and ask but not allow, its instruction files are not sent to the model, git
commands need approval, and approval mode yolo is refused.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return recordTrust(cmd.Context(), p, g, args, trust.Untrusted, trustOptions{asJSON: asJSON})
		},
		ValidArgsFunction: program.CompleteDirectory,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func trustListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the recorded entries and the one that decides for the target directory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listTrust(cmd.Context(), p, g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// trustOptions are the options of fettle trust.
type trustOptions struct {
	yes     bool // confirmed
	outside bool // directories outside of the project are approved
	asJSON  bool
}

// recordTrust records a state, and prints the effective state and its reason.
func recordTrust(ctx context.Context, p *program.Program, g *program.Flags, args []string, state trust.State, o trustOptions) error {
	store, err := openTrust(p, g)
	if err != nil {
		return err
	}
	dir := g.Cwd
	if len(args) > 0 {
		dir = args[0]
		if dir == "" {
			return program.UsageError("The path of the directory is empty.", "Give a path, or none for the target directory.")
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(g.Cwd, dir)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return program.TrustFailure(err)
	}
	powers, approved, err := agreeToPowers(ctx, p, g, dir, state, o)
	if err != nil {
		return err
	}
	if err := store.Set(ctx, dir, state); err != nil {
		return program.TrustFailure(err)
	}
	if err := userfiles.Approve(ctx, g, dir, powers, approved); err != nil {
		return program.TrustFailure(err)
	}
	now, entry, err := store.Decide(ctx, dir)
	if err != nil {
		return program.TrustFailure(err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if state == trust.Trusted && holdsHome(dir) {
		p.PrintError(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("Everything below %s is now trusted, including files added later.", dir),
			"Trust single projects instead: fettle trust --forget undoes this."))
	}
	if now == trust.Trusted && state == trust.Trusted {
		userfiles.ApproveHooksOf(ctx, p, g, dir)
	}
	if o.asJSON {
		answer := TrustAnswer{Dir: dir, State: now, File: store.Path(), Powers: powers, Outside: approved}
		if entry.Path != "" {
			answer.Entry = &entry
		}
		return program.PrintJSON(p.Out, answer)
	}
	_, err = fmt.Fprintf(p.Out, "%s is %s%s.\n%s\n", display.Printable(dir), now, display.Printable(because(store, entry)), meaning(now))
	return err
}

// listTrust prints the entries and marks the one that decides here.
func listTrust(ctx context.Context, p *program.Program, g *program.Flags, asJSON bool) error {
	store, err := openTrust(p, g)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(g.Cwd)
	if err != nil {
		return program.TrustFailure(err)
	}
	entries, err := store.List(ctx)
	if err != nil {
		return program.TrustFailure(err)
	}
	now, deciding, err := store.Decide(ctx, dir)
	if err != nil {
		return program.TrustFailure(err)
	}
	if asJSON {
		list := make([]trustListing, 0, len(entries))
		for _, e := range entries {
			list = append(list, trustListing{e, e == deciding})
		}
		return program.PrintJSON(p.Out, list)
	}
	for _, e := range entries {
		mark, note := ' ', ""
		if e == deciding {
			mark = '*'
		}
		if e.Directory != e.Path {
			note = fmt.Sprintf("  (recorded as %s of %s)", e.Value, e.Path)
		}
		if _, err := fmt.Fprintf(p.Out, "%c %-9s  %s%s\n", mark, e.State, display.Printable(e.Directory), display.Printable(note)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(p.Out, "%s is %s%s.\n", display.Printable(dir), now, display.Printable(because(store, deciding))); err != nil {
		return err
	}
	approved, err := config.ApprovedOutside(userfiles.ProjectIn(g, dir))
	if err != nil {
		return program.TrustFailure(err)
	}
	if len(approved) > 0 {
		_, err = fmt.Fprintf(p.Out, "Its project may include these directories outside of it: %s.\n", display.Printable(strings.Join(approved, ", ")))
	}
	return err
}

// because names the deciding entry.
func because(store *trust.Store, e trust.Entry) string {
	if e.Path == "" {
		return ": no entry in " + store.Path()
	}
	return fmt.Sprintf(", by entry %s of %s, line %d", e.Path, store.Path(), e.Line)
}

// meaning explains the effect of a state.
func meaning(s trust.State) string {
	switch s {
	case trust.Trusted:
		return "Its policies, hooks and servers apply, its settings and .env files are used, and approval mode yolo is available."
	case trust.Untrusted:
		return "Its policies may deny and ask but not allow; its hooks and servers are ignored, its instruction files are not given to the model, " +
			"git commands need approval, and approval mode yolo is refused."
	case trust.Undecided:
	}
	return "Its policies may deny and ask but not allow; its hooks and servers are ignored. Your own settings apply."
}

// openTrust opens the trust store. It reports a variable that overrides the store. An
// invalid variable is an error, as in a session.
func openTrust(p *program.Program, g *program.Flags) (*trust.Store, error) {
	store, names, err := program.OpenTrust(g)
	if err != nil {
		return nil, err
	}
	for _, name := range names.TrustVariables {
		state, given, err := trust.FromEnv(os.Getenv(name))
		if err != nil {
			return nil, program.TrustFailure(fault.Wrap(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s is invalid: %s", name, fault.Line(err)), "", err))
		}
		if given {
			p.PrintError(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s overrides the recorded trust: the target directory is %s.", name, state),
				"Unset it to use the recorded trust."))
			break
		}
	}
	return store, nil
}

// holdsHome reports whether a directory is the home directory of the user or contains
// it.
func holdsHome(dir string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	rel, err := filepath.Rel(dir, home)
	return err == nil && filepath.IsLocal(rel)
}
