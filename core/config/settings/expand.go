package settings

import "github.com/fettle-dev/fettle/core/internal/lazyregexp"

// variable matches $NAME, ${NAME} or ${NAME:-default} in a text.
var variable = lazyregexp.New(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\})`)

// expand expands variables in the texts of a JSON value, but not in names of
// objects. An undefined variable without a default stays unchanged, and inserted
// text is not expanded again. An empty variable counts as defined unless there is
// a default. used reports whether the value has changed.
func expand(value any, env func(string) (string, bool)) (result any, used bool) {
	switch v := value.(type) {
	case string:
		text := variable().ReplaceAllStringFunc(v, func(match string) string {
			m := variable().FindStringSubmatch(match)
			content, ok := env(m[1] + m[2])
			switch {
			case ok && (content != "" || m[3] == ""):
				used = true
				return content
			case m[3] != "":
				used = true
				return m[4]
			}
			return match
		})
		return text, used
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			var changed bool
			list[i], changed = expand(part, env)
			used = used || changed
		}
		return list, used
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			var changed bool
			object[name], changed = expand(part, env)
			used = used || changed
		}
		return object, used
	}
	return value, false
}
