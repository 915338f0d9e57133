package settings

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// target is what a name means that somebody types: a key, a group, or what lies
// some steps down in the map that a key holds.
type target struct {
	node   *node
	steps  []string
	schema map[string]any // of what the steps lead to, or of the key; nil: unknown
}

// targetOf returns what a name means, which may be another name for it.
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

// stepsOf takes the rest of a name apart as a schema says. The names in a map of
// plain values may hold dots.
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

// Resolve returns what a name means that somebody types: the path of a key or a
// group and, of a key that holds a map, the steps in it, as X and command of
// mcpServers.X.command. ok is false for what is none.
func Resolve(name string) (path string, steps []string, ok bool) {
	t, ok := targetOf(name)
	if !ok {
		return "", nil, false
	}
	return t.node.path, t.steps, true
}

// NameIn returns the name under which a key stands in the files of a layout.
func NameIn(l layout.Layout, path string) string {
	const own, other = "context.fileFiltering.respectFettleIgnore", "context.fileFiltering.respectGeminiIgnore"
	if path == own && l.Name == layout.Gemini().Name {
		return other
	}
	return path
}

// At returns what lies some steps down in a value, nil if there is nothing.
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

// with returns a copy of a value that holds another some steps down; nil takes
// out what is there.
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
