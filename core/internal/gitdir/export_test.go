package gitdir

import (
	"fmt"
	"slices"
	"strings"
)

// ParseConfig is parseConfig for tests.
var ParseConfig = parseConfig

// HarmlessTable returns the table of harmless keys as the page shows it.
func HarmlessTable() string {
	conditions := map[accepted]string{address: "an address without `::`", toggle: "true or false", worktree: "the directory of the repository"}
	var b strings.Builder
	b.WriteString("| section | keys | only with the value |\n|---|---|---|\n")
	for _, r := range harmlessRows {
		var names []string
		for key := range strings.FieldsSeq(r.keys) {
			if rest, sub := strings.CutPrefix(key, "."); sub {
				key = "*." + rest
			}
			names = append(names, key)
		}
		condition := conditions[r.values]
		if r.values == listed {
			list := slices.DeleteFunc(slices.Clone(r.list), func(s string) bool { return s == "" })
			condition = "`" + strings.Join(list, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.section, strings.Join(names, "` `"), condition)
	}
	return b.String()
}
