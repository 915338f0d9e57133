// Package contributions manages the extensions of a session and distributes the
// contributions of the active ones to their consumers.
package contributions

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// Options configure [Extensions].
type Options struct {
	Target  string             // directory of the project
	Servers func() servers.Set // the servers other than those of extensions
	// Plans returns the slash-separated directories below Target in which plans
	// may always be written, and the directory of the files that record further
	// plan directories; "": there is none.
	Plans   func() (dirs []string, kept string)
	Secrets func(values ...string) // receives sensitive values before they are used; nil: not called
	Logger  *slog.Logger
}

// Extensions are the extensions of a Config and of those derived from it. The
// zero value is empty. It is safe for concurrent use once it is open.
type Extensions struct {
	Changing sync.Mutex // held during a reload

	o       *Options
	brought atomic.Pointer[Set]

	mu       sync.Mutex
	store    *extensionstore.Store
	found    []extensions.Extension
	problems []fault.Problem
	switched map[string]bool // by name, in this session
	plans    string          // directory of plans set by an extension at the beginning; "": none
	secrets  []string        // sensitive values of all extensions so far
}

// Open sets the locations of extensions, except for Switched, and finds them. The
// error has code cancelled.
func (x *Extensions) Open(ctx context.Context, store extensionstore.Options, o Options) error {
	store.Switched = func(name string) (on, switched bool) {
		x.mu.Lock()
		defer x.mu.Unlock()
		on, switched = x.switched[name]
		return on, switched
	}
	x.o = &o
	x.mu.Lock()
	x.store = extensionstore.Open(store)
	x.mu.Unlock()
	if err := x.Find(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.plans = x.Contributed().plansDir
	return nil
}

// Find reads the current extensions and stores their contributions. The error has
// code cancelled.
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

// Contributed returns the current contributions of the active extensions, never
// nil. A consumer that stores a derived value must renew it when extensions are
// reloaded.
func (x *Extensions) Contributed() *Set {
	if brought := x.brought.Load(); brought != nil {
		return brought
	}
	return &Set{}
}

// Store returns the directory of the user's extensions as seen by this session.
func (x *Extensions) Store() *extensionstore.Store {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.store
}

// Found returns the extensions, sorted by name, and their problems.
func (x *Extensions) Found() ([]extensions.Extension, []fault.Problem) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.found), slices.Clone(x.problems)
}

// PlansDir returns the directory of plans that an extension set at the beginning;
// "": none.
func (x *Extensions) PlansDir() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.plans
}

// Secrets returns the sensitive values of all extensions so far, in the order in
// which they were found.
func (x *Extensions) Secrets() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clip(x.secrets)
}

// Switch activates or deactivates an extension, whose name is compared
// case-insensitively, from the next Find on, and reports whether it exists.
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

// count matches values that occur in any text, such as that of a setting
// MAX_TOKENS.
var count = lazyregexp.New(`^[0-9]{0,7}$`)

// noteSecrets has the sensitive values of extensions masked in logs and
// recordings.
func (x *Extensions) noteSecrets(found []extensions.Extension) {
	var added []string
	x.mu.Lock()
	for _, e := range found {
		for _, s := range e.ResolvedSettings {
			value := s.Value.Reveal()
			if s.Sensitive && !count().MatchString(value) && !slices.Contains(x.secrets, value) {
				x.secrets, added = append(x.secrets, value), append(added, value)
			}
		}
	}
	x.mu.Unlock()
	if x.o.Secrets != nil && len(added) > 0 {
		x.o.Secrets(added...)
	}
}
