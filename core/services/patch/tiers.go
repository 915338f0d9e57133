package patch

import "strings"

// whiteSpace is ignored by the tiers at the ends of a line. A CR there does not belong to the line
// ending.
const whiteSpace = " \t\r\v\f"

// tier is one way to compare the lines of a diff with those of a file. Each tier tolerates
// everything that the previous ones tolerate.
type tier struct {
	kind string                       // of the resulting correction; "" for exact text
	fold func(content string) string  // returns equal texts for lines that count as equal
	same func(file, diff string) bool // decides if fold returns equal texts for different lines too; nil: it does not
}

// tiers in the order in which they are tried. The last one, a left-out line, compares exact text
// and is in missing.go.
var tiers = [...]tier{
	{"", func(s string) string { return s }, nil},
	{kindTrailingSpace, func(s string) string { return strings.TrimRight(s, whiteSpace) }, nil},
	{kindSurroundSpace, trimmed, nil},
	{kindLookalikes, skeleton, func(file, diff string) bool {
		_, ok := alike(trimmed(file), trimmed(diff))
		return ok
	}},
}

// Indexes into tiers.
const (
	trailingTier  = 1
	outerTier     = 2
	lookalikeTier = 3
)

// equal reports whether two line contents count as equal.
func (t tier) equal(file, diff string) bool {
	if t.same != nil {
		return t.same(file, diff)
	}
	return t.fold(file) == t.fold(diff)
}

func trimmed(s string) string { return strings.Trim(s, whiteSpace) }

// indentOf returns the leading white space of a line.
func indentOf(content string) string {
	return content[:len(content)-len(strings.TrimLeft(content, whiteSpace))]
}
