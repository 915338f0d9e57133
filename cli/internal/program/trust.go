package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// OpenTrust returns the user's trust store in the layout of the flags.
func OpenTrust(g *Flags) (*trust.Store, layout.Layout, error) {
	names, _ := layout.Named(g.Layout) // the flag accepts no other name
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, names, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
			"There is no home directory to record trust in.", "Set HOME.", err)}
	}
	return trust.Open(filepath.Join(home, names.Dir, trust.FileName)), names, nil
}

// TrustFailure returns a trust store error with its exit code.
func TrustFailure(err error) error {
	switch fault.CodeOf(err) {
	case fault.InvalidConfig:
		return &ExitError{Code: ExitConfig, Err: err}
	case fault.FileNotFound, fault.PathIsNotADirectory, fault.ReadContentFailure: // of the directory on the command line
		return &ExitError{Code: ExitUsage, Err: err}
	case fault.Cancelled:
		return Interrupted()
	}
	return err
}

// TrustOf returns the trust of the session's directories, the target first: from the
// environment, otherwise from the trust store. One untrusted directory makes the
// session untrusted; otherwise the target decides, because only its rules are read.
func TrustOf(ctx context.Context, g *Flags, dirs []string) (trust.State, error) {
	store, names, noHome := OpenTrust(g)
	if noHome != nil {
		store = nil
	}
	state, err := store.OfSession(ctx, os.Getenv, names.TrustVariables, dirs)
	if err == nil && state == trust.Undecided {
		state = g.once()
	}
	return state, err
}

// recordedTrust looks up the recorded trust of directories above the session's,
// without flags and variables. A directory that cannot be read is not trusted.
func recordedTrust(g *Flags) func(context.Context, string) (trusted, undecided bool) {
	return func(ctx context.Context, dir string) (trusted, undecided bool) {
		store, _, err := OpenTrust(g)
		if err != nil {
			return false, true
		}
		state, _, err := store.Decide(ctx, dir)
		return err == nil && state == trust.Trusted, err == nil && state == trust.Undecided
	}
}

// trustedOnce reports whether the directory is trusted for this run only: by an
// environment variable, or by --skip-trust or an answer of the user if nothing is recorded.
func trustedOnce(ctx context.Context, g *Flags, dir string) bool {
	store, names, noHome := OpenTrust(g)
	for _, variable := range names.TrustVariables {
		if state, given, err := trust.FromEnv(os.Getenv(variable)); err == nil && given {
			return state == trust.Trusted
		}
	}
	if once := g.once().IsTrusted(); !once || noHome != nil {
		return once
	}
	state, _, err := store.Decide(ctx, dir)
	return err == nil && state == trust.Undecided
}

// trustedAbove reports whether the trust of the directory is inherited from a parent
// directory.
func trustedAbove(ctx context.Context, g *Flags, dir string) bool {
	store, _, noHome := OpenTrust(g)
	if noHome != nil {
		return false
	}
	_, entry, err := store.Decide(ctx, dir)
	if err != nil || entry.Path == "" {
		return false
	}
	named, err := os.Stat(entry.Directory)
	if err != nil {
		return false
	}
	this, err := os.Stat(dir)
	return err == nil && !os.SameFile(named, this)
}

// SwitchNotices lists the settings of the project that disable tools, servers, agents
// or skills.
func SwitchNotices(c *config.Config) []string {
	switches, err := c.Settings().ProjectSwitches()
	if err != nil || len(switches) == 0 {
		return nil
	}
	words := make([]string, len(switches))
	for i, s := range switches {
		words[i] = s.String()
	}
	return []string{"The project disables tools: " + strings.Join(words, ", ") + "."}
}
