package policy

import (
	"maps"
	"slices"
)

// CheckPattern says why a rule cannot have this regular expression, as a
// clause for the rule's author; nil: it can.
func CheckPattern(pattern string) error {
	_, err := compilePattern(pattern)
	return err
}

// WellKnownNames returns the names and other names of the built-in tools that
// [WellKnown] knows, sorted.
func WellKnownNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(wellKnown)), maps.Keys(wellKnownAliases))
	slices.Sort(names)
	return names
}
