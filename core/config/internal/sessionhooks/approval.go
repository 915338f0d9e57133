package sessionhooks

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
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
)

// mayRun decides whether a hook runs, directly before its run.
func (s *Set) mayRun(ctx context.Context, h *hooks.Hook) bool {
	if h.Source != hooks.SourceProject {
		return true
	}
	state, err := s.stateOf(ctx, h, !isTrial(ctx))
	if state == hookresult.Active {
		return true
	}
	s.mu.Lock()
	reported := s.withheld[h]
	if s.withheld == nil {
		s.withheld = make(map[*hooks.Hook]bool)
	}
	s.withheld[h] = true
	s.mu.Unlock()
	if !reported {
		s.tell(bus.HookMessage{Event: string(h.Event), Level: bus.HookWarning, Text: s.reason(h, state, err)}, h)
	}
	return false
}

// reason returns the reason why a project's hook does not run.
func (s *Set) reason(h *hooks.Hook, state hookresult.State, err error) string {
	const look = " Check it, then run fettle hooks trust."
	switch {
	case err != nil:
		text := err.Error()
		if f := fault.As(err); f != nil {
			text = f.Line()
		}
		return "The project's hook at " + h.Place() + " does not run, because changes of it cannot be detected: " + text
	case state == hookresult.Changed && s.o.Inherited && !s.seen():
		return "The project's hook at " + h.Place() + " does not run: only a parent directory is trusted, and this project's hooks are not approved." + look
	case state == hookresult.Changed:
		return "The project's hook at " + h.Place() + " is new or has changed since the project's hooks were approved, and does not run." + look
	case !s.o.Trusted:
		return "The project's hook at " + h.Place() + " does not run, because the directory is not trusted. Check it, then run fettle trust."
	}
	return "The project's hook at " + h.Place() + " does not run: commands are confined, but could write the files that it runs. Move it into your own hooks."
}

// stateOf returns the state of a hook. With record, the first hooks seen of a
// project are recorded as approved, because their directory is trusted.
func (s *Set) stateOf(ctx context.Context, h *hooks.Hook, record bool) (hookresult.State, error) {
	switch {
	case s.runner.Load().Disabled(h):
		return hookresult.Disabled, nil
	case h.Source != hooks.SourceProject:
		return hookresult.Active, nil
	case !s.o.Trusted, s.o.Confined:
		return hookresult.Untrusted, nil
	case s.o.TrustAll:
		return hookresult.Active, nil
	case s.approvals == nil:
		return hookresult.Untrusted, noHome()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	approved, err := s.approvals.Of(s.project)
	if err != nil {
		return hookresult.Changed, err
	}
	fingerprint, err := hookrun.FingerprintOf(h, s.where())
	switch {
	case err != nil:
		return hookresult.Changed, err
	case approved.Has(fingerprint.Sum):
		return hookresult.Active, nil
	case approved.Seen, s.o.Inherited:
		return hookresult.Changed, nil
	case !record:
		return hookresult.Active, nil
	}
	names, err := s.record(ctx)
	if err != nil {
		return hookresult.Changed, err
	}
	s.tell(bus.HookMessage{Level: bus.HookInfo, Text: "Because its directory is trusted, the hooks of this project run: " + strings.Join(names, ", ") +
		". A hook that is added or changed later runs only after you approve it with fettle hooks trust, which names the files to check."}, nil)
	return hookresult.Active, nil
}

// seen reports whether the project's hooks have a record.
func (s *Set) seen() bool {
	if s.approvals == nil {
		return false
	}
	approved, err := s.approvals.Of(s.project)
	return err == nil && approved.Seen
}

// where returns the project of the hooks.
func (s *Set) where() hookrun.Project {
	p := hookrun.Project{Dir: s.o.Workspace.Target(), Settings: s.o.Layout.Dir, Variables: s.variables()}
	if home, err := os.UserHomeDir(); err == nil {
		p.Variables["HOME"] = home
	}
	return p
}

// record records the current hooks of the project, and returns their names; hooks
// that cannot be approved are omitted. The caller holds s.mu.
func (s *Set) record(ctx context.Context) (names []string, err error) {
	fingerprints := map[string]string{}
	for _, h := range s.runner.Load().Hooks() {
		if h.Source != hooks.SourceProject {
			continue
		}
		fingerprint, err := hookrun.FingerprintOf(h, s.where())
		if err != nil {
			s.o.Logger.Warn("hooks", slog.String("hook", h.Place()), slog.Any("error", err))
			continue
		}
		name := cmp.Or(h.Name, s.shown[h])
		fingerprints[fingerprint.Sum] = string(h.Event) + " " + name
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, s.approvals.Record(ctx, s.project, fingerprints)
}

// Approve records the current hooks of the project as approved, and returns their
// names. Errors have code invalid_config, file_write_failure or cancelled.
func (s *Set) Approve(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.approvals == nil {
		return nil, noHome()
	}
	s.withheld = nil
	return s.record(ctx)
}

func noHome() error {
	return fault.New(fault.InvalidConfig, "config.hooks", "There is no home directory, in which approved hooks are recorded.", "Set HOME.")
}

// List returns the hooks in the order in which they run.
func (c *Conversation) List(ctx context.Context) []hookresult.Listing {
	var all []hookresult.Listing
	s, matchable := c.set, c.matchable()
	for _, h := range s.runner.Load().Hooks() {
		state, err := s.stateOf(ctx, h, false)
		l := hookresult.Listing{Hook: h, State: state}
		if state == hookresult.Untrusted || state == hookresult.Changed {
			l.Note = s.reason(h, state, err)
		}
		if why := matchable.unmatched(h); why != "" && state == hookresult.Active {
			l.State, l.Note = hookresult.Unmatched, why
		}
		if h.Source == hooks.SourceProject {
			if found, err := hookrun.FingerprintOf(h, s.where()); err == nil {
				l.Approved = &found
			}
		}
		s.mu.Lock()
		l.Shown = s.shown[h]
		s.mu.Unlock()
		all = append(all, l)
	}
	return all
}

// Problems returns the problems in definitions of hooks, including hooks that
// never run.
func (c *Conversation) Problems() []fault.Problem {
	c.set.mu.Lock()
	problems := slices.Clone(c.set.problems)
	c.set.mu.Unlock()
	all := c.set.runner.Load().Hooks()
	if len(all) == 0 {
		return problems
	}
	matchable := c.matchable()
	for _, h := range all {
		// For other events it was reported when the file was read.
		if why := matchable.unmatched(h); why != "" && (hookrun.OfTools(h.Event) || h.Path == "") {
			problems = append(problems, fault.Problem{Path: h.Path, Line: h.Line, Message: why + " The hook " + h.Label() + " never runs."})
		}
	}
	return problems
}
