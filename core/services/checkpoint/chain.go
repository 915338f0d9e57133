package checkpoint

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// link is one recorded change of a path. Several entries own it where they ran at
// the same time and each may have made it.
type link struct {
	before, after State
	owners        []*Entry // nil: nobody has recorded it, as an editor's
	from, to      time.Time
}

// chain is what is recorded of a path, in order.
type chain []link

// piece is what one entry says of a path.
type piece struct {
	entry  *Entry
	change Change
}

// chains puts together what all sessions have recorded, by path.
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

// add puts the next piece behind the others. A look at everything also sees what
// somebody else did meanwhile: what a call that ran at the same time has recorded
// is not counted twice.
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
	beside := false // somebody has recorded a change while it ran
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
		last.owners, last.from, last.to = next.owners, next.from, next.to // it says by name that it did
		return c
	case wide && beside:
		next.before = last.after
		return append(c, next)
	}
	return append(c, link{before: last.after, after: before}, next)
}

// isWide reports whether the entry counts as its own whatever happened while it
// ran.
func (e *Entry) isWide() bool { return e.everywhere || e.Interrupted || e.Kind == KindBetween }

// isWide reports whether all owners are.
func (l link) isWide() bool {
	for _, e := range l.owners {
		if !e.isWide() {
			return false
		}
	}
	return len(l.owners) > 0
}

// ownership says whose a link is.
type ownership int

const (
	others ownership = iota // of entries that were not chosen, or of nobody
	chosen
	both // of some that were and some that were not
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

// inForce returns the part of the chain that the present state is the end of, and
// false if it is that of no part. A chain whose end was taken back by hand is in
// force up to where it was taken back to.
func (c chain) inForce(now State) (chain, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].after.content() == now.content() {
			return c[:i+1], true
		}
	}
	return nil, len(c) > 0 && c[0].before.content() == now.content()
}
