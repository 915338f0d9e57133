package policy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
)

// tri is how sure a match is.
type tri int

const (
	no tri = iota
	maybe
	yes
)

// pathKeys are the arguments that name a place, made absolute for patterns.
var pathKeys = []string{"file_path", "dir_path", "path"}

// arguments are a call's arguments as patterns see them. They are worked out
// when somebody asks, and are for one decision.
type arguments struct {
	call    *Call
	decoded bool
	unclear bool // they are no JSON object, or it cannot be told what they are
	values  map[string]any
	forms   []string // given, absolute; see [arguments.texts]
	real    string   // with paths that lead elsewhere followed; "" if none does
}

// object returns the arguments, and nil if they are no object.
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

// text returns an argument that is a string, and "" for any other.
func (a *arguments) text(key string) string {
	s, _ := a.object()[key].(string)
	return s
}

// match searches a pattern in the arguments: as given, with absolute paths,
// and for a rule that tightens also with paths followed to where they lead.
func (a *arguments) match(re *regexp.Regexp, tightens bool) tri {
	a.object()
	if a.unclear {
		if tightens {
			return maybe
		}
		return no
	}
	if a.forms == nil {
		a.forms, a.real = a.texts(a.values)
	}
	return search(re, a.forms, a.real, tightens)
}

func search(re *regexp.Regexp, forms []string, real string, tightens bool) tri {
	for _, form := range forms {
		if re.MatchString(form) {
			return yes
		}
	}
	if tightens && real != "" && re.MatchString(real) {
		return yes
	}
	return no
}

// texts returns values as canonical text, and again with absolute paths if
// that differs; real has paths followed, and is "" if that is not known.
func (a *arguments) texts(values map[string]any) (forms []string, real string) {
	forms = []string{string(appendCanonical(nil, values, true))}
	if absolute := withPaths(values, a.call.absolute); absolute != "" {
		forms = append(forms, absolute)
	}
	if len(a.call.RealPaths) > 0 {
		real = withPaths(values, func(path string) string { return a.call.follow(a.call.absolute(path)) })
	}
	return forms, real
}

// withPaths returns values as canonical text with other paths in them, and ""
// if none is another.
func withPaths(values map[string]any, other func(string) string) string {
	var changed map[string]any
	for _, key := range pathKeys {
		path, ok := values[key].(string)
		if !ok || path == "" {
			continue
		}
		if to := other(path); to != path {
			if changed == nil {
				changed = maps.Clone(values)
			}
			changed[key] = to
		}
	}
	if changed == nil {
		return ""
	}
	return string(appendCanonical(nil, changed, true))
}

// command returns the forms of the arguments with another command in place of
// the call's.
func (a *arguments) command(text string) (forms []string, real string) {
	values := maps.Clone(a.object())
	if values == nil {
		values = make(map[string]any)
	}
	values["command"] = text
	return a.texts(values)
}

// absolute returns a path as it counts from the call's folder, cleaned. It is
// relative still if the folder is not known.
func (c *Call) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.base(), path)
}

// base is the folder that relative paths count from; "" if nobody knows.
func (c *Call) base() string {
	if c.Dir == "" && len(c.Roots) > 0 {
		return c.Roots[0]
	}
	return c.Dir
}

// follow returns where an absolute path leads, as far as the call knows.
func (c *Call) follow(path string) string {
	if real, ok := c.RealPaths[path]; ok {
		return real
	}
	return path
}

// withPath returns params that name one file.
func withPath(path string) json.RawMessage {
	return append(appendString([]byte(`{"file_path":`), path), '}')
}
