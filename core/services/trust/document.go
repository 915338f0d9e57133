package trust

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/fault"
)

// The values of the file.
const (
	trustFolder = "TRUST_FOLDER" // the key
	trustParent = "TRUST_PARENT" // the folder that holds the key
	doNotTrust  = "DO_NOT_TRUST" // the key
)

// maxBrackets is how many opening brackets of a kind the file may hold: the
// parser calls itself for each, and a process whose stack is full cannot go on.
const maxBrackets = 10_000

const byteOrderMark = "\xef\xbb\xbf"

// document is the text of the file, taken apart.
type document struct {
	text    []byte // without a byte order mark
	end     int    // offset of the closing brace
	members []hujson.ObjectMember
	entries []Entry // one for each member; their Folder is not filled in
}

// parse reads the text of the file.
func parse(path string, data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	lineOf := func(offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	if bytes.Count(data, []byte("[")) > maxBrackets || bytes.Count(data, []byte("{")) > maxBrackets {
		return nil, malformed(path, 0, "it holds more brackets than a list of folders has", nil)
	}
	if !utf8.Valid(data) {
		return nil, malformed(path, lineOf(invalidAt(data)), "it is not UTF-8", nil)
	}
	tree, err := hujson.Parse(data)
	if err != nil { // a comment may end the file, which the parser does not take
		if again, againErr := hujson.Parse(slices.Concat(data, []byte("\n"))); againErr == nil {
			tree, err = again, nil
		}
	}
	if err != nil {
		return nil, malformed(path, 0, strings.TrimPrefix(err.Error(), "hujson: "), err)
	}
	object, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, malformed(path, lineOf(tree.StartOffset), "it holds no object of folders and their trust", nil)
	}
	d := &document{text: data, end: tree.EndOffset - len("}"), members: object.Members}
	for _, m := range object.Members {
		e := Entry{Path: m.Name.Value.(hujson.Literal).String(), Line: lineOf(m.Name.StartOffset)}
		if !filepath.IsAbs(e.Path) {
			return nil, malformed(path, e.Line, fmt.Sprintf("%.200q is not an absolute path", e.Path), nil)
		}
		if l, ok := m.Value.Value.(hujson.Literal); ok && l.Kind() == '"' {
			e.Value = l.String()
		}
		switch e.Value {
		case trustFolder, trustParent:
			e.State = Trusted
		case doNotTrust:
			e.State = Untrusted
		default:
			return nil, malformed(path, lineOf(m.Value.StartOffset), fmt.Sprintf(
				"the value of %.200q is none of %s, %s, %s", e.Path, trustFolder, trustParent, doNotTrust), nil)
		}
		d.entries = append(d.entries, e)
	}
	return d, nil
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

// malformed is the error for a file that cannot be understood. line 0: the
// problem names it.
func malformed(path string, line int, problem string, cause error) error {
	if line > 0 {
		problem = fmt.Sprintf("line %d: %s", line, problem)
	}
	return fault.Wrap(fault.InvalidConfig, "trust.read",
		fmt.Sprintf("The file of trusted folders %s cannot be understood: %s.", path, problem),
		fmt.Sprintf(`Mend it by hand; it holds an object of absolute paths, each with %q, %q or %q.`, trustFolder, trustParent, doNotTrust), cause)
}
