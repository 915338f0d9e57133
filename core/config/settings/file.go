package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// MaxBytes is the size up to which a settings file is read.
const MaxBytes = 1 << 20

// maxBrackets is how many opening brackets of a kind a file may hold: the
// parser calls itself for each, and a process whose stack is full cannot go on.
const maxBrackets = 10_000

const byteOrderMark = "\xef\xbb\xbf"

// read returns the bytes of a regular file of at most [MaxBytes].
func read(ctx context.Context, path string) ([]byte, error) { return readChecked(ctx, path, nil) }

// readChecked is read of a file that check accepts; nil accepts any.
func readChecked(ctx context.Context, path string, check func(fs.FileInfo) error) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return lockedfile.ReadIf(path, MaxBytes, check)
}

// document is a settings file, taken apart.
type document struct {
	text  []byte // without a byte order mark
	lines []int  // offsets at which lines begin
	tree  hujson.Value
}

// syntaxError is a mistake that keeps a file from being read at all.
type syntaxError struct {
	line, column int // 0: unknown
	what         string
}

func (e *syntaxError) Error() string { return e.what }

// parse reads JSON with comments and trailing commas, an object. The error is a
// *syntaxError. Nothing but white space and comments is an empty object, which
// then ends the text.
func parse(data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	d := &document{text: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if at, many := tooManyBrackets(data); many {
		line, column := d.place(at)
		return nil, &syntaxError{line, column, "it holds more brackets than settings have"}
	}
	if !utf8.Valid(data) {
		line, column := d.place(invalidAt(data))
		return nil, &syntaxError{line, column, "it is not UTF-8"}
	}
	// The line end is for a comment that ends the file, which the parser does
	// not take.
	tree, err := hujson.Parse(slices.Concat(data, []byte("\n")))
	if err != nil {
		text := slices.Concat(bytes.TrimRight(data, " \t\r\n"), []byte("\n{}\n"))
		if _, emptyErr := hujson.Parse(text); emptyErr == nil {
			if len(bytes.TrimSpace(data)) == 0 {
				text = []byte("{}\n")
			}
			return parse(text)
		}
		e := &syntaxError{what: strings.TrimPrefix(err.Error(), "hujson: ")}
		if _, scanErr := fmt.Sscanf(e.what, "line %d, column %d:", &e.line, &e.column); scanErr == nil {
			_, e.what, _ = strings.Cut(e.what, ": ")
			if e.line > len(d.lines) || e.line == len(d.lines) && e.column > len(data)-d.lines[e.line-1] { // behind the end
				e.line, e.column = d.place(len(bytes.TrimRight(data, " \t\r\n")))
			}
		}
		return nil, e
	}
	if tree.Value.Kind() != '{' {
		line, column := d.place(tree.StartOffset)
		return nil, &syntaxError{line, column, "it holds no object"}
	}
	d.tree = tree
	return d, nil
}

// tooManyBrackets returns where a text has more opening brackets of a kind than
// the parser is given, texts in it and comments aside.
func tooManyBrackets(data []byte) (at int, many bool) {
	lists, objects := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"' && data[i] != '\n'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			end := -1
			switch rest := data[i:]; {
			case bytes.HasPrefix(rest, []byte("//")):
				end = bytes.IndexByte(rest, '\n')
			case bytes.HasPrefix(rest, []byte("/*")):
				if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
					end += 3
				}
			default:
				continue
			}
			if end < 0 {
				return 0, false
			}
			i += end
		case '[':
			lists++
		case '{':
			objects++
		}
		if max(lists, objects) > maxBrackets {
			return i, true
		}
	}
	return 0, false
}

// place returns the line and column of an offset, 1-based and in bytes.
func (d *document) place(offset int) (line, column int) {
	offset = min(offset, len(d.text))
	line = sort.SearchInts(d.lines, offset+1) // how many begin up to there
	return line, offset - d.lines[line-1] + 1
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

// unread is the problem of a file that cannot be read or understood.
func unread(f File, err error) Problem {
	p := Problem{
		Source: f.Path, Layer: f.Layer, Kind: KindFileRead, Severity: Error, Open: true,
		Remedy: "Make it one that you may read, or remove it.",
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	if e := (*syntaxError)(nil); errors.As(err, &e) {
		p.Kind, p.Line, p.Column = KindSyntax, e.line, e.column
		p.Message = fmt.Sprintf("It is no settings file: %s. Nothing of it is in force.", e.what)
		p.Remedy = "Mend it; it holds one JSON object, in which comments and trailing commas are allowed."
		return p
	}
	p.Message = fmt.Sprintf("It cannot be read (%s): nothing of it is in force.", cause)
	if errors.Is(err, lockedfile.ErrTooLarge) {
		p.Remedy = "Shorten it, or remove it."
	}
	return p
}
