package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// trustAnswer is what trust and untrust print as JSON.
type trustAnswer struct {
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
	Decides bool `json:"decides"` // for the folder that the tools work in
}

func (p *program) trustCommand(g *globalFlags) *cobra.Command {
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
			return p.recordTrust(cmd.Context(), g, args, state, o)
		},
		ValidArgsFunction: completeFolder,
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "take away what is recorded of the directory")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask whether the directory is trusted")
	cmd.Flags().BoolVar(&o.outside, "outside", false, "approve also of the directories outside of the project that it includes")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.AddCommand(p.trustListCommand(g))
	return cmd
}

func (p *program) untrustCommand(g *globalFlags) *cobra.Command {
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
			return p.recordTrust(cmd.Context(), g, args, trust.Untrusted, trustOptions{asJSON: asJSON})
		},
		ValidArgsFunction: completeFolder,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) trustListCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is recorded, and what decides for the directory that the tools work in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.listTrust(cmd.Context(), g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completeFolder completes the first argument with folders.
func completeFolder(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// trustOptions say how trust is recorded.
type trustOptions struct {
	yes     bool // the question is answered
	outside bool // directories outside of the folder are approved
	asJSON  bool
}

// recordTrust records a state, and tells what holds now and why.
func (p *program) recordTrust(ctx context.Context, g *globalFlags, args []string, state trust.State, o trustOptions) error {
	store, names, err := openTrust(g)
	if err != nil {
		return err
	}
	folder := g.cwd
	if len(args) > 0 {
		folder = args[0]
		if folder == "" {
			return usageError("The path of the directory is empty.", "Give a path, or none for the directory that the tools work in.")
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(g.cwd, folder)
		}
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return trustFailure(err)
	}
	powers, approved, err := p.agreeToPowers(ctx, g, folder, state, o)
	if err != nil {
		return err
	}
	if err := store.Set(ctx, folder, state); err != nil {
		return trustFailure(err)
	}
	if err := approveOutside(ctx, g, folder, approved); err != nil {
		return trustFailure(err)
	}
	now, entry, err := store.Decide(ctx, folder)
	if err != nil {
		return trustFailure(err)
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if state == trust.Trusted && holdsHome(folder) {
		p.complain(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("Everything below %s is trusted now, whatever will be put there.", folder),
			"Trust single projects instead: fettle trust --forget takes this back."))
	}
	if now == trust.Trusted && state == trust.Trusted {
		p.approveHooksOf(ctx, g, folder)
	}
	p.warnOfTrustVariable(names)
	if o.asJSON {
		answer := trustAnswer{Folder: folder, State: now, File: store.Path(), Powers: powers, Outside: approved}
		if entry.Path != "" {
			answer.Entry = &entry
		}
		return printJSON(p.out, answer)
	}
	_, err = fmt.Fprintf(p.out, "%s is %s%s.\n%s\n", printable(folder), now, printable(because(store, entry)), meaning(now))
	return err
}

// listTrust prints the entries, and marks the one that decides here.
func (p *program) listTrust(ctx context.Context, g *globalFlags, asJSON bool) error {
	store, names, err := openTrust(g)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(g.cwd)
	if err != nil {
		return trustFailure(err)
	}
	entries, err := store.List(ctx)
	if err != nil {
		return trustFailure(err)
	}
	now, deciding, err := store.Decide(ctx, folder)
	if err != nil {
		return trustFailure(err)
	}
	p.warnOfTrustVariable(names)
	if asJSON {
		list := make([]trustListing, 0, len(entries))
		for _, e := range entries {
			list = append(list, trustListing{e, e == deciding})
		}
		return printJSON(p.out, list)
	}
	for _, e := range entries {
		mark, note := ' ', ""
		if e == deciding {
			mark = '*'
		}
		if e.Folder != e.Path {
			note = fmt.Sprintf("  (recorded as %s of %s)", e.Value, e.Path)
		}
		if _, err := fmt.Fprintf(p.out, "%c %-9s  %s%s\n", mark, e.State, printable(e.Folder), printable(note)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(p.out, "%s is %s%s.\n", printable(folder), now, printable(because(store, deciding))); err != nil {
		return err
	}
	approved, err := config.ApprovedOutside(projectIn(g, folder))
	if err != nil {
		return trustFailure(err)
	}
	if len(approved) > 0 {
		_, err = fmt.Fprintf(p.out, "Its project may include these directories outside of it: %s.\n", printable(strings.Join(approved, ", ")))
	}
	return err
}

// openTrust returns the person's store in the layout of the flags.
func openTrust(g *globalFlags) (*trust.Store, layout.Layout, error) {
	names, _ := layout.Named(g.layout) // the flag takes no other name
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, names, &exitError{code: exitConfig, err: fault.Wrap(fault.InvalidConfig, "cli",
			"There is no home folder, where trust is recorded.", "Set HOME.", err)}
	}
	return trust.Open(filepath.Join(home, names.Dir, trustFile)), names, nil
}

// trustFile is the name of the file in the user's settings folder.
const trustFile = "trustedFolders.json"

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
func (p *program) warnOfTrustVariable(names layout.Layout) {
	for _, name := range names.TrustVariables {
		state, given, err := trust.FromEnv(os.Getenv(name))
		if err != nil {
			p.complain(fault.Wrap(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s cannot be used: %s", name, lineOf(err)), "", err))
			return
		}
		if given {
			p.complain(fault.New(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s outweighs what is recorded: the folder that the tools work in is %s.", name, state),
				"Unset it to let the file decide."))
			return
		}
	}
}

// holdsHome reports whether a folder is the person's home folder or contains it.
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

// trustFailure gives an error of the store its exit code.
func trustFailure(err error) error {
	switch fault.CodeOf(err) {
	case fault.InvalidConfig:
		return &exitError{code: exitConfig, err: err}
	case fault.FileNotFound, fault.PathIsNotADirectory, fault.ReadContentFailure: // of the folder on the command line
		return &exitError{code: exitUsage, err: err}
	case fault.Cancelled:
		return interrupted()
	}
	return err
}
