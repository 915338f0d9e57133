package policy

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tri is the certainty of a match.
type tri int

const (
	no tri = iota
	maybe
	yes
)

// pathKeys are the arguments that contain a path; listKeys contain several, or
// patterns.
var (
	pathKeys = []string{"file_path", "dir_path", "path"}
	listKeys = []string{"paths", "include"}
)

// arguments are a call's arguments in the forms that patterns are searched in.
// They are computed on demand, for one decision.
type arguments struct {
	call    *Call
	decoded bool
	unclear bool // they are not a JSON object, or ambiguous
	values  map[string]any
	brief   *brief // of long arguments, while they are not decoded
	texts   *texts
	line    *commandLine // of a shell call, if parsed
}

// texts are the forms of arguments in which patterns are searched. They differ in
// the form of paths.
type texts struct {
	given  string   // unchanged; "": as the first of plain
	plain  []string // cleaned: relative to the call's directory, and absolute
	seen   []string // with links resolved, likewise; nil: as plain
	real   string   // with links resolved, if the workspace itself is a link; "": as seen
	detour bool     // a list contains a path through a parent directory
}

// object returns the arguments, or nil if they are not an object.
func (a *arguments) object() map[string]any {
	if !a.decoded {
		a.decoded = true
		value, err := decodeArgs(a.call.Params)
		if err == nil {
			a.values, _ = value.(map[string]any)
		}
		a.unclear = a.unclear || a.values == nil
	}
	return a.values
}

// text returns a string argument, and "" for any other.
func (a *arguments) text(key string) string {
	s, _ := a.value(key).(string)
	return s
}

// value returns an argument; nil: there is none. Of long arguments, such as the content of a file, it
// decodes only the short texts.
func (a *arguments) value(key string) any {
	if !a.decoded && len(a.call.Params) > longText {
		if a.brief == nil {
			a.brief = briefOf(a.call.Params)
		}
		if a.brief.values != nil && !a.brief.omitted[key] {
			return a.brief.values[key]
		}
	}
	return a.object()[key]
}

// match searches for a pattern in the arguments; see [texts.match].
func (a *arguments) match(re *regexp.Regexp, tightens bool) tri {
	a.object()
	switch {
	case a.unclear && tightens:
		return maybe
	case a.unclear:
		return no
	}
	if a.texts == nil {
		a.texts = a.textsOf(a.values)
	}
	if a.texts.match(re, tightens) {
		return yes
	}
	return no
}

// holds reports whether a form of the arguments contains a text.
func (a *arguments) holds(text string) bool {
	if a.object(); a.unclear {
		return true
	}
	if a.texts == nil {
		a.texts = a.textsOf(a.values)
	}
	t := a.texts
	has := func(form string) bool { return strings.Contains(form, text) }
	return has(t.given) || has(t.real) || slices.ContainsFunc(t.plain, has) || slices.ContainsFunc(t.seen, has)
}

// match reports whether a pattern is found. One of a rule that tightens is
// searched in all forms. One of a rule that allows has to be found in a cleaned
// form, so that docs/../x is not in docs, and also in one with links resolved.
func (t *texts) match(re *regexp.Regexp, tightens bool) bool {
	if tightens {
		return t.given != "" && re.MatchString(t.given) || slices.ContainsFunc(t.plain, re.MatchString) ||
			slices.ContainsFunc(t.seen, re.MatchString) || t.real != "" && re.MatchString(t.real)
	}
	return !t.detour && slices.ContainsFunc(t.plain, re.MatchString) &&
		(t.seen == nil || slices.ContainsFunc(t.seen, re.MatchString))
}

// textsOf computes the forms of values.
func (a *arguments) textsOf(values map[string]any) *texts {
	c := a.call
	t := &texts{detour: detour(values)}
	given := string(appendCanonical(nil, values, true))
	forms := func(to func(string) string) []string {
		text := func(to func(string) string) string {
			if other, differs := withPaths(values, to); differs {
				return string(appendCanonical(nil, other, true))
			}
			return given
		}
		relative := text(func(path string) string { return c.relative(path, to(path)) })
		if absolute := text(to); absolute != relative {
			return []string{relative, absolute}
		}
		return []string{relative}
	}
	if t.plain = forms(c.absolute); t.plain[0] != given {
		t.given = given
	}
	if len(c.RealPaths) == 0 {
		return t
	}
	differs := func(leads func(string) string) bool {
		return slices.ContainsFunc(pathKeys, func(key string) bool {
			path, _ := values[key].(string)
			return path != "" && leads(c.absolute(path)) != c.absolute(path)
		})
	}
	if differs(c.seen) {
		t.seen = forms(func(path string) string { return c.seen(c.absolute(path)) })
	}
	if differs(c.follow) {
		other, _ := withPaths(values, func(path string) string { return c.follow(c.absolute(path)) })
		t.real = string(appendCanonical(nil, other, true))
	}
	return t
}

// withPaths returns values with paths replaced, and reports whether any has
// changed.
func withPaths(values map[string]any, other func(string) string) (map[string]any, bool) {
	changed := values
	differs := false
	for _, key := range pathKeys {
		path, ok := values[key].(string)
		if !ok || path == "" {
			continue
		}
		if to := other(path); to != path {
			if !differs {
				changed, differs = maps.Clone(values), true
			}
			changed[key] = to
		}
	}
	return changed, differs
}

// detour reports whether a list among values contains a path through a parent
// directory.
func detour(values map[string]any) bool {
	for _, key := range listKeys {
		list, ok := values[key].([]any)
		if !ok {
			list = []any{values[key]}
		}
		for _, e := range list {
			path, _ := e.(string)
			if strings.Contains(path, "..") && slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..") {
				return true
			}
		}
	}
	return false
}

// command returns the forms of the arguments with the call's command replaced.
func (a *arguments) command(text string) *texts {
	values := maps.Clone(a.object())
	if values == nil {
		values = make(map[string]any)
	}
	values["command"] = text
	return a.textsOf(values)
}

// absolute returns a path resolved against the call's directory, cleaned. It
// stays relative if the directory is unknown.
func (c *Call) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.base(), path)
}

// relative returns an absolute path relative to the call's directory. Outside of
// it, the path is absolute if the given one is, or if it has changed.
func (c *Call) relative(given, path string) string {
	base := c.base()
	switch {
	case base != "" && beneath(base, path):
		rest := strings.TrimPrefix(path[len(filepath.Clean(base)):], string(filepath.Separator))
		return cmp.Or(rest, ".")
	case !filepath.IsAbs(given) && c.absolute(given) == path:
		return filepath.Clean(given)
	}
	return path
}

// base returns the directory that relative paths are resolved against; "" if
// unknown.
func (c *Call) base() string {
	if c.Dir == "" && len(c.Roots) > 0 {
		return c.Roots[0]
	}
	return c.Dir
}

// follow returns the target of an absolute path, as far as the call knows it.
func (c *Call) follow(path string) string {
	if real, ok := c.RealPaths[path]; ok {
		return real
	}
	return path
}

// seen returns the target of an absolute path under the name of the workspace,
// which may itself be reached through a link: path, unless a link in the
// workspace leads elsewhere.
func (c *Call) seen(path string) string {
	real := c.follow(path)
	if real == path {
		return path
	}
	seen := real
	for _, anchor := range c.anchors() {
		leads := filepath.Clean(c.follow(anchor))
		if !beneath(leads, real) {
			continue
		}
		at := filepath.Join(anchor, strings.TrimPrefix(real, leads))
		if at == path {
			return path
		}
		if seen == real {
			seen = at
		}
	}
	return seen
}

// anchors returns the absolute directories that paths of the workspace are
// relative to.
func (c *Call) anchors() []string {
	if base := c.base(); base != "" && !slices.Contains(c.Roots, base) {
		return append(slices.Clip(c.Roots), base)
	}
	return c.Roots
}

// withPath returns params that name one file.
func withPath(path string) json.RawMessage {
	return append(appendString([]byte(`{"file_path":`), path), '}')
}
