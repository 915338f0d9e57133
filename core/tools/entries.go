package tools

import (
	"maps"
	"slices"
	"strings"
)

// mostListed is the number of tools up to which [entries] are a list.
const mostListed = 32

// entries are the tools of a registry by name and alias. Few of them are a list, because a process may hold thousands of
// registries, and many are maps. The zero value is empty.
type entries struct {
	list    []*entry            // sorted by name; unused if byName is set
	byName  map[string]*entry   // nil: there are at most mostListed
	byAlias map[string][]*entry // set with byName
}

// named returns the tool with a name, or nil.
func (s *entries) named(name string) *entry {
	if s.byName != nil {
		return s.byName[name]
	}
	if i, found := s.search(name); found {
		return s.list[i]
	}
	return nil
}

// search returns the index of a name in the list, or that at which it is missing.
func (s *entries) search(name string) (int, bool) {
	return slices.BinarySearchFunc(s.list, name, func(e *entry, name string) int { return strings.Compare(e.spec().Name, name) })
}

// aliased returns the first tool, in listing order, with an alias, or nil.
func (s *entries) aliased(alias string) *entry {
	candidates := s.list
	if s.byName != nil {
		candidates = s.byAlias[alias]
	}
	var first *entry
	for _, e := range candidates {
		if slices.Contains(e.spec().Aliases, alias) && (first == nil || compareEntries(e, first) < 0) {
			first = e
		}
	}
	return first
}

// all returns the tools, in no particular order, as a list of the caller.
func (s *entries) all() []*entry {
	if s.byName == nil {
		return slices.Clone(s.list)
	}
	return slices.AppendSeq(make([]*entry, 0, len(s.byName)), maps.Values(s.byName))
}

// add adds a tool whose name no other one has.
func (s *entries) add(e *entry) {
	if s.byName == nil {
		if len(s.list) < mostListed {
			i, _ := s.search(e.spec().Name)
			s.list = slices.Insert(s.list, i, e)
			return
		}
		listed := s.list
		*s = entries{byName: make(map[string]*entry, len(listed)+1), byAlias: make(map[string][]*entry)}
		for _, other := range listed {
			s.index(other)
		}
	}
	s.index(e)
}

// index adds a tool to the maps.
func (s *entries) index(e *entry) {
	s.byName[e.spec().Name] = e
	for _, alias := range e.spec().Aliases {
		s.byAlias[alias] = append(s.byAlias[alias], e)
	}
}

// remove removes a tool, and reports whether it had its name here.
func (s *entries) remove(e *entry) bool {
	if s.named(e.spec().Name) != e {
		return false
	}
	if s.byName == nil {
		i, _ := s.search(e.spec().Name)
		s.list = slices.Delete(s.list, i, i+1)
		return true
	}
	delete(s.byName, e.spec().Name)
	for _, alias := range e.spec().Aliases {
		without(s.byAlias, alias, e)
	}
	if len(s.byName) <= mostListed {
		list := s.all()
		slices.SortFunc(list, func(a, b *entry) int { return strings.Compare(a.spec().Name, b.spec().Name) })
		*s = entries{list: list}
	}
	return true
}
