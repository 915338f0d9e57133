package checkpoint

import (
	"context"
	"slices"
	"time"
)

// settle ends the entries that a killed process has left open: changes since then are attributed to
// them.
func (r *Recorder) settle(ctx context.Context, lines []line) error {
	open := unended(lines)
	if len(open) == 0 {
		return nil
	}
	all := slices.ContainsFunc(open, func(l line) bool { return l.Everywhere })
	if all {
		known, err := r.store.replay(lines)
		if err != nil { // the earlier state is unknown
			known, all = tree{}, false
		}
		r.look.tree, r.look.full = known, all
	}
	var found findings
	var err error
	if all {
		if found, err = r.look.everything(ctx); err != nil {
			return err
		}
	}
	for _, l := range open {
		var changes []Change
		if l.Everywhere {
			changes = found.changes
		} else {
			var paths []string
			for _, c := range l.Files {
				paths = append(paths, string(c.Path))
			}
			r.look.named(paths, true)
			for _, c := range l.Files {
				now := r.look.state(string(c.Path))
				byRestore := now.content() == c.After.content() || now.Kind == Absent
				if now != c.Before && (l.Kind != KindRestore || byRestore) {
					changes = append(changes, Change{c.Path, c.Before, now})
				}
			}
		}
		end := line{Type: lineEnd, Kind: l.Kind, Turn: l.Turn, Number: l.Number, Interrupted: true, Files: changes, Time: time.Time{}}
		if l.Everywhere && !all {
			end.Notes = []string{"The earlier state is unknown, so that it cannot be undone."}
		}
		if err := r.log.write(end); err != nil {
			return err
		}
	}
	return r.log.sync()
}

// unended returns the lines of entries that have begun and not ended.
func unended(lines []line) []line {
	var open []line
	for _, l := range lines {
		switch l.Type {
		case lineBegin:
			open = append(open, l)
		case lineEnd:
			open = slices.DeleteFunc(open, func(b line) bool { return b.Turn == l.Turn && b.Number == l.Number })
		}
	}
	return open
}

// replay returns the tree of the last full scan with the changes recorded after it.
func (s *Store) replay(lines []line) (tree, error) {
	last := -1
	for i, l := range lines {
		if l.Type == lineTree {
			last = i
		}
	}
	if last < 0 {
		return nil, errNoTree
	}
	data, err := s.get(lines[last].Tree)
	if err != nil {
		return nil, err
	}
	t, err := decodeTree(data)
	if err != nil {
		return nil, err
	}
	for _, l := range lines[last:] {
		for _, c := range l.Files {
			state := c.After
			if l.Type == lineBegin {
				state = c.Before
			}
			if state.Kind == Absent {
				delete(t, string(c.Path))
			} else {
				t[string(c.Path)] = &seen{state: state}
			}
		}
	}
	return t, nil
}

// Settle ends the entries that a killed process has left open; see [Entry].Interrupted. The next
// record does the same. Errors are those of [Recorder.Begin].
func (r *Recorder) Settle(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.open(ctx); err != nil {
		return failed("The checkpoints cannot be completed", err)
	}
	return nil
}
