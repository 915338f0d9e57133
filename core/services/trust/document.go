package trust

import (
	"fmt"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// The values of entries.
const (
	trustDirectory = "TRUST_FOLDER" // trusts the key
	trustParent    = "TRUST_PARENT" // trusts the parent directory of the key
	doNotTrust     = "DO_NOT_TRUST" // distrusts the key
)

// maxBrackets is the limit of nested brackets.
const maxBrackets = 10_000

const byteOrderMark = "\xef\xbb\xbf"

// document is the parsed text of the file.
type document struct {
	text    []byte // without a byte order mark
	end     int    // offset of the closing brace
	members []hujson.ObjectMember
	entries []Entry // one for each member; their Directory is not set
}

// parse parses the text of the file.
func parse(path string, data []byte) (*document, error) {
	j, err := position.ParseJSON(data, position.Limit{Depth: maxBrackets, Message: "it has more nested brackets than a list of directories"})
	if err != nil {
		return nil, malformed(path, position.As(err))
	}
	wrong := func(offset int, format string, args ...any) error {
		e := j.Errorf(offset, format, args...)
		e.Column = 0 // an entry is a line
		return malformed(path, e)
	}
	object, ok := j.Tree.Value.(*hujson.Object)
	if !ok {
		return nil, wrong(j.Tree.StartOffset, "it contains no object of directories and their trust")
	}
	d := &document{text: j.Text, end: j.Tree.EndOffset - len("}"), members: object.Members}
	for _, m := range object.Members {
		e := Entry{Path: m.Name.Value.(hujson.Literal).String(), Line: j.Line(m.Name.StartOffset)}
		if !filepath.IsAbs(e.Path) {
			return nil, wrong(m.Name.StartOffset, "%.200q is not an absolute path", e.Path)
		}
		if l, ok := m.Value.Value.(hujson.Literal); ok && l.Kind() == '"' {
			e.Value = l.String()
		}
		switch e.Value {
		case trustDirectory, trustParent:
			e.State = Trusted
		case doNotTrust:
			e.State = Untrusted
		default:
			return nil, wrong(m.Value.StartOffset, "the value of %.200q must be one of %s, %s, %s", e.Path, trustDirectory, trustParent, doNotTrust)
		}
		d.entries = append(d.entries, e)
	}
	return d, nil
}

// malformed is the error of an invalid file.
func malformed(path string, problem *position.Error) error {
	return fault.Wrap(fault.InvalidConfig, "trust.read",
		fmt.Sprintf("The file of trusted directories %s is invalid: %v.", path, problem),
		fmt.Sprintf(`Correct it manually; it must contain an object of absolute paths, each with %q, %q or %q.`, trustDirectory, trustParent, doNotTrust), problem)
}
