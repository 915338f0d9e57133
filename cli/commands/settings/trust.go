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
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// TrustAnswer is what trust and untrust print as JSON.
type TrustAnswer struct {
	Folder string       `json:"folder"`
	State  trust.State  `json:"state"`
	Entry  *trust.Entry `json:"entry,omitempty"` // the one that decides
	File   string       `json:"file"`

	Powers  []settings.Power `json:"powers,omitempty"`  // that its project has for it
	Outside []string         `json:"outside,omitempty"` // directories outside of it that are approved
}

// trustListing is an entry in JSON.
type trustListing struct {
	trust.Entry
	Decides bool `json:"decides"` // for the directory that the tools work in
}

// TrustCommand is fettle trust.
func TrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var forget bool
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [PATH]",
		Short: "Record that a directory is trusted",
		Long: `Records that you trust a directory, by default the one that the tools work in.
First it lists on stderr what the project in it would do then and does not do now,
one power a line: settings, variables, rules, hooks, servers, commands, agents, skills.
At a terminal it asks; --yes agrees beforehand. Without a terminal nothing is asked,
and the command itself is the answer.

Directories outside of the project that it includes need a separate approval: a
second question, or --outside. Without it they are left out, and so
are those that the project names later.

What you record of a directory holds for all below it, unless something else is
recorded there. A directory whose name is a command is given as ./list.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state := trust.Trusted
			if forget {
				state = trust.Undecided
			}
			return recordTrust(cmd.Context(), p, g, args, state, o)
		},
		ValidArgsFunction: program.CompleteFolder,
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "take away what is recorded of the directory")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask whether the directory is trusted")
	cmd.Flags().BoolVar(&o.outside, "outside", false, "approve also of the directories outside of the project that it includes")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.AddCommand(trustListCommand(p, g))
	return cmd
}

// UntrustCommand is fettle untrust.
func UntrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "untrust [PATH]",
		Short: "Record that a directory is not trusted",
		Long: `Records that you do not trust a directory, by default the one that the tools work
in: its own rules may tighten and never allow, its instruction files are not
given to the model, git is asked about, and nothing runs there in the approval
mode yolo.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return recordTrust(cmd.Context(), p, g, args, trust.Untrusted, trustOptions{asJSON: asJSON})
		},
		ValidArgsFunction: program.CompleteFolder,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func trustListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is recorded, and what decides for the directory that the tools work in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listTrust(cmd.Context(), p, g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// trustOptions say how trust is recorded.
type trustOptions struct {
	yes     bool // the question is answered
	outside bool // directories outside of the directory are approved
	asJSON  bool
}

// recordTrust records a state, and tells what holds now and why.
func recordTrust(ctx context.Context, p *program.Program, g *program.Flags, args []string, state trust.State, o trustOptions) error {
	store, names, err := program.OpenTrust(g)
	if err != nil {
		return err
	}
	folder := g.Cwd
	if len(args) > 0 {
		folder = args[0]
		if folder == "" {
			return program.UsageError("The path of the directory is empty.", "Give a path, or none for the directory that the tools work in.")
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(g.Cwd, folder)
		}
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return program.TrustFailure(err)
	}
	powers, approved, err := agreeToPowers(ctx, p, g, folder, state, o)
	if err != nil {
		return err
	}
	if err := store.Set(ctx, folder, state); err != nil {
		return program.TrustFailure(err)
	}
	if err := userfiles.ApproveOutside(ctx, g, folder, approved); err != nil {
		return program.TrustFailure(err)
	}
	now, entry, err := store.Decide(ctx, folder)
	if err != nil {
		return program.TrustFailure(err)
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if state == trust.Trusted && holdsHome(folder) {
		p.Complain(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("Everything below %s is trusted now, whatever will be put there.", folder),
			"Trust single projects instead: fettle trust --forget takes this back."))
	}
	if now == trust.Trusted && state == trust.Trusted {
		userfiles.ApproveHooksOf(ctx, p, g, folder)
	}
	warnOfTrustVariable(p, names)
	if o.asJSON {
		answer := TrustAnswer{Folder: folder, State: now, File: store.Path(), Powers: powers, Outside: approved}
		if entry.Path != "" {
			answer.Entry = &entry
		}
		return program.PrintJSON(p.Out, answer)
	}
	_, err = fmt.Fprintf(p.Out, "%s is %s%s.\n%s\n", display.Printable(folder), now, display.Printable(because(store, entry)), meaning(now))
	return err
}

// listTrust prints the entries, and marks the one that decides here.
func listTrust(ctx context.Context, p *program.Program, g *program.Flags, asJSON bool) error {
	store, names, err := program.OpenTrust(g)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(g.Cwd)
	if err != nil {
		return program.TrustFailure(err)
	}
	entries, err := store.List(ctx)
	if err != nil {
		return program.TrustFailure(err)
	}
	now, deciding, err := store.Decide(ctx, folder)
	if err != nil {
		return program.TrustFailure(err)
	}
	warnOfTrustVariable(p, names)
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
		if e.Folder != e.Path {
			note = fmt.Sprintf("  (recorded as %s of %s)", e.Value, e.Path)
		}
		if _, err := fmt.Fprintf(p.Out, "%c %-9s  %s%s\n", mark, e.State, display.Printable(e.Folder), display.Printable(note)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(p.Out, "%s is %s%s.\n", display.Printable(folder), now, display.Printable(because(store, deciding))); err != nil {
		return err
	}
	approved, err := config.ApprovedOutside(userfiles.ProjectIn(g, folder))
	if err != nil {
		return program.TrustFailure(err)
	}
	if len(approved) > 0 {
		_, err = fmt.Fprintf(p.Out, "Its project may include these directories outside of it: %s.\n", display.Printable(strings.Join(approved, ", ")))
	}
	return err
}

// because names the entry that decides.
func because(store *trust.Store, e trust.Entry) string {
	if e.Path == "" {
		return ": nothing is recorded of it in " + store.Path()
	}
	return fmt.Sprintf(", by the entry %s of %s, line %d", e.Path, store.Path(), e.Line)
}

// meaning says what a state lets happen.
func meaning(s trust.State) string {
	switch s {
	case trust.Trusted:
		return "Its own policies, hooks and servers may allow things, its settings and .env files hold, and the approval mode yolo may be used."
	case trust.Untrusted:
		return "Its own policies may deny and ask, never allow; its hooks and servers are ignored, its instruction files are not given to the model, " +
			"git is asked about, and the approval mode yolo is refused."
	case trust.Undecided:
	}
	return "Its own policies may deny and ask, never allow; its hooks and servers are ignored. What you give fettle yourself holds."
}

// warnOfTrustVariable tells of the variable that outweighs the file, or that
// keeps the tools from being used.
func warnOfTrustVariable(p *program.Program, names layout.Layout) {
	for _, name := range names.TrustVariables {
		state, given, err := trust.FromEnv(os.Getenv(name))
		if err != nil {
			p.Complain(fault.Wrap(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s cannot be used: %s", name, fault.Line(err)), "", err))
			return
		}
		if given {
			p.Complain(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s outweighs what is recorded: the directory that the tools work in is %s.", name, state),
				"Unset it to let the file decide."))
			return
		}
	}
}

// holdsHome reports whether a directory is the person's home directory or contains it.
func holdsHome(folder string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	rel, err := filepath.Rel(folder, home)
	return err == nil && filepath.IsLocal(rel)
}
