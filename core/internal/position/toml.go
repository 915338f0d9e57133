package position

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

var (
	errShape = errors.New("a key stands for two different things")
	errDeep  = errors.New("a key has too many dots")
)

// maxDots bounds the parts of a key, and with them the memory of a document.
const maxDots = 100

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseTOML reads a document. Offsets count from data's first byte. The error is an
// [*Error].
func ParseTOML(data []byte) (*Table, error) {
	if bytes.HasPrefix(data, byteOrderMark) { // spaces preserve the offsets
		data = slices.Concat([]byte("   "), data[len(byteOrderMark):])
	}
	b := &builder{data: data, lines: linesOf(data)}
	root := &Table{Line: 1}
	built := b.build(root)
	if !errors.Is(built, errDeep) {
		// The unstable parser accepts documents that the decoder refuses, as those in
		// which a key is given twice.
		var whole map[string]any
		if err := toml.Unmarshal(data, &whole); err != nil {
			e := &Error{Message: strings.TrimPrefix(err.Error(), "toml: ")}
			if positioned := (*toml.DecodeError)(nil); errors.As(err, &positioned) {
				e.Line, e.Column = positioned.Position()
			}
			return nil, e
		}
	}
	if built != nil {
		e := &Error{Message: built.Error()}
		e.Line, e.Column = b.lines.place(b.at)
		return nil, e
	}
	return root, nil
}

// builder makes tables of the parser's expressions. They are correct if the document
// is valid.
type builder struct {
	data  []byte
	lines lines
	at    int // offset of the current key or value
}

// node returns a value at the current position.
func (b *builder) node(value any) Node {
	n := Node{Value: value}
	n.Line, n.Column = b.lines.place(b.at)
	return n
}

// table returns an empty table at the current position.
func (b *builder) table() Node {
	n := b.node(nil)
	n.Value = &Table{Line: n.Line}
	return n
}

// member returns a member at the current position.
func (b *builder) member(key string, n Node) *Member {
	m := &Member{Key: key, Node: n}
	m.Line, m.Column = b.lines.place(b.at)
	return m
}

// keys returns the parts of a key, whose position becomes the current one, and the
// offset behind them.
func (b *builder) keys(it unstable.Iterator) (keys []string, end int, err error) {
	for it.Next() {
		raw := it.Node().Raw
		if len(keys) == 0 {
			b.at = int(raw.Offset)
		}
		keys, end = append(keys, string(it.Node().Data)), int(raw.Offset+raw.Length)
		if len(keys) > maxDots {
			return nil, 0, errDeep
		}
	}
	return keys, end, nil
}

// lineEnd returns the offset after the line that contains offset.
func (b *builder) lineEnd(offset int) int {
	if i := bytes.IndexByte(b.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(b.data)
}

func (b *builder) build(root *Table) error {
	var p unstable.Parser
	p.Reset(b.data)
	current := root
	for p.NextExpression() {
		e := p.Expression()
		keys, end, err := b.keys(e.Key())
		switch {
		case err != nil:
		case e.Kind == unstable.Table || e.Kind == unstable.ArrayTable:
			current, err = b.header(root, keys, e.Kind == unstable.ArrayTable)
		default:
			end = int(e.Raw.Offset + e.Raw.Length)
			err = b.assign(current, keys, e.Value(), e.Raw)
		}
		if err != nil {
			return err
		}
		current.Tail = b.lineEnd(end)
	}
	return p.Error()
}

// header returns the table that the header with these keys starts or continues.
func (b *builder) header(root *Table, keys []string, array bool) (*Table, error) {
	t, err := b.descend(root, keys[:len(keys)-1])
	if err != nil {
		return nil, err
	}
	key := keys[len(keys)-1]
	m := t.Find(key)
	if !array {
		if m == nil {
			m = t.Add(b.member(key, b.table()))
			m.Header = "[" + strings.Join(keys, ".") + "]"
		}
		return tableOf(m)
	}
	if m == nil {
		m = t.Add(b.member(key, b.node([]Node{})))
		m.Header = "[[" + strings.Join(keys, ".") + "]]"
	}
	items, ok := m.Value.([]Node)
	if !ok {
		return nil, errShape
	}
	m.Value = append(items, b.table())
	return tableOf(m)
}

func (b *builder) descend(t *Table, keys []string) (*Table, error) {
	for _, key := range keys {
		m := t.Find(key)
		if m == nil {
			m = t.Add(b.member(key, b.table()))
		}
		var err error
		if t, err = tableOf(m); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// tableOf returns the table that keys below m belong to.
func tableOf(m *Member) (*Table, error) {
	value := m.Value
	if items := m.List(); len(items) > 0 {
		value = items[len(items)-1].Value
	}
	if t, ok := value.(*Table); ok {
		return t, nil
	}
	return nil, errShape
}

func (b *builder) assign(t *Table, keys []string, value *unstable.Node, raw unstable.Range) error {
	at := b.at
	n, err := b.convert(value)
	if err != nil {
		return err
	}
	b.at = at
	if t, err = b.descend(t, keys[:len(keys)-1]); err != nil {
		return err
	}
	m := b.member(keys[len(keys)-1], n)
	if len(keys) == 1 {
		m.Start, m.End = int(raw.Offset), int(raw.Offset+raw.Length)
	}
	if t.Find(m.Key) != nil {
		return errShape
	}
	t.Add(m)
	return nil
}

func (b *builder) convert(n *unstable.Node) (out Node, err error) {
	if n.Raw.Length > 0 {
		b.at = int(n.Raw.Offset)
	}
	out = b.node(nil)
	text := string(n.Data)
	switch n.Kind {
	case unstable.String:
		out.Value = text
	case unstable.Bool:
		out.Value = text == "true"
	case unstable.Integer:
		out.Value, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	case unstable.Float:
		if text = strings.ReplaceAll(text, "_", ""); strings.HasSuffix(text, "nan") {
			text = "nan" // ParseFloat accepts no sign before it
		}
		out.Value, err = strconv.ParseFloat(text, 64)
	case unstable.Array:
		items := []Node{}
		for it := n.Children(); it.Next() && err == nil; {
			var item Node
			item, err = b.convert(it.Node())
			items = append(items, item)
		}
		out.Value = items
	case unstable.InlineTable:
		t := &Table{Line: out.Line}
		for it := n.Children(); it.Next() && err == nil; {
			err = b.inline(t, it.Node())
		}
		if len(t.Members) > 0 { // the parser gives an inline table no position
			out.Line, out.Column = t.Members[0].Line, t.Members[0].Column
		}
		t.Line, out.Value = out.Line, t
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		out.Value = Time(text)
	default:
		err = fmt.Errorf("a value of kind %s", n.Kind)
	}
	return out, err
}

// inline adds one `key = value` of an inline table.
func (b *builder) inline(t *Table, n *unstable.Node) error {
	keys, _, err := b.keys(n.Key())
	if err != nil {
		return err
	}
	return b.assign(t, keys, n.Value(), unstable.Range{})
}
