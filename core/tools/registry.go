package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/fault"
)

// Registry holds a session's tools by name. Listings have the order built-in, discovered, MCP by server name, and within
// these the order of registration. It is safe for concurrent use; the lists that it returns are shared and must not be
// modified.
type Registry struct {
	log      *slog.Logger
	discover []func(ctx context.Context) ([]DeclarativeTool, error)
	hidden   func() []string
	absent   func(name string) string
	onChange func()

	mu      sync.RWMutex
	tools   entries
	byTool  map[serverTool]*entry
	waiting map[string][]*entry // MCP tools that wait for a name that another tool has
	freed   []string            // names to settle
	next    int32               // sequence number of the next entry
	changes int                 // number of changes
	listing *listing            // nil: to be rebuilt
}

// RegistryOptions configures a [Registry]; all fields are optional.
type RegistryOptions struct {
	Logger *slog.Logger // receives warnings of dropped and replaced tools; nil: they are discarded
	// Discover returns tools of a session, in the groups discovered and MCP; see [Registry.Discover].
	Discover []func(ctx context.Context) ([]DeclarativeTool, error)
	// Hidden returns tools, by name or alias, that are of no use at present, such as the tool that leaves a mode which
	// is not in force. They stay registered and can be called, but are not declared to a model. It is called for each
	// [Registry.Declarations], so it should be quick; it must be safe for concurrent use and may use the registry. Nil:
	// no tool is hidden.
	Hidden func() []string
	// Absent returns the setting of this session that excludes a tool, as a sentence, or "". It is called for each
	// failed [Registry.Lookup] and must be safe for concurrent use. Nil: none does.
	Absent func(name string) string
	// Changed is called after each change of the tools, on the goroutine that made the change and without the registry's
	// lock. Nil: no callback.
	Changed func()
}

// entry is one registered tool.
type entry struct {
	given  DeclarativeTool // the tool as registered
	wanted *Spec           // of given; shared with other registries, and never modified
	other  *renaming       // given, under a name other than wanted's; nil: it has that name
	seq    int32           // 32 bits suffice, and there are many entries
	at     int32           // index of its current name among its candidates
	source int32           // index of its discovery, or registered
	renews bool            // it replaces an earlier version of itself
}

// renaming is a tool under another name than that of its Spec.
type renaming struct {
	tool DeclarativeTool
	spec *Spec
}

// listing is the ordered list of tools, shared by calls.
type listing struct {
	specs    []*Spec
	tools    []DeclarativeTool
	names    atomic.Pointer[[]string] // nil: not built yet
	declared atomic.Pointer[declared] // nil: not built yet
}

// declared is the list of declarations without hidden tools.
type declared struct {
	hidden       []string
	declarations []FunctionDeclaration
}

// NewRegistry returns an empty registry.
func NewRegistry(o RegistryOptions) *Registry {
	r := &Registry{
		log:      o.Logger,
		discover: slices.Clone(o.Discover),
		hidden:   o.Hidden,
		absent:   o.Absent,
		onChange: o.Changed,
	}
	r.log = cmp.Or(r.log, slog.New(slog.DiscardHandler))
	return r
}

// Register adds a tool. It fails with code invalid_config if the tool's Spec is invalid.
//
// A built-in or discovered tool of the same name is replaced, in its place and with a warning; so is the same tool of
// the same MCP server. A name or alias of a tool of a higher group stays with that tool: a discovered tool is then
// dropped with a warning, and an MCP tool is registered as [QualifiedName]. Of two MCP tools with the same name, the one
// whose server and tool name match it exactly has it, else the first by server and tool name; the other gets its
// qualified name, possibly with a hash at its end. The resulting names depend only on the set of tools, not on the order
// of registration.
func (r *Registry) Register(t DeclarativeTool) error {
	e, err := newEntry(t, registered)
	if err != nil {
		return err
	}
	r.change(func() { r.place(e) })
	return nil
}

// Renew is Register for a new version of the tool that is registered under the same name, for example with another
// schema. It replaces that tool without a warning.
func (r *Registry) Renew(t DeclarativeTool) error {
	e, err := newEntry(t, registered)
	if err != nil {
		return err
	}
	e.renews = true
	r.change(func() { r.place(e) })
	return nil
}

// change makes a change under the lock, and calls Changed.
func (r *Registry) change(make func()) {
	r.mu.Lock()
	before := r.changes
	make()
	r.settle()
	changed := r.changes != before
	r.mu.Unlock()
	if changed && r.onChange != nil {
		r.onChange()
	}
}

// registered is the source of an entry that was registered directly.
const registered = -1

func newEntry(t DeclarativeTool, source int32) (*entry, error) {
	if t == nil {
		return nil, badTool("", errors.New("it is nil"))
	}
	spec := sharedSpec(t)
	if err := checkSpec(*spec); err != nil {
		return nil, err
	}
	if len(spec.Schema) == 0 {
		return nil, badTool(spec.Name, errors.New("it has no schema"))
	}
	if err := checkVaries(*spec); err != nil {
		return nil, err
	}
	return &entry{given: t, wanted: spec, source: source}, nil
}

// sharedSpec returns a tool's Spec, which must not be modified. It is the factory's if there is one, because a process
// may hold thousands of registries.
func sharedSpec(t DeclarativeTool) *Spec {
	if b, ok := t.(interface{ sharedSpec() *Spec }); ok {
		return b.sharedSpec()
	}
	spec := t.Spec()
	return &spec
}

func compareEntries(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.group(), b.group()),
		cmp.Compare(a.spec().Origin.Server, b.spec().Origin.Server),
		cmp.Compare(a.seq, b.seq))
}

// Unregister removes the tool that is registered under name, which may not be an alias, and reports whether there was
// one.
func (r *Registry) Unregister(name string) bool {
	found := false
	r.change(func() {
		e := r.tools.named(name)
		if found = e != nil; found {
			r.remove(e)
		}
	})
	return found
}

// Lookup returns the tool with the given name, else the one with that alias. The error has code tool_not_registered. It
// suggests the tools that the name governs, else names the setting that excludes the tool, the condition for a built-in
// tool of that name, or up to three similar names.
func (r *Registry) Lookup(name string) (DeclarativeTool, error) {
	r.mu.RLock()
	e := r.tools.named(name)
	if e == nil {
		e = r.tools.aliased(name)
	}
	var tool DeclarativeTool
	if e != nil {
		tool = e.tool()
	}
	r.mu.RUnlock()
	if tool == nil {
		return nil, r.notRegistered(name)
	}
	return tool, nil
}

func (r *Registry) notRegistered(name string) *fault.Error {
	message, remedy := fmt.Sprintf("There is no tool named %s.", quoteClipped(name)), "Call one of the declared tools, by its exact name."
	why := ""
	if r.absent != nil {
		why = r.absent(name)
	}
	if why != "" {
		return fault.New(fault.ToolNotRegistered, "tools.lookup", message+" "+why, "Work without it. Only the user can change that.")
	}
	if instead := r.governedBy(name); len(instead) > 0 {
		remedy = fmt.Sprintf("It is not registered in this session; %s does this work. A session that lists %s among its core tools has it.",
			orList(instead), name)
	} else if when := RegisteredWhen(name); when != "" {
		remedy = "It is registered " + when + "."
	} else if near := nearest(name, r.Names(), 3); len(near) > 0 {
		remedy = "Did you mean " + orList(near) + "? Tools are called by their exact names."
	}
	return fault.New(fault.ToolNotRegistered, "tools.lookup", message, remedy)
}

// governedBy returns the names of the tools that a name governs, in listing order: they replace the tool of that name.
func (r *Registry) governedBy(name string) []string {
	var names []string
	for _, t := range r.All() {
		if spec := t.Spec(); slices.Contains(spec.GovernedBy, name) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// All returns the tools in listing order, including hidden ones.
func (r *Registry) All() []DeclarativeTool { return r.list().tools }

// Names returns the names of the tools of [Registry.All].
func (r *Registry) Names() []string { return r.list().named() }

// Declarations returns the declarations of the tools that are not hidden, in listing order. The list is rebuilt only
// after a change of the tools or of the hidden ones.
func (r *Registry) Declarations() []FunctionDeclaration {
	l := r.list()
	if r.hidden == nil {
		return l.without(nil)
	}
	return l.without(r.hidden())
}

// Sort builds the listing now. Listings are built on demand, so this only moves the work to an earlier time.
func (r *Registry) Sort() { r.list() }

func (r *Registry) list() *listing {
	r.mu.RLock()
	l := r.listing
	r.mu.RUnlock()
	if l != nil {
		return l
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listing == nil {
		r.listing = r.newListing()
	}
	return r.listing
}

func (r *Registry) newListing() *listing {
	entries := r.tools.all()
	slices.SortFunc(entries, compareEntries)
	l := &listing{
		specs: make([]*Spec, len(entries)),
		tools: make([]DeclarativeTool, len(entries)),
	}
	for i, e := range entries {
		l.specs[i], l.tools[i] = e.spec(), e.tool()
	}
	return l
}

// named returns the names. Concurrent first calls build equal lists.
func (l *listing) named() []string {
	if made := l.names.Load(); made != nil {
		return *made
	}
	names := make([]string, len(l.specs))
	for i, spec := range l.specs {
		names[i] = spec.Name
	}
	l.names.Store(&names)
	return names
}

// without returns the declarations without hidden tools. Concurrent first calls build equal lists.
func (l *listing) without(hidden []string) []FunctionDeclaration {
	if d := l.declared.Load(); d != nil && slices.Equal(d.hidden, hidden) {
		return d.declarations
	}
	d := &declared{hidden: slices.Clone(hidden), declarations: make([]FunctionDeclaration, 0, len(l.specs))}
	names := make(map[string]bool, len(hidden)) // there may be thousands
	for _, name := range hidden {
		names[name] = true
	}
	for _, spec := range l.specs {
		if !answersTo(spec, names) {
			d.declarations = append(d.declarations, spec.Declaration())
		}
	}
	l.declared.Store(d)
	return d.declarations
}

// answersTo reports whether one of the names is the tool's name or an alias.
func answersTo(spec *Spec, names map[string]bool) bool {
	return names[spec.Name] || slices.ContainsFunc(spec.Aliases, func(alias string) bool { return names[alias] })
}

// Discover runs every discovery of the options sequentially, and then replaces each one's earlier tools by the new ones;
// other tools stay. A failing discovery keeps its earlier tools and does not stop the others; the failures are joined. A
// discovered tool with a built-in origin is rejected, because discovery must not replace built-in tools.
func (r *Registry) Discover(ctx context.Context) error {
	var failures []error
	found := make([][]*entry, len(r.discover))
	for i, discover := range r.discover {
		var tools []DeclarativeTool
		err := ctx.Err()
		if err == nil {
			err = Protect("", "discover", func() (err error) {
				tools, err = discover(ctx)
				return err
			})
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		found[i] = []*entry{}
		for _, t := range tools {
			e, err := newEntry(t, int32(i)) //nolint:gosec // discoveries are few
			if err == nil && e.group() == GroupBuiltIn {
				err = badTool(e.wanted.Name, errors.New("a discovered tool must not have a built-in origin"))
			}
			if err != nil {
				failures = append(failures, err)
				continue
			}
			found[i] = append(found[i], e)
		}
	}
	r.change(func() {
		for _, e := range r.tools.all() {
			if e.source != registered && found[e.source] != nil {
				r.remove(e)
			}
		}
		for _, entries := range found {
			for _, e := range entries {
				r.place(e)
			}
		}
	})
	return errors.Join(failures...)
}
