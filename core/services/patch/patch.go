package patch

import (
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// contextLines is how many unchanged lines a corrected fragment shows on
// either side of a change.
const contextLines = 3

// Diff is a unified diff for one file as [Parse] understood it. It is
// immutable and safe for concurrent use; the zero value holds no hunk, and
// [Correct] refuses it.
type Diff struct {
	oldName, newName string // as stated, without a/ and b/; "" where absent
	hunks            []hunk
	forgiven         []Correction // about the diff as a whole
	crlf             bool         // its own structure lines end in CRLF, so one CR says nothing about the file
	doubled          bool         // with crlf: some lines end in more than one CR, so the others state LF
	cut              bool         // its text ends inside the last line of the last hunk
}

// Names returns the file names that the diff states, "" where it states none.
// They have no influence on what is patched (FS-67).
func (d *Diff) Names() (oldName, newName string) { return d.oldName, d.newName }

// IsFor reports whether the diff names the file at path, or none. A name stands
// for every path that ends in it.
func (d *Diff) IsFor(path string) bool {
	named := false
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")
	for _, name := range []string{d.oldName, d.newName} {
		if name == "" || name == "/dev/null" {
			continue
		}
		named = true
		if strings.HasSuffix(path, "/"+strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/")) {
			return true
		}
	}
	return !named
}

// hunk is one hunk of a diff.
type hunk struct {
	number int    // 1-based, in the diff's order
	head   header // what its @@ line says
	lines  []line
	// tail is how many empty lines follow the hunk's last line. They may be
	// context without its blank or mere spacing, so they are evidence for a
	// place but never needed.
	tail         int
	countsHold   bool // the header's counts fit the lines
	numbered     bool // the header's position can be used
	blanksMissed bool // a context line came without its leading blank
}

// line is one line of a hunk.
type line struct {
	op    gitdiff.LineOp
	text  string // without prefix and line ending
	cr    int    // carriage returns before its line feed
	noEOL bool   // the marker "\ No newline at end of file" follows
	ends  bool   // added, and a removed line of the same change differs in its ending alone
	again bool   // the diff removes it and adds it again unchanged
}

func (l line) old() bool { return l.op != gitdiff.OpAdd }

func (l line) isNew() bool { return l.op != gitdiff.OpDelete }

// Change is a corrected diff: fragments that apply strictly to the text they
// were made for. It is immutable and safe for concurrent use; the zero value
// changes nothing. It shares memory with that text.
type Change struct {
	// Corrections tells what was mended, in the order of the hunks; what
	// concerns the whole diff comes first. Nil when the diff was right.
	Corrections []Correction

	fragments []*gitdiff.TextFragment
}

// Correction is one thing that was forgiven or mended (FS-36, FS-67).
type Correction struct {
	Hunk  int    `json:"hunk"`  // 1-based; 0: the diff as a whole
	Kind  string `json:"kind"`  // one of the Kind constants
	Lines [2]int `json:"lines"` // first and last line concerned, 1-based and inclusive, in the base; zeros: none in particular
}

// Kinds of correction. They are API: added, never renamed.
const (
	KindFileHeader     = "file_header"         // only one of the lines --- and +++ is there
	KindFileName       = "file_name"           // the --- and +++ lines name another file; see [Diff.IsFor]
	KindFileMode       = "file_mode"           // lines that change the file's mode were ignored
	KindCodeFence      = "code_fence"          // a Markdown fence around the diff
	KindProse          = "prose"               // text around the diff
	KindHunkOrder      = "hunk_order"          // the hunks do not come in the order of the file
	KindHunkHeader     = "hunk_header"         // the @@ line has no numbers
	KindLineNumbers    = "line_numbers"        // the @@ line states another place
	KindLineCounts     = "line_counts"         // the @@ line states other counts
	KindNearestPlace   = "nearest_place"       // of several places the one clearly nearest to the stated line was taken
	KindBlankContext   = "blank_context"       // an empty or indented context line without its leading blank
	KindLineEndings    = "line_endings"        // LF for CRLF or the other way round
	KindTrailingSpace  = "trailing_whitespace" // second tier
	KindSurroundSpace  = "leading_whitespace"  // third tier: leading and trailing white space
	KindLookalikes     = "lookalikes"          // fourth tier: quotes, dashes, spaces, arrows and the like
	KindMissingContext = "missing_context"     // last tier: a line of the file left out
	KindFinalNewline   = "final_newline"       // the marker for a missing final newline is missing or wrong
)

// Empty reports whether c changes nothing.
func (c *Change) Empty() bool { return len(c.fragments) == 0 }
