package patch

import (
	"fmt"
	"strings"
)

// Unified returns c as a unified diff with up to three lines of context, "" if c changes nothing.
// It is exactly the change that will be applied, for approval; [Parse] and git can parse it. The
// names are printed as given, quoted as git does if they contain control characters or quotes.
func (c *Change) Unified(oldName, newName string) string {
	if c.empty() {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", quoteName(oldName), quoteName(newName))
	for _, f := range c.fragments {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", hunkRange(f.OldPosition, f.OldLines), hunkRange(f.NewPosition, f.NewLines))
		for _, l := range f.Lines {
			b.WriteString(l.Op.String())
			b.WriteString(l.Line)
			if l.NoEOL() {
				b.WriteString("\n" + noNewline + "\n")
			}
		}
	}
	return b.String()
}

// hunkRange formats one side of a hunk header; a count of one is omitted.
func hunkRange(position, lines int64) string {
	if lines == 1 {
		return fmt.Sprint(position)
	}
	return fmt.Sprintf("%d,%d", position, lines)
}

// quoteName formats a file name as git does (core.quotePath off).
func quoteName(name string) string {
	special := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }
	if !strings.ContainsFunc(name, special) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
