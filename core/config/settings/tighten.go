package settings

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// tighten returns the contribution of an untrusted project to a key: lower is the
// value without it, nil for none. ok is false if there is none; whole reports
// whether it is the complete value.
func (r ProjectRule) tighten(value, lower any) (result any, ok, whole bool) {
	keep := func(allowed bool) (any, bool, bool) { return value, allowed, allowed }
	switch r {
	case ProjectFree:
		return keep(true)
	case ProjectTrue:
		return keep(value == true)
	case ProjectFalse:
		return keep(value == false)
	case ProjectAdd:
		below, _ := lower.([]any)
		return combine(Union, below, value), true, true
	case ProjectWithin:
		return within(value, lower)
	case ProjectLower:
		return keep(limitOf(value) <= limitOf(lower))
	case ProjectStricter:
		return keep(strictness(value) >= strictness(lower))
	case ProjectLandlock:
		open := lower == nil || lower == "" || lower == string(SandboxAuto) || lower == sandboxNone
		return keep(value == string(SandboxLandlock) && (open || lower == value))
	case ProjectTrusted, ProjectNever:
	}
	return keep(false)
}

// within returns the entries of a list that are in another one, literally or as
// name(arguments) of a name in it. A missing other list does not restrict.
func within(value, lower any) (result any, ok, whole bool) {
	list, _ := value.([]any)
	limit, given := lower.([]any)
	if !given {
		return value, true, true
	}
	there := textsOf(limit)
	kept := []any{}
	for _, entry := range list {
		text, _ := entry.(string)
		name, _, _ := strings.Cut(text, "(")
		if there[text] || there[strings.TrimSpace(name)] {
			kept = append(kept, entry)
		}
	}
	return kept, true, len(kept) == len(list)
}

// limitOf returns a number as a limit; 0 and less mean none.
func limitOf(value any) float64 {
	n, _ := value.(float64)
	if n <= 0 {
		return 1e300
	}
	return n
}

// strictness orders approval modes. An unknown mode is the least strict.
func strictness(value any) int {
	text, _ := value.(string)
	mode, err := policy.ParseApprovalMode(text)
	if err != nil || text == "" {
		return 0
	}
	modes := policy.Modes()
	return len(modes) - slices.Index(modes, mode)
}
