package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/escape"

	"github.com/fettle-dev/fettle/core/fault"
)

// entry is one layer's value of a key.
type entry struct {
	key          *Key
	layer        Layer
	source       string // path of the file, or as Problem.Source
	line, column int
	written      any             // the value as written
	value        any             // with variables expanded, and in the right type
	spots        map[string]spot // of a list: the position of each text in it
	ofProject    bool            // set by the project, or with a variable of its .env file
	alias        bool            // by another name, or a short form
	filled       bool            // variables were expanded
	secrets      []string        // their values that look secret
	group        *node           // of the short form; nil if it is none
	node         *hujson.Value   // the value, or the whole short form; nil outside of files
	doc          *document
	groups       map[string][]int // of hooks: the lines of each event's groups
}

// layerOf is the content of one source.
type layerOf struct {
	layer    Layer
	source   string
	entries  map[string]*entry
	problems []fault.Problem
	reported map[fault.Severity]int
	env      func(name string) (string, bool) // for variables in texts
	literal  bool                             // texts are not expanded, which is reported

	ofProject bool            // it is the project's, which cannot configure the confinement of commands
	projects  map[string]bool // names of the variables set by the project's .env files
}

// spot is a position in a file, 1-based; zero outside of files.
type spot struct{ line, column int }

func newLayer(l Layer, source string) *layerOf {
	return &layerOf{layer: l, source: source, entries: map[string]*entry{}, reported: map[fault.Severity]int{}, env: noVariables}
}

// full reports whether the limit of problems of a severity is reached.
func (l *layerOf) full(s fault.Severity) bool { return l.reported[s] > maxProblems }

// report records a problem.
func (l *layerOf) report(p fault.Problem) {
	if l.full(p.Severity) {
		return
	}
	if l.reported[p.Severity]++; l.full(p.Severity) {
		p = fault.Problem{Kind: KindMore, Severity: p.Severity, Message: "There are more such problems than are reported here."}
	}
	p.Path = cmp.Or(p.Path, l.source)
	p.Layer = l.layer
	l.problems = append(l.problems, p)
}

// collect collects the members of a group's object.
func (l *layerOf) collect(doc *document, n *node, object *hujson.Object, alias bool) {
	for i := range object.Members {
		m := &object.Members[i]
		name := m.Name.Value.(hujson.Literal).String() //nolint:errcheck // the parser takes no other names
		at := join(n.path, name)
		line, column := doc.Place(m.Name.StartOffset)
		below, other := n.below[name], alias
		if below == nil && !strings.Contains(name, ".") {
			below, other = otherPlace(at), true
		}
		switch {
		case below != nil:
			l.give(doc, below, &m.Value, at, other)
		case at == "$schema", l.full(Warning):
		case isForeign(at):
			l.report(fault.Problem{Line: line, Column: column, Key: at, Kind: KindUnused, Severity: Notice,
				Message: "The key belongs to another program; fettle does not read it."})
		default:
			p := l.unknown(at, line, column)
			if Means("tools.sandbox", p.Nearest) && bytes.Contains(lettersOf(doc.Text[m.Value.StartOffset:m.Value.EndOffset]), []byte("sandbox")) {
				p.Nearest, p.Remedy = "tools.sandbox", fmt.Sprintf("Did you mean %s, and tools.sandbox in it?", p.Nearest)
			}
			l.report(p)
		}
	}
}

// otherPlace returns the key or group for an alternative path.
func otherPlace(path string) *node {
	for _, a := range aliases() {
		if a.from == path {
			return nodeAt(a.to)
		}
	}
	return nil
}

// named returns the key or group of a name, which may be an alternative one for
// it or for its group; nil if there is none.
func named(path string) *node {
	if n := nodeAt(path); n != nil {
		return n
	}
	for _, a := range aliases() {
		if rest, ok := strings.CutPrefix(path, a.from); ok && (rest == "" || rest[0] == '.') {
			if n := nodeAt(a.to + rest); n != nil {
				return n
			}
		}
	}
	return nil
}

// nodeAt returns the key or group at a path, nil if there is none.
func nodeAt(path string) *node {
	n := known().root
	for _, name := range strings.Split(path, ".") {
		if n = n.below[name]; n == nil {
			return nil
		}
	}
	return n
}

func isForeign(path string) bool {
	return strings.HasPrefix(path, "ui.") || slices.Contains(foreign(), path)
}

// unknown returns the problem of an unknown key. If it resembles a protecting
// one, in a file that is not a project's, the problem states that.
func (l *layerOf) unknown(path string, line, column int) fault.Problem {
	path = cmp.Or(escape.ClipBytes(path, maxShown), `""`)
	p := fault.Problem{Line: line, Column: column, Key: path, Kind: KindUnknownKey, Severity: Warning,
		Message: "The key is unknown; it has no effect.", Nearest: Nearest(path)}
	switch {
	case p.Nearest == path:
		p.Remedy = fmt.Sprintf("Write it as a nested object: %s.", nested(path))
	case p.Nearest != "":
		p.Remedy = fmt.Sprintf("Did you mean %s?", p.Nearest)
	default:
		p.Remedy = "See docs/configuration.md for the keys."
	}
	if n := named(p.Nearest); p.Nearest != "" && n != nil && !l.ofProject && n.protects() {
		p.Open = true
		p.Message += fmt.Sprintf(" If %s was meant, its protection is missing.", p.Nearest)
	}
	return p
}

// maxShown is the maximum number of bytes of a name in a message.
const maxShown = 200

// nested returns a path as it is written in a file.
func nested(path string) string {
	names := strings.Split(path, ".")
	return `{"` + strings.Join(names, `": {"`) + `": …` + strings.Repeat("}", len(names))
}

// give adds the value of a key or a group. path is its position.
func (l *layerOf) give(doc *document, n *node, v *hujson.Value, path string, alias bool) {
	object, isObject := v.Value.(*hujson.Object)
	if n.key == nil && isObject {
		l.collect(doc, n, object, alias)
		return
	}
	line, column := doc.Place(v.StartOffset)
	e := &entry{layer: l.layer, source: l.source, line: line, column: column, alias: alias, node: v, doc: doc}
	value, err := decode(v)
	if err != nil {
		l.refuse(n, e, path, err.Error())
		return
	}
	if n.key != nil {
		e.key, e.written = n.key, value
		l.add(e)
		return
	}
	keys := long(n.path, value)
	if keys == nil {
		e.written = value
		l.refuse(n, e, path, "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		part := keys[name]
		short := *e
		short.key, short.written, short.alias, short.group = n.below[name].key, part, true, n
		l.add(&short)
	}
}

// decode decodes a JSON value as encoding/json does.
func decode(v *hujson.Value) (any, error) {
	plain := v.Clone()
	plain.Standardize()
	var value any
	if err := json.Unmarshal(plain.Pack(), &value); err != nil {
		if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
			return nil, fmt.Errorf("the %s is too large for a number", e.Value)
		}
		return nil, fmt.Errorf("the value cannot be read: %w", err)
	}
	return value, nil
}

// add stores an entry, unless one with precedence for its key exists.
func (l *layerOf) add(e *entry) {
	if old := l.entries[e.key.Path]; old != nil {
		p := fault.Problem{Line: e.line, Column: e.column, Key: e.key.Path, Kind: KindTwice, Severity: Warning}
		switch {
		case !e.alias && !old.alias, e.alias && old.alias:
			p.Message = fmt.Sprintf("The key occurs twice, first in line %d; the later one applies.", old.line)
		case e.alias:
			p.Message = fmt.Sprintf("The key occurs a second time, under another name; line %d applies.", old.line)
			l.report(p)
			return
		default:
			p.Message = fmt.Sprintf("The key occurs under another name too, in line %d; this one applies.", old.line)
		}
		p.Remedy = "Remove one of them."
		l.report(p)
	}
	l.entries[e.key.Path] = e
}

// noVariables does not expand variables.
func noVariables(string) (string, bool) { return "", false }
