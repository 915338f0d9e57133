// Package contributions keeps the extensions of a session, and what the active ones
// bring to it, each part for its owner.
package contributions

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// Options make [Extensions].
type Options struct {
	Target  string             // directory of the project
	Servers func() servers.Set // those that there are beside extensions'
	// Plans returns the directories below Target in which plans may be written in any case,
	// with slashes, and the one that holds a file for each other directory that has become
	// plan mode's own; "": there is none.
	Plans   func() (folders []string, kept string)
	Secrets func(values ...string) // is told of sensitive values before they are used; nil: nobody is
	Logger  *slog.Logger
}

// Extensions are those of a Config and of those derived from it. The zero value has
// none. It is safe for concurrent use once it is open.
type Extensions struct {
	Changing sync.Mutex // held by who loads them again

	o       *Options
	brought atomic.Pointer[Set]

	mu       sync.Mutex
	store    *extensions.Store
	found    []extensions.Extension
	problems []fault.Problem
	switched map[string]bool // by name, in this session
	plans    string          // where an extension wanted plans at the beginning; "": nowhere
	secrets  []string        // sensitive values of all extensions that there have been
}

// Open says where extensions are, but for Switched, and finds them. The error is of code cancelled.
func (x *Extensions) Open(ctx context.Context, store extensions.Options, o Options) error {
	store.Switched = func(name string) (on, switched bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		on, switched = x.switched[name]
		return on, switched
	}
	x.o = &o
	x.mu.Lock()
	x.store = extensions.Open(store)
	x.mu.Unlock()
	if err := x.Find(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.plans = x.Contributed().plansDir
	return nil
}

// Find reads the extensions that there are now, and keeps what they bring for its
// owners. The error is of code cancelled.
func (x *Extensions) Find(ctx context.Context) error {
	found, problems, err := x.Store().Load(ctx)
	if err != nil {
		return err
	}
	x.noteSecrets(found)
	brought, more := x.bring(found)
	problems = append(problems, more...)
	x.mu.Lock()
	before := x.problems
	x.found, x.problems = found, problems
	x.mu.Unlock()
	x.brought.Store(brought)
	for _, problem := range problems {
		if !slices.Contains(before, problem) {
			x.o.Logger.Warn("extensions", slog.String("problem", problem.String()))
		}
	}
	return nil
}

// Contributed returns what the active extensions bring now, never nil. Who keeps what it
// made of it makes it anew when extensions are loaded again.
func (x *Extensions) Contributed() *Set {
	if brought := x.brought.Load(); brought != nil {
		return brought
	}
	return &Set{}
}

// Store returns the directory of the person's extensions, as this session sees it.
func (x *Extensions) Store() *extensions.Store {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.store
}

// Found returns the extensions that there are, by name, and what is wrong with them.
func (x *Extensions) Found() ([]extensions.Extension, []fault.Problem) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.found), slices.Clone(x.problems)
}

// PlansDir returns where an extension wanted plans at the beginning; "": nowhere.
func (x *Extensions) PlansDir() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.plans
}

// Secrets returns the sensitive values of all extensions that there have been, in the
// order in which they were found.
func (x *Extensions) Secrets() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clip(x.secrets)
}

// Switch has an extension of a name in any case of letters be active or not, from the
// next Find on, and reports whether there is one.
func (x *Extensions) Switch(name string, on bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.found, func(e extensions.Extension) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return false
	}
	switched := maps.Clone(x.switched)
	if switched == nil {
		switched = map[string]bool{}
	}
	switched[x.found[i].Name] = on
	x.switched = switched
	return true
}

// count matches values that occur in any text, as that of a setting MAX_TOKENS.
var count = regexp.MustCompile(`^[0-9]{0,7}$`)

// noteSecrets keeps the sensitive values of extensions from logs and recordings.
func (x *Extensions) noteSecrets(found []extensions.Extension) {
	var added []string
	x.mu.Lock()
	for _, e := range found {
		for _, s := range e.ResolvedSettings {
			value := s.Value.Reveal()
			if s.Sensitive && !count.MatchString(value) && !slices.Contains(x.secrets, value) {
				x.secrets, added = append(x.secrets, value), append(added, value)
			}
		}
	}
	x.mu.Unlock()
	if x.o.Secrets != nil && len(added) > 0 {
		x.o.Secrets(added...)
	}
}
