package frontmatter

import (
	"math"
	"strconv"
	"strings"
)

// Node is a value with its place. The zero value is nothing at all.
type Node struct {
	Kind    Kind
	Line    int      // 1-based, in the file
	List    []Node   // of a List
	Members []Member // of a Map, in their order

	scalar any // string, int64, float64, bool or nil
	text   string
}

// Kind says what a [Node] is.
type Kind int

// The kinds.
const (
	Scalar Kind = iota
	List
	Map
)

// Member is a key and its value.
type Member struct {
	Key   string
	Line  int // 1-based, in the file
	Value Node
}

// IsNull reports whether nothing stands there.
func (n Node) IsNull() bool { return n.Kind == Scalar && n.scalar == nil }

// Text returns a text, which in YAML may look like a number or a boolean.
func (n Node) Text() (string, bool) { return n.text, n.Kind == Scalar && n.scalar != nil }

// Number returns a finite number, also one that is written as text.
func (n Node) Number() (float64, bool) {
	switch v := n.scalar.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

// Value returns what stands there as plain values: a text, number, boolean or
// nil, a []any, or a map[string]any, in which the last of equal keys counts.
func (n Node) Value() any {
	switch n.Kind {
	case List:
		all := make([]any, len(n.List))
		for i, item := range n.List {
			all[i] = item.Value()
		}
		return all
	case Map:
		all := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			all[m.Key] = m.Value.Value()
		}
		return all
	}
	return n.scalar
}
