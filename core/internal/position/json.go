package position

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// JSON is a JSON document with comments and trailing commas.
type JSON struct {
	Text []byte // without a byte order mark
	Tree hujson.Value

	lines lines
}

// Limit bounds the nesting of a document: the parser is recursive, and a stack overflow
// ends the process.
type Limit struct {
	Depth   int
	Message string // of the error, a clause
}

// ParseJSON reads JSON. The error is an [*Error].
func ParseJSON(data []byte, limit Limit) (*JSON, error) {
	text := bytes.TrimPrefix(data, byteOrderMark)
	d := &JSON{Text: text, lines: linesOf(text)}
	if at, deep := tooDeep(d.Text, limit.Depth); deep {
		return nil, d.Errorf(at, "%s", limit.Message)
	}
	if at := invalidAt(d.Text); at < len(d.Text) {
		return nil, d.Errorf(at, "it is not UTF-8")
	}
	var err error
	// The parser requires a line end after a comment at the end of the file.
	if d.Tree, err = hujson.Parse(slices.Concat(d.Text, []byte("\n"))); err != nil {
		return nil, d.syntax(err)
	}
	return d, nil
}

// syntax returns an error of the parser with its position, which is never behind the
// end.
func (d *JSON) syntax(err error) *Error {
	e := &Error{Message: strings.TrimPrefix(err.Error(), "hujson: ")}
	place, message, _ := strings.Cut(e.Message, ": ")
	line, column, _ := strings.Cut(strings.TrimPrefix(place, "line "), ", column ")
	lineAt, noLine := strconv.Atoi(line)
	columnAt, noColumn := strconv.Atoi(column)
	if noLine == nil && noColumn == nil {
		e.Line, e.Column, e.Message = lineAt, columnAt, message
		if last := len(d.lines); e.Line > last || e.Line == last && e.Column > len(d.Text)-d.lines[last-1] {
			e.Line, e.Column = d.Place(len(bytes.TrimRight(d.Text, " \t\r\n")))
		}
	}
	return e
}

// Errorf returns an error with the position of an offset.
func (d *JSON) Errorf(offset int, format string, args ...any) *Error {
	line, column := d.Place(offset)
	return &Error{line, column, fmt.Sprintf(format, args...)}
}

// Place returns the line and column of an offset.
func (d *JSON) Place(offset int) (line, column int) {
	return d.lines.place(min(offset, len(d.Text)))
}

// Line returns the line of an offset.
func (d *JSON) Line(offset int) int {
	line, _ := d.Place(offset)
	return line
}

// Start returns the offset at which a line begins.
func (d *JSON) Start(line int) int { return d.lines[line-1] }

// Root returns the document as a [Node]. Numbers are float64.
func (d *JSON) Root() Node { return d.node(&d.Tree) }

func (d *JSON) node(v *hujson.Value) (n Node) {
	n.Line, n.Column = d.Place(v.StartOffset)
	switch value := v.Value.(type) {
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			n.Value = value.String()
		case 't', 'f':
			n.Value = value.Bool()
		case '0':
			n.Value = value.Float()
		}
	case *hujson.Array:
		items := make([]Node, len(value.Elements))
		for i := range value.Elements {
			items[i] = d.node(&value.Elements[i])
		}
		n.Value = items
	case *hujson.Object:
		t := &Table{Line: n.Line}
		for i := range value.Members {
			m := &Member{Node: d.node(&value.Members[i].Value)}
			name, _ := value.Members[i].Name.Value.(hujson.Literal) // the parser accepts no other names
			m.Key = name.String()
			m.Line, m.Column = d.Place(value.Members[i].Name.StartOffset)
			t.Add(m)
		}
		n.Value = t
	}
	return n
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// tooDeep returns the offset at which values are nested deeper than most. Strings and
// comments are skipped.
func tooDeep(data []byte, most int) (at int, deep bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"' && data[i] != '\n'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			rest, end := data[i:], 0
			if bytes.HasPrefix(rest, []byte("//")) {
				end = bytes.IndexByte(rest, '\n')
			} else if bytes.HasPrefix(rest, []byte("/*")) {
				if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
					end += 3
				}
			}
			if end < 0 {
				return 0, false // the parser stops here too
			}
			i += end
		case '[', '{':
			if depth++; depth > most {
				return i, true
			}
		case ']', '}':
			depth--
		}
	}
	return 0, false
}
