package frontmatter

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/position"
)

// Words in folded keys that restrict the tools of a model, and folded keys that do.
var (
	restrictingWords = []string{"disallow", "permission", "sandbox", "isolation", "deny", "denied", "forbid", "restrict", "readonly", "excludetool", "blockedtool"}
	restrictingKeys  = []string{"hooks", "agent"}
)

// Fold returns a key in small letters, without hyphens, underscores, blanks and quotes.
func Fold(key string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", `"`, "", "'", "").Replace(strings.ToLower(key))
}

// RestrictsKey reports whether a key of a front matter that fettle does not know restricts
// a model, as its name says.
func RestrictsKey(key string) bool {
	key = Fold(key)
	return slices.Contains(restrictingKeys, key) || slices.ContainsFunc(restrictingWords, func(word string) bool { return strings.Contains(key, word) })
}

// Restricts reports whether a member of a front matter that fettle does not know restricts
// a model: by its key, with a value that is neither empty nor inherit, or as a list of
// allowed tools that cannot be read.
func Restricts(m *position.Member) bool {
	text, isText := m.Text()
	if Fold(m.Key) == "allowedtools" {
		items, isList := m.Value.([]position.Node)
		return !isText && m.Value != nil && (!isList || slices.ContainsFunc(items, func(item position.Node) bool { _, ok := item.Text(); return !ok }))
	}
	return RestrictsKey(m.Key) && !(isText && (text == "" || text == "inherit"))
}
