package settings

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// target is the meaning of a name typed by the user: a key, a group, or a path
// within the map of a key.
type target struct {
	node   *node
	steps  []string
	schema map[string]any // of the value that the steps lead to, or of the key; nil: unknown
}

// targetOf resolves a name, which may be an alternative one.
func targetOf(name string) (target, bool) {
	if n := named(name); n != nil {
		t := target{node: n}
		if n.key != nil {
			t.schema = n.key.schema()
		}
		return t, true
	}
	for i := range name {
		if name[i] != '.' {
			continue
		}
		if n := named(name[:i]); n != nil && n.key != nil && n.key.kind == aMap {
			steps, schema := stepsOf(n.key.schema(), name[i+1:])
			return target{n, steps, schema}, !slices.Contains(steps, "")
		}
	}
	return target{}, false
}

// stepsOf splits the rest of a name according to a schema. The names in a map of
// plain values may contain dots.
func stepsOf(schema map[string]any, rest string) (steps []string, of map[string]any) {
	properties, isObject := schema["properties"].(map[string]any)
	others, isMap := schema["additionalProperties"].(map[string]any)
	if isMap && others["type"] != "object" {
		return []string{rest}, others
	}
	name, tail, more := strings.Cut(rest, ".")
	switch {
	case isObject:
		of, _ = properties[name].(map[string]any)
	case isMap:
		of = others
	}
	if !more {
		return []string{name}, of
	}
	below, of := stepsOf(of, tail)
	return append([]string{name}, below...), of
}

// Resolve resolves a name typed by the user: it returns the path of a key or a
// group and, for a key that holds a map, the steps within it, such as X and
// command of mcpServers.X.command. ok is false for an unknown name.
func Resolve(name string) (path string, steps []string, ok bool) {
	t, ok := targetOf(name)
	if !ok {
		return "", nil, false
	}
	return t.node.path, t.steps, true
}

// NameIn returns the name of a key in the files of a layout.
func NameIn(l layout.Layout, path string) string {
	const own, other = "context.fileFiltering.respectFettleIgnore", "context.fileFiltering.respectGeminiIgnore"
	if path == own && l.Name == layout.Gemini().Name {
		return other
	}
	return path
}

// At returns the value at some steps within a value, nil if there is none.
func At(value any, steps []string) any {
	for _, name := range steps {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// with returns a copy of a value with the part at some steps replaced; nil
// removes the part.
func with(value any, steps []string, part any) any {
	if len(steps) == 0 {
		return part
	}
	object := cloneMap(value)
	if object[steps[0]] = with(object[steps[0]], steps[1:], part); object[steps[0]] == nil {
		delete(object, steps[0])
	}
	return object
}
