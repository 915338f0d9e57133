package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// node is a value of a TOML or JSON document with its place. value is nil,
// string, bool, float64, []node or object.
type node struct {
	line  int // 1-based
	value any
}

// object is a table: its members by name.
type object map[string]node

// names are the object's members' names, sorted.
func (o object) names() []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kind says in words what a value is.
func (n node) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	case []node:
		return "a list"
	case object:
		return "a table"
	}
	return "something else"
}

// Bounds of a document.
const (
	maxBytes    = 1 << 20
	maxBrackets = 10_000
)

// broken says why a document cannot be read.
type broken struct {
	line    int // 0: not known
	message string
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// readJSON reads a document of JSON, comments and trailing commas allowed.
func readJSON(data []byte) (node, *broken) {
	d, err := position.ParseJSON(data, position.Limit{Depth: maxBrackets, Message: "it holds too many brackets"})
	if err != nil {
		return node{}, &broken{0, err.Error()}
	}
	return ofJSON(&d.Tree, d), nil
}

// lineStarts are the offsets behind line breaks.
func lineStarts(data []byte) []int {
	var starts []int
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func lineAt(starts []int, offset int) int { return sort.SearchInts(starts, offset+1) + 1 }

func ofJSON(v *hujson.Value, d *position.JSON) node {
	n := node{line: d.Line(v.StartOffset)}
	switch value := v.Value.(type) {
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			n.value = value.String()
		case 't', 'f':
			n.value = value.Bool()
		case '0':
			n.value = value.Float()
		}
	case *hujson.Array:
		items := make([]node, len(value.Elements))
		for i := range value.Elements {
			items[i] = ofJSON(&value.Elements[i], d)
		}
		n.value = items
	case *hujson.Object:
		members := object{}
		for i := range value.Members {
			name, _ := value.Members[i].Name.Value.(hujson.Literal) // the parser takes no other names
			members[name.String()] = ofJSON(&value.Members[i].Value, d)
		}
		n.value = members
	}
	return n
}

// readTOML reads a document of TOML.
func readTOML(data []byte) (node, *broken) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		b := &broken{0, strings.TrimPrefix(err.Error(), "toml: ")}
		if positioned := (*toml.DecodeError)(nil); errors.As(err, &positioned) {
			b.line, _ = positioned.Position()
		}
		return node{}, b
	}
	return ofTOML(whole, "", tomlLines(data), 1), nil
}

// ofTOML makes a node of a decoded value; at is its path in lines.
func ofTOML(v any, at string, lines map[string]int, above int) node {
	n := node{line: above}
	if line, ok := lines[at]; ok {
		n.line = line
	}
	switch v := v.(type) {
	case string, bool, float64:
		n.value = v
	case int64:
		n.value = float64(v)
	case []any:
		items := make([]node, len(v))
		for i := range v {
			items[i] = ofTOML(v[i], step(at, fmt.Sprint(i)), lines, n.line)
		}
		n.value = items
	case map[string]any:
		members := object{}
		for name, value := range v {
			members[name] = ofTOML(value, step(at, name), lines, n.line)
		}
		n.value = members
	default: // a date or a time
		n.value = fmt.Sprint(v)
	}
	return n
}

// step goes one step down a path.
func step(at, name string) string { return at + "\x00" + name }

// tomlLines finds the lines of a document's values, by their path. The document
// is one that the decoder takes.
func tomlLines(data []byte) map[string]int {
	w := &lineWalker{starts: lineStarts(data), lines: map[string]int{}, lengths: map[string]int{}}
	var p unstable.Parser
	p.Reset(data)
	current := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = w.header(e)
		case unstable.KeyValue:
			w.assign(current, e)
		}
	}
	return w.lines
}

// lineWalker follows the headers and keys of a document.
type lineWalker struct {
	starts  []int
	lines   map[string]int
	lengths map[string]int // of arrays of tables, by path
	line    int            // of what was found last
}

// header returns the path of the table that a header begins.
func (w *lineWalker) header(e *unstable.Node) string {
	at := ""
	var keys []string
	for it := e.Key(); it.Next(); {
		w.found(it.Node())
		keys = append(keys, string(it.Node().Data))
	}
	for i, key := range keys {
		at = step(at, key)
		if i == len(keys)-1 && e.Kind == unstable.ArrayTable {
			w.note(at)
			w.lengths[at]++
		}
		if n := w.lengths[at]; n > 0 {
			at = step(at, fmt.Sprint(n-1))
		}
	}
	w.note(at)
	return at
}

// assign notes the lines of `key = value` in the table at a path.
func (w *lineWalker) assign(at string, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		w.found(it.Node())
		at = step(at, string(it.Node().Data))
	}
	w.value(at, e.Value())
}

func (w *lineWalker) value(at string, n *unstable.Node) {
	w.found(n)
	w.note(at)
	switch n.Kind {
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); i++ {
			w.value(step(at, fmt.Sprint(i)), it.Node())
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			w.assign(at, it.Node())
		}
		if line, ok := w.firstIn(at, n); ok {
			w.lines[at] = line
		}
	default:
	}
}

// firstIn is the line of the first key of an inline table, whose own place the
// parser does not tell.
func (w *lineWalker) firstIn(at string, n *unstable.Node) (int, bool) {
	for it := n.Children(); it.Next(); {
		for key := it.Node().Key(); key.Next(); {
			line, ok := w.lines[step(at, string(key.Node().Data))]
			return line, ok
		}
	}
	return 0, false
}

func (w *lineWalker) found(n *unstable.Node) {
	if n.Raw.Length > 0 {
		w.line = lineAt(w.starts, int(n.Raw.Offset))
	}
}

func (w *lineWalker) note(at string) {
	if _, known := w.lines[at]; !known {
		w.lines[at] = w.line
	}
}
