package patch

import (
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// contextLines is the number of unchanged lines on either side of a change in a corrected fragment.
const contextLines = 3

// Diff is a unified diff for one file, as parsed by [Parse]. It is immutable and safe for
// concurrent use; the zero value contains no hunk, and [Correct] refuses it.
type Diff struct {
	oldName, newName string // as stated, without a/ and b/; "" if missing
	hunks            []hunk
	forgiven         []Correction // about the diff as a whole
	crlf             bool         // its own structure lines end in CRLF, so a single CR is not significant
	doubled          bool         // with crlf: some lines end in more than one CR, so the others mean LF
	cut              bool         // its text ends inside the last line of the last hunk
}

// IsFor reports whether the diff names the file at path, or none. A name matches every path that
// ends in it.
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
	number  int      // 1-based, in the diff's order
	head    header   // the content of its @@ line
	anchors []string // lines of the file above it, each in the block of the previous one
	atEnd   bool     // its last old line is the last line of the file
	lines   []line
	section bool // of a section; see ParseSection
	// tail is the number of empty lines after the hunk's last line. They may be context without its
	// blank or mere spacing, so they are evidence for a place but never required.
	tail         int
	countsHold   bool // the header's counts fit the lines
	numbered     bool // the header's position is valid
	blanksMissed bool // a context line came without its leading blank
}

// line is one line of a hunk.
type line struct {
	op    gitdiff.LineOp
	text  string // without prefix and line ending
	cr    int    // carriage returns before its line feed
	noEOL bool   // the marker "\ No newline at end of file" follows
	ends  bool   // added, and a removed line of the same change differs only in its ending
	again bool   // the diff removes it and adds it again unchanged
}

func (l line) old() bool { return l.op != gitdiff.OpAdd }

func (l line) isNew() bool { return l.op != gitdiff.OpDelete }

// Change is a corrected diff: fragments that apply strictly to the text they were made for. It is
// immutable and safe for concurrent use; the zero value changes nothing. It shares memory with that
// text.
type Change struct {
	// Corrections lists the repairs, in the order of the hunks; those of the whole diff come first.
	// Nil if the diff was correct.
	Corrections []Correction

	fragments []*gitdiff.TextFragment
}

// Correction is one defect that was tolerated or repaired.
type Correction struct {
	Hunk  int    `json:"hunk"`  // 1-based; 0: the diff as a whole
	Kind  string `json:"kind"`  // one of the values below
	Lines [2]int `json:"lines"` // first and last affected line, 1-based and inclusive, in the base; zeros: none in particular
}

// Kinds of correction. Their values are API: added, never renamed.
const (
	kindFileHeader     = "file_header"         // only one of the lines --- and +++ is present
	KindFileName       = "file_name"           // the --- and +++ lines name a different file; see [Diff.IsFor]
	kindFileMode       = "file_mode"           // lines that change the file's mode, or make a new file executable, were ignored
	kindCodeFence      = "code_fence"          // a Markdown fence around the diff
	kindProse          = "prose"               // text around the diff
	kindHunkOrder      = "hunk_order"          // the hunks are not in the order of the file
	kindHunkHeader     = "hunk_header"         // the @@ line has no numbers
	kindLineNumbers    = "line_numbers"        // the @@ line states a different line
	kindLineCounts     = "line_counts"         // the @@ line states different counts
	kindNearestPlace   = "nearest_place"       // of several places, the one clearly nearest to the stated line was selected
	kindBlankContext   = "blank_context"       // an empty or indented context line without its leading blank
	kindLineEndings    = "line_endings"        // LF for CRLF or the reverse
	kindTrailingSpace  = "trailing_whitespace" // second tier
	kindSurroundSpace  = "leading_whitespace"  // third tier: leading and trailing white space
	kindLookalikes     = "lookalikes"          // fourth tier: quotes, dashes, spaces, arrows and the like
	kindMissingContext = "missing_context"     // last tier: a line of the file was left out
	kindFinalNewline   = "final_newline"       // the marker for a missing final newline is missing or wrong
)

// empty reports whether c changes nothing.
func (c *Change) empty() bool { return len(c.fragments) == 0 }
