package patch

import (
	"errors"
	"strings"
)

const filesRemedy = "Send unified diffs: for each file `--- a/path`, `+++ b/path`, `@@ -line,count +line,count @@`, then lines that begin with a blank (context), `-` (removed) or `+` (added)."

// errNextFile reports that the current line belongs to the next file.
var errNextFile = errors.New("next file")

// part is the part of a diff that concerns one file; see [ParseFiles].
type part struct {
	from, to string
	line     int
	diff     *Diff
	ignored  []Correction
}

// files collects the parts of a diff.
type files struct {
	exists func(name string) bool
	done   []part
	line   int // where the current part begins, 1-based
	git        // the extended header of the current part
}

// git holds git's extended header lines of one file.
type git struct {
	from, to         string // of a rename
	created, deleted bool
}

// ParseFiles parses a unified or git diff of any number of files, as leniently as [Parse]. Files may
// be created, deleted and renamed. Names lose the prefixes a/ and b/ if both have them. above is the
// number of lines above the diff, for the lines in errors. White space around a name belongs to it if
// a tab ends the name, as in git's diffs, or if exists reports that there is such a file; nil: there
// is none.
//
// It calls each in order with the parts of the diff: the paths of the file before and after, where
// from is "" for a created file and to for a deleted one, the 1-based line where the part begins,
// and the change, which is nil if the text does not change, the created file is empty, or no lines of
// the deleted file are stated. ignored lists the tolerated defects of a part without a change. After
// an error it has called each for no part.
//
// It fails with code invalid_diff like [Parse], and for a part without a name, with two names but no
// lines `rename from` and `rename to`, or that only changes the mode of a file.
func ParseFiles(diff string, above int, exists func(name string) bool, each func(from, to string, line int, d *Diff, ignored []Correction)) error {
	p := parser{lines: splitLines(strings.TrimPrefix(diff, "\ufeff")), above: above, d: new(Diff), several: &files{exists: exists}}
	p.several.line = above + 1
	p.findLast()
	for p.pos < len(p.lines) {
		if err := p.outside(); err != nil {
			return err
		}
	}
	if err := p.nextFile(); err != nil {
		return err
	}
	for _, f := range p.several.done {
		each(f.from, f.to, f.line, f.diff, f.ignored)
	}
	return nil
}

// nextFile completes the part of the current file. The current line begins the next one.
func (p *parser) nextFile() error {
	f, err := p.fileDiff()
	if err != nil {
		return err
	}
	f.line = p.several.line
	p.several.done = append(p.several.done, f)
	p.several.line, p.several.git = p.number(), git{}
	p.d = new(Diff)
	p.begun, p.paired, p.lone, p.git, p.nameAbove = false, false, false, "", ""
	p.fenced, p.prose, p.mode = false, false, false
	p.headers, p.headersCR = 0, 0
	return nil
}

// fileDiff returns the part of the current file.
func (p *parser) fileDiff() (part, error) {
	g, d := p.several.git, p.d
	oldName, newName := d.oldName, d.newName
	if oldName == "" {
		oldName = newName // only one name is stated
	}
	f := part{from: oldName, to: newName}
	refuse := func(remedy, format string, args ...any) (part, error) {
		return f, invalid("patch.parse", remedy, "The part of the diff that begins at line %d "+format, append([]any{p.several.line}, args...)...)
	}
	switch {
	case g.from != "" || g.to != "":
		if f.from, f.to = g.from, g.to; f.from == "" || f.to == "" || f.from == f.to {
			return refuse("Write both `rename from` and `rename to`.", "does not state both names of a renamed file.")
		}
	case (g.deleted || newName == devNull) && (g.created || oldName == devNull):
		return refuse(filesRemedy, "both creates and deletes a file.")
	case g.deleted || newName == devNull:
		f.to = ""
	case g.created || oldName == devNull:
		f.from = ""
	case oldName == newName+".orig" || oldName == newName+"~":
		f.from = newName
	case oldName != newName:
		return refuse("Write `rename from` and `rename to` if the file is renamed, otherwise the same path in both lines.",
			"has two names, %s and %s.", excerpt(oldName), excerpt(newName))
	}
	if f.from == "" && f.to == "" || f.from == devNull || f.to == devNull {
		return refuse(filesRemedy, "names no file.")
	}
	switch {
	case len(d.hunks) > 0:
		f.diff = d
		return f, p.finish()
	case f.from != f.to:
		p.report()
		f.ignored = d.forgiven
		return f, nil
	case p.mode:
		return refuse("Change the mode of a file with a shell command.", "only changes the mode of %s.", excerpt(f.to))
	}
	return refuse(filesRemedy, "contains no hunk.")
}

// gitLine records a line of git's extended header. ok is false for any other line.
func (p *parser) gitLine(s string) (ok bool, err error) {
	g := &p.several.git
	switch {
	case !isMetadata(s, "deleted file mode ", "new file mode ", "rename from ", "rename to ", "similarity index ", "dissimilarity index "):
		return false, nil
	case len(p.d.hunks) > 0:
		return true, p.stray()
	case isMetadata(s, "deleted file mode "):
		g.deleted = true
	case isMetadata(s, "new file mode "):
		g.created = true
	case isMetadata(s, "rename from "):
		g.from = p.name(strings.TrimPrefix(s, "rename from "))
	case isMetadata(s, "rename to "):
		g.to = p.name(strings.TrimPrefix(s, "rename to "))
	}
	return true, nil
}

// pairNames returns the names in the --- and +++ lines at the current one, without the prefixes a/
// and b/ if all names have theirs.
func (p *parser) pairNames() (oldName, newName string) {
	oldName, newName = p.name(content(p.lines[p.pos])[4:]), p.name(content(p.lines[p.pos+1])[4:])
	o, hasA := strings.CutPrefix(oldName, "a/")
	n, hasB := strings.CutPrefix(newName, "b/")
	if (hasA || oldName == devNull) && (hasB || newName == devNull) {
		return o, n
	}
	return oldName, newName
}

// name is wholeName, but keeps white space around a name that belongs to it.
func (p *parser) name(s string) string {
	exact, _, ended := strings.Cut(s, "\t")
	if exact == strings.TrimSpace(exact) || strings.HasPrefix(strings.TrimSpace(s), `"`) {
		return wholeName(s)
	}
	exists := p.several.exists
	if ended || exists != nil && (exists(exact) || exists(bare(exact))) {
		return exact
	}
	return wholeName(s)
}

// bare returns a name without the prefix a/ or b/.
func bare(s string) string {
	for _, prefix := range []string{"a/", "b/"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}

// halves returns the names in a line "diff --git a/x y b/x y" if they are equal, with all of their
// blanks; "" otherwise.
func halves(s string) (oldName, newName string) {
	s = strings.TrimPrefix(s, "diff --git ")
	for _, s := range []string{s, strings.TrimSpace(s)} {
		half := len(s) / 2
		if len(s)%2 == 0 || s[half] != ' ' {
			continue
		}
		left, right := s[:half], s[half+1:]
		if strings.HasPrefix(left, `"`) {
			oldName, newName = fileName(left), fileName(right)
		} else {
			oldName, newName = bare(left), bare(right)
		}
		if oldName == newName {
			return oldName, newName
		}
	}
	return "", ""
}
