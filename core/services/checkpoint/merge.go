package checkpoint

import (
	"errors"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

var (
	errOverlap = errors.New("a later change affects the same lines")
	errNoText  = errors.New("it is not a text file in one encoding, so that a part of its changes cannot be undone")
)

// merge returns the file now without an earlier step from before to after. It refuses the step if
// later changes affect the same or adjacent lines, and unless the versions of the file are text in
// one encoding. A step that is undone already leaves now unchanged.
func merge(name Name, before, after, now []byte) ([]byte, error) {
	var v [3]textfile.Version
	for i, data := range [][]byte{before, after, now} {
		var ok bool
		if v[i], ok = textfile.VersionOf(string(name), data); !ok || v[i].Encoding != v[0].Encoding {
			return nil, errNoText
		}
	}
	text, err := mergeTexts(v[0].Text, v[1].Text, v[2].Text)
	if err != nil {
		return nil, err
	}
	v[2].Text = text
	data, ok := v[2].Encode(string(name))
	if !ok {
		return nil, errNoText
	}
	return data, nil
}

func mergeTexts(before, after, now string) (string, error) {
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
