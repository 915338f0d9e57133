package position

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// errDeep is the error of a key that is longer than maxDots.
var errDeep = errors.New("a key has too many dots")

// maxDots bounds the parts of a key, and with them the memory of a document.
const maxDots = 100

var byteOrderMark = []byte("\xef\xbb\xbf")

// origin is how a table of TOML was made, which decides what may be added to it.
type origin uint8

const (
	inline   origin = iota // a value: nothing
	implicit               // by a longer header: keys, after a header of its own
	dotted                 // by keys with dots: such keys, and tables by longer headers
	explicit               // by its header
	item                   // by a header in double brackets
)

// ParseTOML reads a document. Offsets count from data's first byte. The error is an
// [*Error].
//
// The parser of the library accepts any sequence of valid lines. The builder refuses what
// the decoder of the library refuses, such as a key that is given twice. The decoder is
// not used, because it makes a program larger than the parser does by ten times; a fuzz
// test compares the two.
func ParseTOML(data []byte) (*Table, error) {
	if bytes.HasPrefix(data, byteOrderMark) { // spaces preserve the offsets
		data = slices.Concat([]byte("   "), data[len(byteOrderMark):])
	}
	b := &builder{data: slices.Clip(data), lines: linesOf(data)}
	root := &Table{Line: 1, made: explicit}
	err := b.build(root)
	if err == nil {
		return root, nil
	}
	e := &Error{Message: err.Error()}
	if syntax := (*unstable.ParserError)(nil); errors.As(err, &syntax) {
		b.at = max(0, min(len(b.data)-cap(syntax.Highlight), len(b.data)-1)) // it is a slice of data
	}
	e.Line, e.Column = b.lines.place(b.at)
	return nil, e
}

// builder makes tables of the parser's expressions.
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
func (b *builder) table(made origin) Node {
	n := b.node(nil)
	n.Value = &Table{Line: n.Line, made: made}
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
	t, err := b.descend(root, keys[:len(keys)-1], implicit)
	if err != nil {
		return nil, err
	}
	key := keys[len(keys)-1]
	m := t.Find(key)
	switch {
	case array && m == nil:
		m = t.Add(b.member(key, b.node([]Node{b.table(item)})))
		m.Header = "[[" + strings.Join(keys, ".") + "]]"
	case array:
		if last := lastTable(m); last == nil || last.made != item {
			return nil, fmt.Errorf("key %s already exists, and is no array of tables", key)
		}
		m.Value = append(m.List(), b.table(item))
	case m == nil:
		m = t.Add(b.member(key, b.table(explicit)))
		m.Header = "[" + strings.Join(keys, ".") + "]"
	default:
		only, ok := m.Value.(*Table)
		if !ok || only.made != implicit {
			return nil, fmt.Errorf("table %s already exists", key)
		}
		only.made = explicit
	}
	return lastTable(m), nil
}

// descend returns the table that the keys before the last one of a header, or of a key
// with dots, belong to. made is the origin of the missing ones.
func (b *builder) descend(t *Table, keys []string, made origin) (*Table, error) {
	for _, key := range keys {
		m := t.Find(key)
		if m == nil {
			m = t.Add(b.member(key, b.table(made)))
		}
		next := lastTable(m)
		if next == nil || next.made == inline || made == dotted && next.made != dotted {
			return nil, fmt.Errorf("key %s already exists", key)
		}
		t = next
	}
	return t, nil
}

// lastTable returns a table, or the last item of an array if it is one; nil for other values.
func lastTable(m *Member) *Table {
	value := m.Value
	if items := m.List(); len(items) > 0 {
		value = items[len(items)-1].Value
	}
	t, _ := value.(*Table)
	return t
}

func (b *builder) assign(t *Table, keys []string, value *unstable.Node, raw unstable.Range) error {
	at := b.at
	n, err := b.convert(value)
	if err != nil {
		return err
	}
	b.at = at
	if t, err = b.descend(t, keys[:len(keys)-1], dotted); err != nil {
		return err
	}
	m := b.member(keys[len(keys)-1], n)
	if len(keys) == 1 {
		m.Start, m.End = int(raw.Offset), int(raw.Offset+raw.Length)
	}
	if t.Find(m.Key) != nil {
		return fmt.Errorf("key %s is already defined", m.Key)
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
		if out.Value, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64); err != nil {
			err = fmt.Errorf("the number %s does not fit in 64 bits", text)
		}
	case unstable.Float:
		if text = strings.ReplaceAll(text, "_", ""); strings.HasSuffix(text, "nan") {
			text = "nan" // ParseFloat accepts no sign before it
		}
		if out.Value, err = strconv.ParseFloat(text, 64); err != nil {
			err = fmt.Errorf("the number %s is too large", text)
		}
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
		if out.Value = Time(text); !isTime(text, n.Kind) {
			err = fmt.Errorf("%s is no date or time", text)
		}
	default:
		err = fmt.Errorf("a value of kind %s", n.Kind)
	}
	return out, err
}

// isTime reports whether a date and time exists. The parser looks only at its characters.
func isTime(text string, kind unstable.Kind) bool {
	number := func(from, to int) int { // -1: not two or four digits
		if to > len(text) || strings.Trim(text[from:to], "0123456789") != "" {
			return -1
		}
		n, _ := strconv.Atoi(text[from:to]) // four digits at most
		return n
	}
	within := func(n, least, most int) bool { return n >= least && n <= most }
	if kind != unstable.LocalTime {
		year, month, day := number(0, 4), number(5, 7), number(8, 10)
		days := 31
		switch {
		case month == 2 && (year%4 != 0 || year%100 == 0 && year%400 != 0):
			days = 28
		case month == 2:
			days = 29
		case month == 4 || month == 6 || month == 9 || month == 11:
			days = 30
		}
		if year < 0 || !within(month, 1, 12) || !within(day, 1, days) || text[4] != '-' || text[7] != '-' {
			return false
		}
		if text = text[10:]; kind == unstable.LocalDate {
			return text == ""
		}
		if text == "" || !strings.Contains("Tt ", text[:1]) {
			return false
		}
		text = text[1:]
	}
	if !within(number(0, 2), 0, 23) || !within(number(3, 5), 0, 59) || text[2] != ':' {
		return false
	}
	if text = text[5:]; strings.HasPrefix(text, ":") { // seconds are optional
		if !within(number(1, 3), 0, 59) {
			return false
		}
		if text = text[3:]; strings.HasPrefix(text, ".") {
			rest := strings.TrimLeft(text[1:], "0123456789")
			if len(rest) == len(text)-1 {
				return false
			}
			text = rest
		}
	}
	if kind != unstable.DateTime {
		return text == ""
	}
	return text == "Z" || text == "z" ||
		len(text) == 6 && (text[0] == '+' || text[0] == '-') && within(number(1, 3), 0, 23) && text[3] == ':' && within(number(4, 6), 0, 59)
}

// inline adds one `key = value` of an inline table.
func (b *builder) inline(t *Table, n *unstable.Node) error {
	keys, _, err := b.keys(n.Key())
	if err != nil {
		return err
	}
	return b.assign(t, keys, n.Value(), unstable.Range{})
}
