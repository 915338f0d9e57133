package patch

import "strings"

// whiteSpace is what the tiers ignore at the ends of a line. A CR there is
// one that does not belong to the line ending.
const whiteSpace = " \t\r\v\f"

// tier is one way to compare the lines of a diff with those of a file. Each tier
// forgives what the ones before it forgive.
type tier struct {
	kind string                       // of the correction it gives; "" for exact text
	fold func(content string) string  // gives equal texts for lines that count as equal
	same func(file, diff string) bool // decides where fold gives equal texts for others too; nil: it does not
}

// tiers in the order in which they are tried. The last resort, a left-out
// line, compares exact text and stands in missing.go.
var tiers = [...]tier{
	{"", func(s string) string { return s }, nil},
	{KindTrailingSpace, func(s string) string { return strings.TrimRight(s, whiteSpace) }, nil},
	{KindSurroundSpace, trimmed, nil},
	{KindLookalikes, skeleton, func(file, diff string) bool {
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

// indentOf returns the white space that a line begins with.
func indentOf(content string) string {
	return content[:len(content)-len(strings.TrimLeft(content, whiteSpace))]
}
