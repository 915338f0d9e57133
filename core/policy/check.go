package policy

import (
	"maps"
	"slices"
)

// CheckPattern returns the reason why a regular expression is not valid in a
// rule, as a clause for the rule's author, or nil.
func CheckPattern(pattern string) error {
	_, err := compilePattern(pattern)
	return err
}

// WellKnownNames returns the names and aliases of the built-in tools that
// [WellKnown] knows, sorted.
func WellKnownNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(wellKnown)), maps.Keys(*wellKnownAliases()))
	slices.Sort(names)
	return names
}
