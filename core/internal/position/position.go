// Package position reads JSON with comments and TOML into values that carry their line
// and column.
package position

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
)

// Error is a syntax error of a document.
type Error struct {
	Line, Column int    // 1-based, the column in bytes; 0: unknown
	Message      string // a clause
}

// Error returns the message, preceded by the position if that is known.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Message
	case e.Column == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// As returns err as an [*Error]; an error of another type has no position.
func As(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Message: err.Error()}
}

// Node is a value of a document.
type Node struct {
	// Value is nil, a string, bool, int64, float64, [Time], []Node or [*Table].
	Value        any
	Line, Column int // 1-based, the column in bytes, for YAML in characters

	text string // of a YAML number or boolean, as written
}

// Time is a date or time of TOML, as written.
type Time string

// Table is a table of TOML, an object of JSON or a mapping of YAML. The zero Table
// is empty.
type Table struct {
	Members []*Member // in the order of the document
	Line    int       // of its header, or of its first key
	Tail    int       // TOML: offset behind the last line of its header and keys, tables in it excluded

	byKey map[string]*Member
	made  origin // TOML
}

// Member is a key with its value.
type Member struct {
	Key          string
	Line, Column int // of the key; those of the value are Node.Line and Node.Column
	Node
	// TOML: the bytes of `key = value`; 0, 0 if a header or a dotted key made it.
	Start, End int
	Header     string // TOML: "[key]" or "[[key]]" if a header made it
}

// Find returns the member with a key, the last one of equal keys; nil if there is none.
func (t *Table) Find(key string) *Member { return t.byKey[key] }

// Keys returns the keys without repetition, sorted.
func (t *Table) Keys() []string { return slices.Sorted(maps.Keys(t.byKey)) }

// Add adds a member and returns it.
func (t *Table) Add(m *Member) *Member {
	if t.byKey == nil {
		t.byKey = make(map[string]*Member)
	}
	t.byKey[m.Key] = m
	t.Members = append(t.Members, m)
	return m
}

// Plain returns the members as a map of plain values, see [Node.Plain].
func (t *Table) Plain() map[string]any {
	all := make(map[string]any, len(t.Members))
	for _, m := range t.Members {
		all[m.Key] = m.Plain()
	}
	return all
}

// Members returns the members of a table; nil for any other value.
func (n Node) Members() []*Member {
	if t, ok := n.Value.(*Table); ok {
		return t.Members
	}
	return nil
}

// List returns the items of a list; nil for any other value.
func (n Node) List() []Node {
	items, _ := n.Value.([]Node)
	return items
}

// Written returns the node with a number or boolean of YAML, and its text; see [Node.Text].
func (n Node) Written(value any, text string) Node {
	n.Value, n.text = value, text
	return n
}

// Text returns a string, or a number or boolean of YAML as written.
func (n Node) Text() (string, bool) {
	if text, ok := n.Value.(string); ok {
		return text, true
	}
	return n.text, n.text != ""
}

// Number returns a number, which may be infinite or NaN.
func (n Node) Number() (float64, bool) {
	if i, ok := n.Value.(int64); ok {
		return float64(i), true
	}
	f, ok := n.Value.(float64)
	return f, ok
}

// Plain returns a value as encoding/json decodes it into an any, except that integers
// of TOML stay int64. Dates and times are strings.
func (n Node) Plain() any {
	switch v := n.Value.(type) {
	case []Node:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = item.Plain()
		}
		return all
	case *Table:
		return v.Plain()
	case Time:
		return string(v)
	}
	return n.Value
}

// lines are the offsets at which the lines of a text begin.
type lines []int

func linesOf(text []byte) lines {
	l := lines{0}
	for i, b := range text {
		if b == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// place returns the line and column of an offset.
func (l lines) place(offset int) (line, column int) {
	line = sort.SearchInts(l, offset+1) // how many begin up to there
	return line, offset - l[line-1] + 1
}
