package hookrun

import "github.com/fettle-dev/fettle/core/internal/position"

// kind names the type of a value.
func kind(n position.Node) string {
	switch n.Value.(type) {
	case nil:
		return "null"
	case string, position.Time:
		return "a string"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []position.Node:
		return "a list"
	case *position.Table:
		return "a table"
	}
	return "something else"
}

// Bounds of a document.
const (
	maxBytes    = 1 << 20
	maxBrackets = 10_000
)

// readJSON reads JSON with comments and trailing commas.
func readJSON(data []byte) (position.Node, error) {
	d, err := position.ParseJSON(data, position.Limit{Depth: maxBrackets, Message: "it has too many brackets"})
	if err != nil {
		return position.Node{}, &position.Error{Message: err.Error()} // the message has the line
	}
	return d.Root(), nil
}

func readTOML(data []byte) (position.Node, error) {
	t, err := position.ParseTOML(data)
	return position.Node{Value: t, Line: 1}, err
}

// nodeOf converts a decoded value; all of it has the same line.
func nodeOf(v any, line int) position.Node {
	n := position.Node{Value: v, Line: line}
	switch v := v.(type) {
	case []any:
		items := make([]position.Node, len(v))
		for i := range v {
			items[i] = nodeOf(v[i], line)
		}
		n.Value = items
	case map[string]any:
		t := &position.Table{Line: line}
		for name, value := range v {
			t.Add(&position.Member{Key: name, Line: line, Node: nodeOf(value, line)})
		}
		n.Value = t
	}
	return n
}
