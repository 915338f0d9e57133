package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
)

// unknownEvents reports hooks for unknown events.
func (l *layerOf) unknownEvents(e *entry) {
	var events []string
	for _, known := range hooks.Events() {
		events = append(events, string(known))
	}
	given, _ := e.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(events, name) || l.full(Warning) {
			continue
		}
		p := fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: escape.ClipBytes("hooks."+name, maxShown), Kind: KindUnknownKey, Severity: Warning,
			Message: "The event is unknown; its hooks do not run.", Nearest: NearestOf(name, events)}
		if e.node != nil {
			if n := e.node.Find(pointer([]string{name})); n != nil {
				p.Line, p.Column = e.doc.Place(n.StartOffset)
			}
		}
		if p.Nearest != "" {
			p.Remedy = fmt.Sprintf("Did you mean %s?", p.Nearest)
		}
		l.report(p)
	}
}

// unknownNames reports and drops unknown names in a structured value.
func (l *layerOf) unknownNames(e *entry, value any, schema map[string]any, steps []string) {
	switch v := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, part := range v {
			l.unknownNames(e, part, items, append(slices.Clone(steps), strconv.Itoa(i)))
		}
	case map[string]any:
		properties, closed := schema["properties"].(map[string]any)
		others, _ := schema["additionalProperties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(steps), name)
			below, ok := properties[name].(map[string]any)
			if !ok && closed {
				delete(v, name)
				if l.full(Warning) {
					continue
				}
				p := fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: escape.ClipBytes(e.key.Path+dotted(pointer(at)), maxShown), Kind: KindUnknownKey, Severity: Warning,
					Message: "The key is unknown; it has no effect.", Nearest: NearestOf(name, slices.Collect(maps.Keys(properties)))}
				if e.node != nil {
					if n := e.node.Find(pointer(at)); n != nil {
						p.Line, p.Column = e.doc.Place(n.StartOffset)
					}
				}
				if p.Nearest != "" {
					p.Remedy = fmt.Sprintf("Did you mean %s?", p.Nearest)
				}
				l.report(p)
				continue
			}
			if !ok {
				below = others
			}
			l.unknownNames(e, v[name], below, at)
		}
	}
}

// without returns a value without the parts at the JSON pointers in cuts. at is
// the pointer of the value itself.
func without(value any, cuts map[string]bool, at string) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, part := range v {
			if below := at + pointer([]string{name}); !cuts[below] {
				kept[name] = without(part, cuts, below)
			}
		}
		return kept
	case []any:
		kept := []any{}
		for i, part := range v {
			if below := at + pointer([]string{strconv.Itoa(i)}); !cuts[below] {
				kept = append(kept, without(part, cuts, below))
			}
		}
		return kept
	}
	return value
}

// pointerSteps splits a JSON pointer.
func pointerSteps(at string) []string {
	if at == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	for i, s := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return steps
}

func pointer(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// dotted converts a JSON pointer to the continuation of a key.
func dotted(at string) string {
	var b strings.Builder
	for _, s := range pointerSteps(at) {
		b.WriteString("." + s)
	}
	return escape.ClipBytes(b.String(), maxShown)
}
