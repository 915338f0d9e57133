package checkpoint

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// link is one recorded change of a path. It has several owners if they ran at the same time and
// each may have made it.
type link struct {
	before, after State
	owners        []*Entry // nil: unrecorded, such as an editor's change
	from, to      time.Time
}

// chain is the recorded history of a path, in order.
type chain []link

// piece is one entry's record of a path.
type piece struct {
	entry  *Entry
	change Change
}

// chains combines the records of all sessions, by path.
func chains(all []*History) map[Name]chain {
	pieces := map[Name][]piece{}
	for _, h := range all {
		for _, e := range h.entries() {
			for _, c := range e.Files {
				pieces[c.Path] = append(pieces[c.Path], piece{e, c})
			}
		}
	}
	done := make(map[Name]chain, len(pieces))
	for path, some := range pieces {
		slices.SortStableFunc(some, func(a, b piece) int {
			return cmp.Or(a.entry.Ended.Compare(b.entry.Ended), strings.Compare(a.entry.Session, b.entry.Session),
				cmp.Compare(a.entry.Turn, b.entry.Turn), cmp.Compare(a.entry.Number, b.entry.Number))
		})
		var c chain
		for _, p := range some {
			c = c.add(p)
		}
		done[path] = c
	}
	return done
}

// add appends the next piece. A full scan also sees changes of other processes: a change that a
// concurrent call has recorded is not counted twice.
func (c chain) add(p piece) chain {
	e, before, after := p.entry, p.change.Before, p.change.After
	next := link{before, after, []*Entry{e}, e.Begun, e.Ended}
	if len(c) == 0 {
		return append(c, next)
	}
	last := &c[len(c)-1]
	if before == last.after {
		return append(c, next)
	}
	wide := e.isWide()
	beside := false // another entry has recorded a change while this one ran
	for i := range c {
		beside = beside || len(c[i].owners) > 0 && c[i].to.After(e.Begun)
	}
	switch {
	case wide && after == last.after && (beside || e.Kind == KindBetween):
		if e.Kind != KindBetween && last.isWide() && before == last.before {
			last.owners = append(last.owners, e)
		}
		return c
	case last.isWide() && before == last.before && after == last.after && last.to.After(e.Begun):
		last.owners, last.from, last.to = next.owners, next.from, next.to // it names the file as changed
		return c
	case wide && beside:
		next.before = last.after
		return append(c, next)
	}
	return append(c, link{before: last.after, after: before}, next)
}

// isWide reports whether the entry claims every change that happened while it ran.
func (e *Entry) isWide() bool { return e.everywhere || e.Interrupted || e.Kind == KindBetween }

// isWide reports whether all owners are wide.
func (l link) isWide() bool {
	for _, e := range l.owners {
		if !e.isWide() {
			return false
		}
	}
	return len(l.owners) > 0
}

// ownership classifies the owners of a link.
type ownership int

const (
	others ownership = iota // entries that were not selected, or no entry
	chosen
	both // selected entries and others
)

func (l link) of(selected map[*Entry]bool) ownership {
	n := 0
	for _, e := range l.owners {
		if selected[e] {
			n++
		}
	}
	switch n {
	case 0:
		return others
	case len(l.owners):
		return chosen
	}
	return both
}

// inForce returns the part of the chain that ends in the current state, and false if there is none.
// If the user has manually restored an earlier state, the chain is in force up to that state.
func (c chain) inForce(now State) (chain, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].after.content() == now.content() {
			return c[:i+1], true
		}
	}
	return nil, len(c) > 0 && c[0].before.content() == now.content()
}

// byCommands reports whether the selected changes were all found by scans of all files around a call.
func (c chain) byCommands(selected map[*Entry]bool) bool {
	some := false
	for _, l := range c {
		for _, e := range l.owners {
			if selected[e] && (!e.everywhere || e.Kind != KindCall) {
				return false
			}
			some = some || selected[e]
		}
	}
	return some
}
