// Package position reads documents whose values know where they stand.
package position

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Error is a mistake that keeps a document from being read.
type Error struct {
	Line, Column int    // 1-based, the column in bytes; 0: unknown
	Message      string // a clause
}

// Error returns the message behind the place, where that is known.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Message
	case e.Column == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// JSON is a value of JSON, with comments and trailing commas.
type JSON struct {
	Text []byte // without a byte order mark
	Tree hujson.Value

	lines []int // offsets at which lines begin
}

// Limit says how deep the values of a document may stand in each other: the parser
// calls itself for each, and a process whose stack is full cannot go on.
type Limit struct {
	Depth   int
	Message string // of the error, a clause
}

// ParseJSON reads JSON. The error is an [*Error].
func ParseJSON(data []byte, limit Limit) (*JSON, error) {
	d := &JSON{Text: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), lines: []int{0}}
	for i, b := range d.Text {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if at, deep := tooDeep(d.Text, limit.Depth); deep {
		return nil, d.Errorf(at, "%s", limit.Message)
	}
	if at := invalidAt(d.Text); at < len(d.Text) {
		return nil, d.Errorf(at, "it is not UTF-8")
	}
	var err error
	// The line end is for a comment that ends the file, which the parser does not take.
	if d.Tree, err = hujson.Parse(slices.Concat(d.Text, []byte("\n"))); err != nil {
		return nil, d.syntax(err)
	}
	return d, nil
}

// syntax returns an error of the parser with its place, which is not behind the end.
func (d *JSON) syntax(err error) *Error {
	e := &Error{Message: strings.TrimPrefix(err.Error(), "hujson: ")}
	if _, scanErr := fmt.Sscanf(e.Message, "line %d, column %d:", &e.Line, &e.Column); scanErr == nil {
		_, e.Message, _ = strings.Cut(e.Message, ": ")
		if last := len(d.lines); e.Line > last || e.Line == last && e.Column > len(d.Text)-d.lines[last-1] {
			e.Line, e.Column = d.Place(len(bytes.TrimRight(d.Text, " \t\r\n")))
		}
	}
	return e
}

// Errorf returns an error with the place of an offset.
func (d *JSON) Errorf(offset int, format string, args ...any) *Error {
	line, column := d.Place(offset)
	return &Error{line, column, fmt.Sprintf(format, args...)}
}

// Place returns the line and column of an offset.
func (d *JSON) Place(offset int) (line, column int) {
	offset = min(offset, len(d.Text))
	line = sort.SearchInts(d.lines, offset+1) // how many begin up to there
	return line, offset - d.lines[line-1] + 1
}

// Line returns the line of an offset.
func (d *JSON) Line(offset int) int {
	line, _ := d.Place(offset)
	return line
}

// Start returns the offset at which a line begins.
func (d *JSON) Start(line int) int { return d.lines[line-1] }

// As returns err as an [*Error], which is without a place if err is none.
func As(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Message: err.Error()}
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

// tooDeep returns where values stand deeper in each other than so many, texts and
// comments aside.
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
				return 0, false // the parser goes no deeper either
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
