package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// DefaultAbove is where declarations begin to be held back: 32 KiB are about
// 8,000 tokens, or 80 tools as servers have them (docs/deferred-tools.md).
const DefaultAbove = 32 << 10

// Options are the parts of a [Catalog]. Tools is required.
type Options struct {
	// Tools returns the conversation's tools, all of them, in listing order;
	// *tools.Registry has it as All. Nothing may change a list that it has
	// returned. It must be quick, and safe for concurrent use.
	Tools func() []tools.DeclarativeTool
	// Above is how many bytes the declarations of foreign tools may have together;
	// beyond it they are held back. 0: [DefaultAbove]; negative: they never are.
	Above int
}

// Catalog decides which tools one conversation's model is told of whole. Foreign
// tools are those of MCP servers and of discoveries; as soon as their
// declarations are longer than Options.Above, all of them are held back but those
// that the conversation has loaded. Built-in tools, an embedder's own and agents
// never are, and nothing is where the tool tool_search is not registered, as
// nobody could find it then. It follows changes of the tools by itself and is safe
// for concurrent use.
type Catalog struct {
	o Options

	mu     sync.Mutex
	only   map[string]bool // nil: every tool
	loaded map[string]bool // by name; may have names of tools that are gone, or to come
	listed []tools.DeclarativeTool
	index  *index   // of listed; nil: to be made
	hidden []string // of index and loaded; nil: to be made
}

// New returns the catalog of a conversation that has loaded nothing.
func New(o Options) *Catalog {
	o.Above = cmp.Or(o.Above, DefaultAbove)
	return &Catalog{o: o}
}

// Hidden names the tools that are not to be declared now, as
// tools.RegistryOptions.Hidden does: those that are held back, or tool_search
// where none are. The list must not be changed.
func (c *Catalog) Hidden() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current().defers {
		return []string{ToolSearch}
	}
	return c.heldBack()
}

// Deferred returns how many tools are held back now.
func (c *Catalog) Deferred() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current().defers {
		return 0
	}
	return len(c.heldBack())
}

// heldBack names the tools of the index that are not loaded; c.mu is held.
func (c *Catalog) heldBack() []string {
	if c.hidden == nil {
		c.hidden = make([]string, 0, len(c.index.entries))
		for _, e := range c.index.entries {
			if !c.loaded[e.name] {
				c.hidden = append(c.hidden, e.name)
			}
		}
	}
	return c.hidden
}

// Listing returns what the system prompt says of the foreign tools while some are
// held back, else "": names by server, the servers sorted and the names too, with
// a short line of each where there is room, [MaxListing] bytes at most and marked
// as what others say. It does not depend on what is loaded, so that it stays the
// same as long as the tools do.
func (c *Catalog) Listing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.current()
	if x.defers && x.listing == "" {
		x.listing = listing(x.entries)
	}
	return x.listing
}

// Load has the model told of tools from the next request on, by their names.
// Names of tools that there are not yet count once they come.
func (c *Catalog) Load(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.loaded[name] {
			continue
		}
		if c.loaded == nil {
			c.loaded = map[string]bool{}
		}
		c.loaded[name], c.hidden = true, nil
	}
}

// Called loads a tool that was called without having been searched for. A name
// that no foreign tool has is of no effect.
func (c *Catalog) Called(name string) {
	c.mu.Lock()
	known := c.current().byName[name] != nil
	c.mu.Unlock()
	if known {
		c.Load(name)
	}
}

// Reset forgets what was loaded, as a new conversation does.
func (c *Catalog) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded, c.hidden = nil, nil
}

// Restrict makes it the catalog of a conversation that has these tools alone, by
// name, whatever others Options.Tools has.
func (c *Catalog) Restrict(names map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.only, c.index, c.hidden = maps.Clone(names), nil, nil
}

// index is what is known of one list of tools.
type index struct {
	entries []*entry // foreign tools, in listing order
	byName  map[string]*entry
	defers  bool
	listing string // "": none, or not made yet
}

// entry is a foreign tool.
type entry struct {
	name        string // as it is registered
	own         string // at its server
	server      string // "" for a discovered tool
	title       string // "": none of its own
	description string
	schema      json.RawMessage
	bytes       int // of its declaration
}

// current returns the index of the tools as they are now; c.mu is held.
func (c *Catalog) current() *index {
	all := c.o.Tools()
	if c.index != nil && sameList(all, c.listed) {
		return c.index
	}
	x := &index{byName: map[string]*entry{}}
	bytes, searchable := 0, false
	for _, t := range all {
		spec := t.Spec()
		if c.only != nil && !c.only[spec.Name] {
			continue
		}
		if spec.Origin.Group == tools.GroupBuiltIn {
			searchable = searchable || spec.Name == ToolSearch
			continue
		}
		e := &entry{
			name: spec.Name, own: spec.Origin.Tool, server: spec.Origin.Server, title: spec.DisplayName,
			description: spec.Description, schema: spec.Schema, bytes: spec.Declaration().Bytes(),
		}
		x.entries = append(x.entries, e)
		x.byName[e.name] = e
		bytes += e.bytes
	}
	x.defers = searchable && c.o.Above > 0 && bytes > c.o.Above
	c.listed, c.index, c.hidden = all, x, nil
	return x
}

// sameList reports whether two lists are the same one in memory.
func sameList(a, b []tools.DeclarativeTool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
