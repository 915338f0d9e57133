package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// OpenTrust returns the person's store in the layout of the flags.
func OpenTrust(g *Flags) (*trust.Store, layout.Layout, error) {
	names, _ := layout.Named(g.Layout) // the flag takes no other name
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, names, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
			"There is no home directory, where trust is recorded.", "Set HOME.", err)}
	}
	return trust.Open(filepath.Join(home, names.Dir, trustFile)), names, nil
}

// trustFile is the name of the file in the user's settings directory.
const trustFile = "trustedFolders.json"

// TrustFailure gives an error of the store its exit code.
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

// TrustOf says whether the session's directories, the target first, are trusted: by
// the environment, else by what is recorded. One that is untrusted makes the
// session so; else the target decides, as only its rules are read.
func TrustOf(ctx context.Context, g *Flags, folders []string) (trust.State, error) {
	store, names, noHome := OpenTrust(g)
	for _, variable := range names.TrustVariables {
		state, given, err := trust.FromEnv(os.Getenv(variable))
		if err != nil {
			return trust.Undecided, fault.Wrap(fault.InvalidConfig, "cli", fmt.Sprintf("The variable %s cannot be used: %s", variable, fault.Line(err)), "", err)
		}
		if given {
			return state, nil
		}
	}
	state := trust.Undecided
	for i, folder := range folders {
		if noHome != nil {
			break
		}
		recorded, _, err := store.Decide(ctx, folder)
		if err != nil {
			return trust.Undecided, err
		}
		if i == 0 || recorded == trust.Untrusted {
			state = recorded
		}
	}
	if state == trust.Undecided && g.skipTrust {
		state = trust.Trusted
	}
	return state, nil
}

// recordedTrust says what is recorded of directories above the session's, of which
// flags and variables say nothing. What cannot be read is not trusted.
func recordedTrust(g *Flags) func(context.Context, string) (trusted, undecided bool) {
	return func(ctx context.Context, folder string) (trusted, undecided bool) {
		store, _, err := OpenTrust(g)
		if err != nil {
			return false, true
		}
		state, _, err := store.Decide(ctx, folder)
		return err == nil && state == trust.Trusted, err == nil && state == trust.Undecided
	}
}

// trustedOnce reports whether the directory is trusted for this run alone: by a
// variable of the environment, or by --skip-trust where nothing is recorded.
func trustedOnce(ctx context.Context, g *Flags, folder string) bool {
	store, names, noHome := OpenTrust(g)
	for _, variable := range names.TrustVariables {
		if state, given, err := trust.FromEnv(os.Getenv(variable)); err == nil && given {
			return state == trust.Trusted
		}
	}
	if !g.skipTrust || noHome != nil {
		return g.skipTrust
	}
	state, _, err := store.Decide(ctx, folder)
	return err == nil && state == trust.Undecided
}

// trustedAbove reports whether what decides about the directory is what is recorded of
// one above it.
func trustedAbove(ctx context.Context, g *Flags, folder string) bool {
	store, _, noHome := OpenTrust(g)
	if noHome != nil {
		return false
	}
	_, entry, err := store.Decide(ctx, folder)
	if err != nil || entry.Path == "" {
		return false
	}
	named, err := os.Stat(entry.Folder)
	if err != nil {
		return false
	}
	this, err := os.Stat(folder)
	return err == nil && !os.SameFile(named, this)
}

// SwitchNotices say which settings of the project switch tools, servers, agents or
// skills off.
func SwitchNotices(c *config.Config) []string {
	switches, err := c.ProjectSwitches()
	if err != nil || len(switches) == 0 {
		return nil
	}
	words := make([]string, len(switches))
	for i, s := range switches {
		words[i] = s.String()
	}
	return []string{"The project switches tools off: " + strings.Join(words, ", ") + "."}
}
