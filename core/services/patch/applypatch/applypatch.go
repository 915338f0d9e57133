// Package applypatch parses the input of the tool apply_patch: a patch of several files in the
// format of OpenAI's models, or a unified or git diff. It does no I/O.
//
// [Parse] returns the operations of a patch.
// Hunks are placed and repaired as package patch describes. In addition, the format's anchors limit
// the place of a hunk; see [patch.ParseSection]. Models are trained on a program that takes the
// first place below an anchor. Here every anchor and every hunk has exactly one place, or the
// operation is refused with the lines of all candidates.
//
// # The format
//
//	*** Begin Patch
//	*** Update File: app/main.go
//	*** Move to: cmd/main.go
//	@@ func main() {
//	 	a := 1
//	-	b := 2
//	+	b := 3
//	*** Add File: app/new.txt
//	+first line
//	*** Delete File: app/old.txt
//	*** End Patch
//
// A file's byte-order mark stays, and so does its final newline or the lack of it; but if the last
// lines are removed, the remaining ones keep theirs. A new file ends in a newline, unless `\ No
// newline at end of file` follows its last line.
//
// # Tolerated input
//
//   - The lines Begin Patch and End Patch are both missing, or only the first one is. Without only
//     End Patch the patch may be cut off, and is refused.
//   - Text, a Markdown fence or a shell heredoc around the patch, and several patches in sequence.
//   - White space around a path unless a file has such a name, quotes around a path, and any case of
//     letters in a marker.
//   - The lines ---, +++ and diff --git above the hunks of an update, if they name its file; and
//     hunk headers with numbers.
//   - A unified or git diff between Begin Patch and End Patch.
package applypatch

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
)

// Kind is what an operation does with a file.
type Kind string

// Kinds of operations. They are API: added, never renamed.
const (
	Create Kind = "create" // a file that must not exist
	Update Kind = "update"
	Delete Kind = "delete"
	Move   Kind = "move" // to NewPath, and update unless Diff is nil
)

// Operation is one change of a patch. It is immutable and safe for concurrent use.
type Operation struct {
	Kind    Kind
	Path    string      // as in the patch; not empty
	NewPath string      // of Move; "" for the other kinds
	Line    int         // of the patch, 1-based, where the operation begins
	Diff    *patch.Diff // of the text; nil: an empty file is created, or the file is moved or deleted whatever its text is
	// Ignored lists the tolerated defects of an operation without Diff.
	Ignored []patch.Correction
}

// Patch is a parsed patch. Every path occurs in one operation only, compared as text.
type Patch struct {
	Operations []Operation // in the order of the patch; at least one
	// Corrections lists the tolerated text around the patch; nil: none.
	Corrections []patch.Correction
}

const byteOrderMark = "\ufeff"

// at adds the file and the line of the patch to an error.
func (o *Operation) at(err *fault.Error) *fault.Error {
	e := *err
	e.Message = fmt.Sprintf("%s This concerns %s, from line %d of the patch on.", err.Message, excerpt(o.Path), o.Line)
	return &e
}

// invalid returns an invalid_diff error with the prefix of all refused diffs.
func invalid(op, remedy, format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidDiff, op, "Invalid Diff: "+fmt.Sprintf(format, args...), remedy)
}

// excerpt quotes a line in a message, truncated if it is long.
func excerpt(line string) string {
	return escape.Quote(escape.ClipBytes(strings.TrimRight(line, "\r\n"), 160))
}
