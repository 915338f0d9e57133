// Package skills finds SKILL.md files, manages which skills can be activated, and provides the tool
// that activates a skill.
//
// A [Skill] is a directory with instructions for one kind of work. The model receives the names and
// descriptions of all skills ([Listing]), and the instructions of a skill once it is activated
// ([Text]). A [SkillManager] finds the skills of a session by [SkillManager.Discover], in the order
// of their [Scope], and enables or disables them.
package skills

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/frontmatter"
)

// Skill is a SKILL.md file: instructions for a kind of work, which a model receives when
// it activates the skill. It is immutable once a [SkillManager] has it.
type Skill struct {
	Name        string // without `: \ / < > * ? " |` and control characters; compared without regard to case
	Description string // by which a model chooses it
	Body        string // the instructions; may be empty
	Path        string // of the SKILL.md, absolute, links resolved; "" if it has no file
	Dir         string // the directory of Path, readable for a session once the skill is active
	Scope       Scope
	Extension   string         // its extension; "" if it has none
	Extra       map[string]any // the other keys of the front matter, as plain values
	// Hash is the SHA-256 of the file, in lower-case hex; "" without a file.
	Hash string
	// Disabled: it cannot be activated. A manager sets it.
	Disabled bool
}

// Scope is the origin of a skill.
type Scope string

// The scopes, in order of precedence: a later one replaces an earlier one with the same
// name.
const (
	ScopeBuiltIn   Scope = "built-in" // fettle, or the embedder
	ScopeExtension Scope = "extension"
	ScopeUser      Scope = "user"
	ScopeWorkspace Scope = "workspace" // the project, if its directory is trusted
)

// userOnly reports whether only the user may activate the skill: it is neither listed for
// a model, nor activated by one.
func (s Skill) userOnly() bool {
	for key, only := range s.Extra {
		if value, isBool := only.(bool); frontmatter.Fold(key) == frontmatter.Fold(userOnlyKey) && (!isBool || value) {
			return true
		}
	}
	return false
}

// userOnlyKey is the key of the front matter that reserves a skill for the user.
const userOnlyKey = "disable-model-invocation"

// rank orders scopes; an unknown one comes first.
func (s Scope) rank() int {
	return slices.Index([]Scope{ScopeBuiltIn, ScopeExtension, ScopeUser, ScopeWorkspace}, s)
}

// same reports whether two names denote the same skill.
func same(a, b string) bool { return strings.EqualFold(a, b) }

// replaced returns the skills of a session without those that a later one with the same
// name replaces. Each replaced skill is a problem, unless it is built in.
func replaced(all []Skill) (kept []Skill, problems []fault.Problem) {
	if slices.IsSortedFunc(all, func(a, b Skill) int { return cmp.Or(byName(a, b), -1) }) {
		return all, nil // as the built-in skills are; all names differ
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

// byName compares names without letter case.
func byName(a, b Skill) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }

// origin names the origin of a skill in messages.
func (s Skill) origin() string {
	if s.Extension != "" {
		return "extension " + s.Extension
	}
	return string(s.Scope)
}
