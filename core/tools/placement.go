package tools

import (
	"cmp"
	"slices"
	"strings"
)

// serverTool identifies an MCP tool, whatever its name.
type serverTool struct{ server, tool string }

// group returns the entry's rank: lower takes precedence.
func (e *entry) group() Group { return e.wanted.Origin.Group }

// tool returns the tool under its current name.
func (e *entry) tool() DeclarativeTool {
	if e.other != nil {
		return e.other.tool
	}
	return e.given
}

// spec returns the Spec of the tool under its current name.
func (e *entry) spec() *Spec {
	if e.other != nil {
		return e.other.spec
	}
	return e.wanted
}

// id identifies the MCP tool of the entry.
func (e *entry) id() serverTool {
	return serverTool{e.wanted.Origin.Server, cmp.Or(e.wanted.ServerTool(), e.wanted.Name)}
}

// name returns the i-th candidate name of the tool: the registered name and, for an MCP tool, the qualified name and
// versions of it with increasing parts of a hash. "" ends the list. Consecutive names may be equal.
func (e *entry) name(i int32) string {
	id := e.id()
	digits := shortHash << max(i-2, 0)
	switch {
	case i == 0:
		return e.wanted.Name
	case e.group() != GroupMCP || digits > longHash:
		return ""
	case i == 1:
		return QualifiedName(id.server, id.tool)
	}
	return hashedName(id.server, id.tool, digits)
}

// goesBefore reports whether e takes precedence over other for a name.
func (e *entry) goesBefore(other *entry, name string) bool {
	if c := cmp.Compare(e.group(), other.group()); c != 0 || e.group() != GroupMCP {
		return c < 0
	}
	a, b := e.id(), other.id()
	return cmp.Or(cmp.Compare(a.distance(name), b.distance(name)),
		strings.Compare(a.server, b.server), strings.Compare(a.tool, b.tool)) < 0
}

// distance returns how far a name is from the exact name of the tool.
func (id serverTool) distance(name string) int {
	switch name {
	case mcpPrefix + id.server + "_" + id.tool:
		return 0
	case id.tool:
		return 1
	}
	return 2
}

// place adds e, or replaces the same tool. [Registry.change] then settles the names.
func (r *Registry) place(e *entry) {
	e.seq = r.next
	r.next++
	if other := r.same(e); other != nil {
		if !e.renews {
			r.log.Warn("a tool is replaced by another of the same name", "tool", e.wanted.Name)
		}
		e.seq = other.seq
		r.remove(other)
	}
	if e.group() == GroupMCP {
		if r.byTool == nil {
			r.byTool = make(map[serverTool]*entry)
		}
		r.byTool[e.id()] = e
	}
	r.put(e)
}

// same returns the registered tool that e replaces, or nil.
func (r *Registry) same(e *entry) *entry {
	if e.group() == GroupMCP {
		return r.byTool[e.id()]
	}
	if other := r.tools.named(e.wanted.Name); other != nil && other.group() == e.group() {
		return other
	}
	return nil
}

// put gives e the first of its candidate names that no other tool with precedence holds. The previous holder of that
// name moves to its next candidate. Every tool thus tries its names in order, and every name goes to the tool with
// precedence, so the result does not depend on the order of registration.
func (r *Registry) put(e *entry) {
	var by *entry
	name := e.name(e.at)
	for ; name != ""; name = e.name(e.at) {
		keeper := r.keeper(e, name)
		if keeper == nil {
			break
		}
		if e.group() == GroupMCP {
			r.wait(e, name)
		}
		by = keeper
		e.at++
	}
	if name == "" {
		r.log.Warn("a tool is dropped because its name is taken", "tool", e.wanted.Name, "by", by.spec().Name)
		r.remove(e)
		return
	}
	if by != nil {
		r.log.Warn("a tool is renamed because its name is taken", "tool", e.wanted.Name, "by", by.spec().Name, "new", name)
	}
	e.take(name)
	yielding := []*entry{r.tools.named(name)}
	for _, alias := range e.spec().Aliases {
		if other := r.tools.named(alias); other != nil && other.group() > e.group() {
			yielding = append(yielding, other)
		}
	}
	for _, other := range yielding {
		if other != nil {
			r.leave(other)
		}
	}
	r.tools.add(e)
	r.listing = nil
	r.changes++
	for _, other := range yielding {
		if other != nil {
			r.put(other)
		}
	}
}

// take gives the tool a name. Only the registered name comes with aliases.
func (e *entry) take(name string) {
	e.other = nil
	if name == e.wanted.Name {
		return
	}
	spec := *e.wanted
	spec.Origin.Tool = e.wanted.ServerTool()
	spec.Name, spec.Aliases = name, nil
	e.other = &renaming{withSpec(e.given, spec), &spec}
}

// keeper returns the tool that keeps a name from e, or nil.
func (r *Registry) keeper(e *entry, name string) *entry {
	if other := r.tools.named(name); other != nil && other != e && !e.goesBefore(other, name) {
		return other
	}
	if first := r.tools.aliased(name); first != nil && first.group() < e.group() {
		return first
	}
	return nil
}

// wait records that e would use a name.
func (r *Registry) wait(e *entry, name string) {
	if r.waiting == nil {
		r.waiting = make(map[string][]*entry)
	}
	list := r.waiting[name]
	if n := len(list); n == 0 || list[n-1] != e { // two candidate names may be equal
		r.waiting[name] = append(list, e)
	}
}

// leave releases the name of e and its aliases.
func (r *Registry) leave(e *entry) {
	if !r.tools.remove(e) {
		return
	}
	r.freed = append(append(r.freed, e.spec().Name), e.spec().Aliases...)
	r.listing = nil
	r.changes++
}

// remove removes e from the registry.
func (r *Registry) remove(e *entry) {
	r.leave(e)
	r.unwait(e)
	if e.group() == GroupMCP && r.byTool[e.id()] == e {
		delete(r.byTool, e.id())
	}
}

// unwait removes e from the lists of candidate names.
func (r *Registry) unwait(e *entry) {
	if e.group() != GroupMCP {
		return
	}
	for i := range e.at {
		without(r.waiting, e.name(i), e)
	}
}

// without removes e from the list of a name.
func without(lists map[string][]*entry, name string, e *entry) {
	rest := slices.DeleteFunc(lists[name], func(other *entry) bool { return other == e })
	if lists[name] = rest; len(rest) == 0 {
		delete(lists, name)
	}
}

// settle assigns released names to the tools that wait for them.
func (r *Registry) settle() {
	for len(r.freed) > 0 {
		name := r.freed[len(r.freed)-1]
		r.freed = r.freed[:len(r.freed)-1]
		var best *entry
		for _, e := range r.waiting[name] {
			if r.keeper(e, name) == nil && (best == nil || e.goesBefore(best, name)) {
				best = e
			}
		}
		if best != nil {
			r.unwait(best)
			r.leave(best)
			best.at = 0
			r.put(best)
		}
	}
	r.freed = nil
}
