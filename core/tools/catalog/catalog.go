package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// DefaultAbove is the default threshold for deferring declarations: 32 KiB, about 8,000 tokens or 80 typical server
// tools (docs/deferred-tools.md).
const DefaultAbove = 32 << 10

// Options configures a [Catalog]. Tools is required.
type Options struct {
	// Tools returns all tools of the conversation, in listing order; *tools.Registry implements it as All. A returned
	// list must not be modified. It must be fast, and safe for concurrent use.
	Tools func() []tools.DeclarativeTool
	// Above is the total size of the declarations of foreign tools, in bytes, beyond which they are deferred. 0:
	// [DefaultAbove]; negative: never.
	Above int
}

// Catalog decides which tools are declared to the model of one conversation. Foreign tools are those of MCP servers and
// of discovery commands. If their declarations exceed Options.Above, all of them are deferred except those that the
// conversation has loaded. Built-in tools, an embedder's tools and agents are never deferred. Nothing is deferred if the
// tool tool_search is not registered, because the model could not find the tools. A Catalog follows changes of the tools
// and is safe for concurrent use.
type Catalog struct {
	o Options

	mu     sync.Mutex
	only   map[string]bool // nil: every tool
	loaded map[string]bool // by name; may contain names of removed or future tools
	listed []tools.DeclarativeTool
	index  *index   // of listed; nil: to be built
	hidden []string // of index and loaded; nil: to be built
}

// New returns the catalog of a conversation that has loaded no tools.
func New(o Options) *Catalog {
	o.Above = cmp.Or(o.Above, DefaultAbove)
	return &Catalog{o: o}
}

// Hidden returns the names of the tools that are not to be declared now, for tools.RegistryOptions.Hidden: the deferred
// tools, or tool_search if there are none. The list must not be modified.
func (c *Catalog) Hidden() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current().defers {
		return []string{ToolSearch}
	}
	return c.heldBack()
}

// Deferred returns the number of deferred tools.
func (c *Catalog) Deferred() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current().defers {
		return 0
	}
	return len(c.heldBack())
}

// heldBack returns the names of the tools of the index that are not loaded; c.mu is held.
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

// Listing returns the section of the system prompt about the foreign tools, or "" if none are deferred. It lists names
// by server, both sorted, with a short line for each tool if there is room, within [MaxListing] bytes and marked as
// untrusted. It does not depend on the loaded tools, so that it changes only with the tools themselves.
func (c *Catalog) Listing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.current()
	if x.defers && x.listing == "" {
		x.listing = listing(x.entries)
	}
	return x.listing
}

// Load declares tools to the model from the next request on, by name. Names of tools that do not exist yet take effect
// once those exist.
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

// Called loads a tool that was called without a search. It ignores a name that no foreign tool has.
func (c *Catalog) Called(name string) {
	c.mu.Lock()
	known := c.current().byName[name] != nil
	c.mu.Unlock()
	if known {
		c.Load(name)
	}
}

// Reset unloads all tools, for a new conversation.
func (c *Catalog) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded, c.hidden = nil, nil
}

// Restrict limits the catalog to the tools with the given names.
func (c *Catalog) Restrict(names map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.only, c.index, c.hidden = maps.Clone(names), nil, nil
}

// index holds the searchable data of one list of tools.
type index struct {
	entries []*entry // foreign tools, in listing order
	byName  map[string]*entry
	defers  bool
	listing string // "": none, or not built yet
}

// entry is a foreign tool.
type entry struct {
	name        string // the registered name
	own         string // the name at its server
	server      string // "" for a discovered tool
	title       string // "": none
	description string
	schema      json.RawMessage
	bytes       int // size of its declaration
}

// current returns the index of the current tools; c.mu is held.
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

// sameList reports whether two lists are identical in memory.
func sameList(a, b []tools.DeclarativeTool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
