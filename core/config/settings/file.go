package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// MaxBytes is the maximum size of a settings file.
const MaxBytes = 1 << 20

// maxBrackets is the maximum nesting of values.
const maxBrackets = 10_000

const byteOrderMark = "\xef\xbb\xbf"

// read returns the bytes of a regular file of at most [MaxBytes].
func read(ctx context.Context, path string) ([]byte, error) { return readChecked(ctx, path, nil) }

// readChecked is read for a file that check accepts; nil accepts any.
func readChecked(ctx context.Context, path string, check func(fs.FileInfo) error) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return lockedfile.ReadIf(path, MaxBytes, check)
}

// document is a parsed settings file.
type document struct{ *position.JSON }

// parse parses JSON with comments and trailing commas; it must be an object. The
// error is a *position.Error. A file with only white space and comments is an
// empty object at the end of the text.
func parse(data []byte) (*document, error) {
	limit := position.Limit{Depth: maxBrackets, Message: "it is nested too deep for settings"}
	d, err := position.ParseJSON(data, limit)
	if err != nil {
		text := []byte("{}\n")
		if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) > 0 {
			text = slices.Concat(bytes.TrimRight(data, " \t\r\n"), []byte("\n{}\n"))
		}
		empty, emptyErr := position.ParseJSON(text, limit)
		if emptyErr != nil {
			return nil, err
		}
		d = empty
	}
	if d.Tree.Value.Kind() != '{' {
		return nil, d.Errorf(d.Tree.StartOffset, "it is not an object")
	}
	return &document{d}, nil
}

// unread returns the problem of a file that cannot be read or parsed.
func unread(f File, err error) fault.Problem {
	p := fault.Problem{
		Path: f.Path, Layer: f.Layer, Kind: KindFileRead, Severity: Error, Open: true,
		Remedy: "Make it readable for you, or remove it.",
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	if e := (*position.Error)(nil); errors.As(err, &e) {
		p.Kind, p.Line, p.Column = KindSyntax, e.Line, e.Column
		p.Message = fmt.Sprintf("It is not a valid settings file: %s. None of its settings applies.", e.Message)
		p.Remedy = "Repair it: it must be one JSON object, in which comments and trailing commas are allowed."
		return p
	}
	p.Message = fmt.Sprintf("It cannot be read (%s); none of its settings applies.", cause)
	if errors.Is(err, lockedfile.ErrTooLarge) {
		p.Remedy = "Shorten it, or remove it."
	}
	return p
}
