package fork

import (
	"strings"

	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// mark plans to write a conflict of a text with markers. Without the three texts it stays a conflict.
func (m *merge) mark(i *item) {
	v, ok := m.texts(i)
	if !ok {
		return
	}
	base, baseMark := strings.CutPrefix(v.base.Text, byteOrderMark)
	fork, forkMark := strings.CutPrefix(v.fork.Text, byteOrderMark)
	now, nowMark := strings.CutPrefix(v.now.Text, byteOrderMark)
	result := textfile.Version{Text: marked(base, fork, now, m.Name), Encoding: v.now.Encoding}
	if nowMark == baseMark && forkMark || nowMark != baseMark && nowMark {
		result.Text = byteOrderMark + result.Text
	}
	data, ok := result.Encode(i.Path)
	if !ok {
		return
	}
	i.data = data
	i.want = state{Kind: regular, Mode: i.now.Mode, SHA256: hashOf(i.data)}
	if i.now.Mode == i.base.Mode {
		i.want.Mode = i.fork.Mode
	}
	i.Marked = true
	after := side{Version: result, ok: true, data: data}
	i.call(after)
	i.Diff = diffText(i.Path, side{Version: v.now, ok: true}, after)
}

const byteOrderMark = "\ufeff"

// near is the number of unchanged lines between two changes that are one conflict.
const near = 3

// marked returns the text with the changes of both sides, and with markers where they change the same
// or adjacent lines of the base.
func marked(base, fork, now, name string) string {
	lines := linesOf(base)
	mine, theirs := patch.Between(base, fork).Edits(), patch.Between(base, now).Edits()
	eol := "\n"
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		eol = "\r\n"
	}
	var b strings.Builder
	at := 0
	for len(mine)+len(theirs) > 0 {
		group := chunk{from: len(lines)}
		for _, edits := range [][]patch.Edit{mine, theirs} {
			if len(edits) > 0 && edits[0].Start <= group.from {
				group.from, group.to = edits[0].Start, edits[0].End
			}
		}
		for grown := true; grown; {
			grown = false
			mine, grown = group.take(mine, &group.mine, grown)
			theirs, grown = group.take(theirs, &group.theirs, grown)
		}
		write(&b, lines[at:group.from])
		old := lines[group.from:group.to]
		a, c := group.apply(old, group.mine), group.apply(old, group.theirs)
		switch {
		case len(group.theirs) == 0, strings.Join(a, "") == strings.Join(c, ""):
			write(&b, a)
		case len(group.mine) == 0:
			write(&b, c)
		default:
			for _, part := range []struct {
				marker string
				lines  []string
			}{{"<<<<<<< workspace", c}, {"||||||| base", old}, {"=======", a}} {
				b.WriteString(part.marker + eol)
				write(&b, part.lines)
				if n := len(part.lines); n > 0 && !strings.HasSuffix(part.lines[n-1], "\n") {
					b.WriteString(eol)
				}
			}
			b.WriteString(">>>>>>> fork " + name + eol)
		}
		at = group.to
	}
	write(&b, lines[at:])
	return b.String()
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func write(b *strings.Builder, lines []string) {
	for _, l := range lines {
		b.WriteString(l)
	}
}

// chunk is a range of lines of the base with the edits of both sides in it.
type chunk struct {
	from, to     int
	mine, theirs []patch.Edit
}

// take moves the edits that are in or near the chunk into it.
func (c *chunk) take(edits []patch.Edit, into *[]patch.Edit, grown bool) (rest []patch.Edit, _ bool) {
	for len(edits) > 0 && edits[0].Start-c.to < near {
		c.to = max(c.to, edits[0].End)
		*into = append(*into, edits[0])
		edits, grown = edits[1:], true
	}
	return edits, grown
}

// apply returns lines, those of the chunk, with edits.
func (c *chunk) apply(lines []string, edits []patch.Edit) []string {
	var out []string
	at := 0
	for _, e := range edits {
		out = append(out, lines[at:e.Start-c.from]...)
		out = append(out, e.Lines...)
		at = e.End - c.from
	}
	return append(out, lines[at:]...)
}
