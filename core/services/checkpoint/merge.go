package checkpoint

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/services/patch"
)

var (
	errOverlap = errors.New("a later change affects the same lines")
	errNoText  = errors.New("it is not a text file, so that a part of its changes cannot be undone")
)

// merge returns the text now without an earlier step from before to after. It refuses the step if
// later changes affect the same or adjacent lines. A step that is undone already leaves now
// unchanged.
func merge(before, after, now string) (string, error) {
	for _, text := range []string{before, after, now} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return "", errNoText
		}
	}
	theirs := patch.Between(after, before).Edits()
	ours := patch.Between(after, now).Edits()
	theirs = slices.DeleteFunc(theirs, func(t patch.Edit) bool {
		return slices.ContainsFunc(ours, func(o patch.Edit) bool {
			return o.Start == t.Start && o.End == t.End && slices.Equal(o.Lines, t.Lines)
		})
	})
	all := slices.Concat(theirs, ours)
	slices.SortStableFunc(all, func(a, b patch.Edit) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	for i := 1; i < len(all); i++ {
		if all[i].Start <= all[i-1].End && isOf(theirs, all[i]) != isOf(theirs, all[i-1]) {
			return "", errOverlap
		}
	}
	lines := slices.Collect(strings.Lines(after))
	var b strings.Builder
	at := 0
	for _, e := range all {
		for ; at < e.Start; at++ {
			b.WriteString(lines[at])
		}
		for _, l := range e.Lines {
			b.WriteString(l)
		}
		at = e.End
	}
	for ; at < len(lines); at++ {
		b.WriteString(lines[at])
	}
	return b.String(), nil
}

func isOf(some []patch.Edit, e patch.Edit) bool {
	return slices.ContainsFunc(some, func(s patch.Edit) bool {
		return s.Start == e.Start && s.End == e.End && slices.Equal(s.Lines, e.Lines)
	})
}
