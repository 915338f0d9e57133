// Package skills finds SKILL.md files, says which skills there are and which of
// them can be activated, and has the tool that activates one.
package skills

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// Skill is a SKILL.md file: instructions for a kind of work, which a model is
// given when it activates the skill (EX-04). It is not changed once a
// [SkillManager] has it.
type Skill struct {
	Name        string // without `: \ / < > * ? " |` and control characters; letter case does not tell two apart
	Description string // by which a model chooses it
	Body        string // the instructions; may be empty
	Path        string // of the SKILL.md, absolute, links resolved; "" for one that no file holds
	Dir         string // the directory of Path, which a session may read once the skill is active
	Scope       Scope
	Extension   string         // that brought it; "" elsewhere
	Extra       map[string]any // the other keys of the front matter, as plain values
	// Hash is the SHA-256 of the file, in lower-case hex; "" where there is none.
	Hash string
	// Disabled says that it cannot be activated. It is for a manager to set.
	Disabled bool
}

// Scope says who gives a skill.
type Scope string

// The scopes, in the order in which a later one takes the place of an earlier one
// of the same name (EX-05).
const (
	ScopeBuiltIn   Scope = "built-in" // fettle, or the embedder
	ScopeExtension Scope = "extension"
	ScopeUser      Scope = "user"
	ScopeWorkspace Scope = "workspace" // the project, where its directory is trusted
)

// rank orders scopes; one that is not known comes first.
func (s Scope) rank() int {
	return slices.Index([]Scope{ScopeBuiltIn, ScopeExtension, ScopeUser, ScopeWorkspace}, s)
}

// same reports whether two names are those of one skill.
func same(a, b string) bool { return strings.EqualFold(a, b) }

// replaced is the skills of one session: those that a later one of their name
// replaces are gone, with a problem unless they are built in (EX-05).
func replaced(all []Skill) (kept []Skill, problems []fault.Problem) {
	if slices.IsSortedFunc(all, func(a, b Skill) int { return cmp.Or(byName(a, b), -1) }) {
		return all, nil // as fettle's own are; none has the name of another
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Skill) int { return cmp.Compare(a.Scope.rank(), b.Scope.rank()) })
	at := map[string]int{} // index in kept, by folded name
	for _, s := range all {
		key := strings.ToLower(s.Name)
		i, taken := at[key]
		if !taken {
			at[key] = len(kept)
			kept = append(kept, s)
			continue
		}
		if first := kept[i]; first.Scope != ScopeBuiltIn {
			problems = append(problems, fault.Problem{Path: cmp.Or(s.Path, first.Path),
				Message: fmt.Sprintf("This skill %q takes the place of the one of the %s at %s.", s.Name, first.origin(), cmp.Or(first.Path, "no file")),
				Remedy:  "Give one of them another name to have both."})
		}
		kept[i] = s
	}
	slices.SortStableFunc(kept, byName)
	return kept, problems
}

// byName compares names in any letter case.
func byName(a, b Skill) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }

// origin says in words whose skill it is.
func (s Skill) origin() string {
	if s.Extension != "" {
		return "extension " + s.Extension
	}
	return string(s.Scope)
}
