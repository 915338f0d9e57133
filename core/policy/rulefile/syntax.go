package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// This file alone knows the TOML library, whose parser with positions is
// marked unstable.

// node is a value of a document: string, bool, int64, float64, moment, []node
// or *table.
type node struct {
	value any
	line  int // 1-based
}

// moment is a date or a time, as written.
type moment string

// table is a table of a document, or the document itself. Its entries stand
// in the order of the file.
type table struct {
	line    int // of its header, or of its first key
	tail    int // offset behind the last line that belongs to its header and keys, tables in it not counted
	entries []*entry
	byKey   map[string]*entry
}

// entry is a key with its value.
type entry struct {
	key        string
	node              // line is the key's
	start, end int    // bytes of `key = value`; 0, 0 where a header or a dotted key made it
	header     string // "[key]" or "[[key]]" if a header made it
}

func (t *table) find(key string) *entry { return t.byKey[key] }

func (t *table) add(e *entry) *entry {
	if t.byKey == nil {
		t.byKey = make(map[string]*entry)
	}
	t.byKey[e.key] = e
	t.entries = append(t.entries, e)
	return e
}

// syntaxError says why a document is no TOML.
type syntaxError struct {
	line    int // 1-based; 0 if unknown
	message string
}

var (
	errShape = errors.New("a key stands for two different things")
	errDeep  = errors.New("a key has too many dots")
)

// maxDots bounds how deep a key reaches, and with it the memory that a file
// takes.
const maxDots = 100

// byteOrderMark begins files of some editors. It is no part of TOML.
var byteOrderMark = []byte("\xef\xbb\xbf")

// readTOML reads a document. Offsets count from data's first byte.
func readTOML(data []byte) (*table, *syntaxError) {
	// Blanks keep the offsets as they are.
	if bytes.HasPrefix(data, byteOrderMark) {
		data = append([]byte("   "), data[len(byteOrderMark):]...)
	}
	b := &builder{data: data, lines: newlines(data)}
	root := &table{line: 1}
	built := b.build(root)
	if errors.Is(built, errDeep) {
		return nil, &syntaxError{b.at, built.Error()}
	}
	// The parser lets pass what only the decoder knows to be wrong, as a key
	// that is given twice.
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		if positioned := (*toml.DecodeError)(nil); errors.As(err, &positioned) {
			line, _ := positioned.Position()
			return nil, &syntaxError{line, strings.TrimPrefix(positioned.Error(), "toml: ")}
		}
		return nil, &syntaxError{0, strings.TrimPrefix(err.Error(), "toml: ")}
	}
	if built != nil {
		return nil, &syntaxError{b.at, built.Error()}
	}
	return root, nil
}

// builder makes tables of what the parser finds. They are right if the
// document is.
type builder struct {
	data  []byte
	lines []int // offsets of line breaks
	at    int   // line of the expression at hand
}

func newlines(data []byte) []int {
	var offsets []int
	for i, c := range data {
		if c == '\n' {
			offsets = append(offsets, i)
		}
	}
	return offsets
}

func (b *builder) lineAt(offset int) int { return sort.SearchInts(b.lines, offset) + 1 }

// lineEnd returns the offset behind the line that holds offset.
func (b *builder) lineEnd(offset int) int {
	if i := bytes.IndexByte(b.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(b.data)
}

func (b *builder) build(root *table) error {
	var p unstable.Parser
	p.Reset(b.data)
	current := root
	for p.NextExpression() {
		expression := p.Expression()
		var keys []string
		last := unstable.Range{}
		for it := expression.Key(); it.Next(); {
			if len(keys) == 0 {
				b.at = b.lineAt(int(it.Node().Raw.Offset))
			}
			keys = append(keys, string(it.Node().Data))
			last = it.Node().Raw
			if len(keys) > maxDots {
				return errDeep
			}
		}
		var err error
		switch expression.Kind {
		case unstable.Table, unstable.ArrayTable:
			current, err = b.header(root, keys, expression.Kind == unstable.ArrayTable)
			if err == nil {
				current.tail = b.lineEnd(int(last.Offset + last.Length))
			}
		default:
			raw := expression.Raw
			err = b.assign(current, keys, expression.Value(), raw)
			current.tail = b.lineEnd(int(raw.Offset + raw.Length))
		}
		if err != nil {
			return err
		}
	}
	return p.Error()
}

// header returns the table that the header of these keys begins or continues.
func (b *builder) header(root *table, keys []string, array bool) (*table, error) {
	t, err := b.descend(root, keys[:len(keys)-1])
	if err != nil {
		return nil, err
	}
	key := keys[len(keys)-1]
	e := t.find(key)
	if !array {
		if e == nil {
			e = t.add(&entry{key: key, node: node{&table{line: b.at}, b.at}, header: "[" + strings.Join(keys, ".") + "]"})
		}
		return tableOf(e)
	}
	if e == nil {
		e = t.add(&entry{key: key, node: node{[]node{}, b.at}, header: "[[" + strings.Join(keys, ".") + "]]"})
	}
	items, ok := e.value.([]node)
	if !ok {
		return nil, errShape
	}
	added := &table{line: b.at}
	e.value = append(items, node{added, b.at})
	return added, nil
}

func (b *builder) descend(t *table, keys []string) (*table, error) {
	for _, key := range keys {
		e := t.find(key)
		if e == nil {
			e = t.add(&entry{key: key, node: node{&table{line: b.at}, b.at}})
		}
		next, err := tableOf(e)
		if err != nil {
			return nil, err
		}
		t = next
	}
	return t, nil
}

// tableOf returns the table that keys below e belong to.
func tableOf(e *entry) (*table, error) {
	switch v := e.value.(type) {
	case *table:
		return v, nil
	case []node:
		if len(v) > 0 {
			if t, ok := v[len(v)-1].value.(*table); ok {
				return t, nil
			}
		}
	}
	return nil, errShape
}

func (b *builder) assign(t *table, keys []string, value *unstable.Node, raw unstable.Range) error {
	line := b.at
	n, err := b.convert(value)
	if err != nil {
		return err
	}
	b.at = line
	t, err = b.descend(t, keys[:len(keys)-1])
	if err != nil {
		return err
	}
	e := &entry{key: keys[len(keys)-1], node: node{n.value, line}}
	if len(keys) == 1 {
		e.start, e.end = int(raw.Offset), int(raw.Offset+raw.Length)
	}
	if t.find(e.key) != nil {
		return errShape
	}
	t.add(e)
	return nil
}

func (b *builder) convert(n *unstable.Node) (node, error) {
	if n.Raw.Length > 0 {
		b.at = b.lineAt(int(n.Raw.Offset))
	}
	out := node{line: b.at}
	text := string(n.Data)
	var err error
	switch n.Kind {
	case unstable.String:
		out.value = text
	case unstable.Bool:
		out.value = text == "true"
	case unstable.Integer:
		out.value, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	case unstable.Float:
		out.value, err = strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	case unstable.Array:
		items := []node{}
		for it := n.Children(); it.Next() && err == nil; {
			var item node
			item, err = b.convert(it.Node())
			items = append(items, item)
		}
		out.value = items
	case unstable.InlineTable:
		t := &table{line: b.at}
		for it := n.Children(); it.Next() && err == nil; {
			err = b.inline(t, it.Node())
		}
		out.value = t
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		out.value = moment(text)
	default:
		err = fmt.Errorf("a value of kind %s", n.Kind)
	}
	return out, err
}

// inline adds one `key = value` of an inline table.
func (b *builder) inline(t *table, n *unstable.Node) error {
	var keys []string
	for it := n.Key(); it.Next(); {
		if len(keys) == 0 {
			b.at = b.lineAt(int(it.Node().Raw.Offset))
		}
		keys = append(keys, string(it.Node().Data))
		if len(keys) > maxDots {
			return errDeep
		}
	}
	return b.assign(t, keys, n.Value(), unstable.Range{})
}
