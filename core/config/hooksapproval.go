package config

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// mayRunHook decides whether a hook runs, right before it would (EX-11).
func (c *Config) mayRunHook(ctx context.Context, sh *shared, h *hooks.Hook) bool {
	if h.Source != hooks.SourceProject {
		return true
	}
	state, err := c.stateOfHook(ctx, sh, h, !isTrial(ctx))
	if state == HookActive {
		return true
	}
	set := &sh.hooks
	set.mu.Lock()
	told := set.withheld[h]
	set.withheld[h] = true
	set.mu.Unlock()
	if !told {
		c.tellHook(h.Event, h, bus.HookWarning, c.withheld(h, state, err))
	}
	return false
}

// withheld says why a project's hook does not run.
func (c *Config) withheld(h *hooks.Hook, state HookState, err error) string {
	const look = " Look at it, then run fettle hooks trust."
	switch {
	case err != nil:
		text := err.Error()
		if f := fault.As(err); f != nil {
			text = f.Line()
		}
		return "The project's hook at " + h.Place() + " does not run, as nobody can tell whether it has changed: " + text
	case state == HookChanged && c.params().TrustInherited && !c.hooksSeen():
		return "The project's hook at " + h.Place() + " does not run, as what is trusted is a folder above, and nobody has approved of this project's hooks." + look
	case state == HookChanged:
		return "The project's hook at " + h.Place() + " is new or has changed since the project's hooks were approved, and does not run." + look
	case c.params().Trust != trust.Trusted:
		return "The project's hook at " + h.Place() + " does not run, as the folder is not trusted. Look at it, then run fettle trust."
	}
	return "The project's hook at " + h.Place() + " does not run: commands are confined, and could write what it runs. Put it into your own hooks."
}

// HookState says whether a hook runs.
type HookState string

// The states.
const (
	HookActive    HookState = "active"
	HookUnmatched HookState = "unmatched" // its matcher matches nothing that there is, so that it never runs
	HookDisabled  HookState = "disabled"  // by hooksConfig.disabled
	HookUntrusted HookState = "untrusted" // the project's folder is not trusted, or commands are confined
	HookChanged   HookState = "changed"   // it is new or changed since the project's hooks were approved
)

// stateOfHook says whether a hook runs. With record, those of a project of which
// none was seen before are recorded as approved, as their folder is trusted.
func (c *Config) stateOfHook(ctx context.Context, sh *shared, h *hooks.Hook, record bool) (HookState, error) {
	p, set := c.params(), &sh.hooks
	runner := set.runner.Load()
	switch {
	case runner.Disabled(h):
		return HookDisabled, nil
	case h.Source != hooks.SourceProject:
		return HookActive, nil
	case p.Trust != trust.Trusted, p.Commands.Confinement.Kind != process.Unconfined:
		return HookUntrusted, nil
	case p.Hooks.TrustAll:
		return HookActive, nil
	case set.approvals == nil:
		return HookUntrusted, noHomeForHooks()
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	approved, err := set.approvals.Of(set.project)
	if err != nil {
		return HookChanged, err
	}
	fingerprint, err := hooks.FingerprintOf(h, c.hookProject(sh))
	switch {
	case err != nil:
		return HookChanged, err
	case approved.Has(fingerprint.Sum):
		return HookActive, nil
	case approved.Seen, p.TrustInherited:
		return HookChanged, nil
	case !record:
		return HookActive, nil
	}
	names, err := c.recordHooks(ctx, sh)
	if err != nil {
		return HookChanged, err
	}
	c.tellHook("", nil, bus.HookInfo, "As its folder is trusted, the hooks of this project run: "+strings.Join(names, ", ")+
		". One that is new or changed from now on runs once you have approved it with fettle hooks trust, which tells what is looked at.")
	return HookActive, nil
}

// hooksSeen reports whether something is recorded of the project's hooks.
func (c *Config) hooksSeen() bool {
	_, sh := c.current()
	if sh == nil || sh.hooks.approvals == nil {
		return false
	}
	approved, err := sh.hooks.approvals.Of(sh.hooks.project)
	return err == nil && approved.Seen
}

// hookProject is where hooks run.
func (c *Config) hookProject(sh *shared) hooks.Project {
	p := hooks.Project{Folder: sh.workspace.Target(), Settings: c.params().Layout.Dir, Variables: c.hookVariables(sh)}
	if home, err := os.UserHomeDir(); err == nil {
		p.Variables["HOME"] = home
	}
	return p
}

// recordHooks records the hooks of the project as they are now, and returns their
// names; those that nobody can vouch for are left out. sh.hooks.mu is held.
func (c *Config) recordHooks(ctx context.Context, sh *shared) (names []string, err error) {
	set := &sh.hooks
	fingerprints := map[string]string{}
	for _, h := range set.runner.Load().Hooks() {
		if h.Source != hooks.SourceProject {
			continue
		}
		fingerprint, err := hooks.FingerprintOf(h, c.hookProject(sh))
		if err != nil {
			c.params().Logger.Warn("hooks", slog.String("hook", h.Place()), slog.Any("error", err))
			continue
		}
		name := cmp.Or(h.Name, set.shown[h])
		fingerprints[fingerprint.Sum] = string(h.Event) + " " + name
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, set.approvals.Record(ctx, set.project, fingerprints)
}

// ApproveHooks records the hooks of the project, as they are now, as ones that the
// person has approved of, and returns their names. They run where the folder is
// trusted. Where there are none, that is recorded: those that come later are to be
// approved. Errors are of code not_initialized, invalid_config, file_write_failure
// or cancelled.
func (c *Config) ApproveHooks(ctx context.Context) ([]string, error) {
	sh, err := c.services("ApproveHooks")
	if err != nil {
		return nil, err
	}
	set := &sh.hooks
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.approvals == nil {
		return nil, noHomeForHooks()
	}
	set.withheld = map[*hooks.Hook]bool{}
	return c.recordHooks(ctx, sh)
}

func noHomeForHooks() error {
	return fault.New(fault.InvalidConfig, "config.hooks", "There is no home folder, where approved hooks are recorded.", "Set HOME.")
}

// HookListing is a hook with what becomes of it.
type HookListing struct {
	*hooks.Hook
	Shown string // its command, without secrets that settings have put into it
	State HookState
	Note  string // why it does not run; "": it does, or State says it
	// Vouched is what an approval of a project's hook covers. nil: the hook is none,
	// or nobody can vouch for it.
	Vouched *hooks.Fingerprint
}

// Hooks lists the hooks in the order in which they run. They must not be changed.
// The error is of code not_initialized.
func (c *Config) Hooks(ctx context.Context) ([]HookListing, error) {
	sh, err := c.services("Hooks")
	if err != nil {
		return nil, err
	}
	var all []HookListing
	matchable := c.matchable()
	for _, h := range sh.hooks.runner.Load().Hooks() {
		state, err := c.stateOfHook(ctx, sh, h, false)
		l := HookListing{Hook: h, State: state}
		if state == HookUntrusted || state == HookChanged {
			l.Note = c.withheld(h, state, err)
		}
		if why := matchable.unmatched(h); why != "" && state == HookActive {
			l.State, l.Note = HookUnmatched, why
		}
		if h.Source == hooks.SourceProject {
			if found, err := hooks.FingerprintOf(h, c.hookProject(sh)); err == nil {
				l.Vouched = &found
			}
		}
		sh.hooks.mu.Lock()
		l.Shown = sh.hooks.shown[h]
		sh.hooks.mu.Unlock()
		all = append(all, l)
	}
	return all, nil
}

// HookProblems returns what is wrong with definitions of hooks, and which never run as
// their matchers match no tool that is known now. The error is of
// code not_initialized.
func (c *Config) HookProblems() ([]fault.Problem, error) {
	sh, err := c.services("HookProblems")
	if err != nil {
		return nil, err
	}
	sh.hooks.mu.Lock()
	problems := slices.Clone(sh.hooks.problems)
	sh.hooks.mu.Unlock()
	all := sh.hooks.runner.Load().Hooks()
	if len(all) == 0 {
		return problems, nil
	}
	matchable := c.matchable()
	for _, h := range all {
		// Of other events it was reported where the file was read.
		if why := matchable.unmatched(h); why != "" && (h.Event.OfTools() || h.Path == "") {
			problems = append(problems, fault.Problem{Path: h.Path, Line: h.Line, Message: why + " The hook " + h.Label() + " never runs."})
		}
	}
	return problems, nil
}
