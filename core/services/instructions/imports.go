package instructions

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Imports says what becomes of @path in an instruction file: the file of that
// path, relative to the importing one, belongs to it.
type Imports string

// The forms of imports.
const (
	ImportTree Imports = ""     // its text stands in the place of @path, between comments that name it
	ImportFlat Imports = "flat" // its text follows that of the importing file, each file once
	ImportNone Imports = "none" // @path is text like any other
)

const (
	maxDepth    = 5         // of imports in imports
	maxExpanded = 512 << 10 // bytes of one document with its imports
)

// importMark is @path as it may stand in a text: at its beginning or after white
// space.
var importMark = regexp.MustCompile(`(^|\s)@([./~A-Za-z][^\s]*)`)

// expanded returns doc with what it imports. Imports stay inside the workspace,
// are not looked for in code, and go [maxDepth] deep; what cannot be imported is
// said in a comment where it looks like a file's name, and else left as it is.
func (f *Finder) expanded(doc Document) Document {
	if f.o.Imports == ImportNone || !strings.Contains(doc.Text, "@") {
		return doc
	}
	e := &expansion{files: f, flat: f.o.Imports == ImportFlat, done: map[string]bool{doc.Key: true}}
	text := e.in(doc, []string{doc.Key})
	for _, d := range e.after {
		text = strings.TrimRight(text, "\n") + fmt.Sprintf("\n\n--- File: %s ---\n%s\n--- End of File: %s ---\n", d.Path, strings.TrimSpace(d.Text), d.Path)
	}
	doc.Text = text
	return doc
}

// expansion is the work on one document.
type expansion struct {
	files *Finder
	flat  bool
	done  map[string]bool // of a flat expansion: the files that are in it
	after []Document      // of a flat expansion: the imported files
	bytes int
}

// in returns the text of doc with what it imports in its place. chain holds the
// keys of the files that doc is imported by, and its own.
func (e *expansion) in(doc Document, chain []string) string {
	var b strings.Builder
	for _, piece := range codeAndText(doc.Text) {
		if piece.code {
			b.WriteString(piece.text)
			continue
		}
		at := 0
		for _, m := range importMark.FindAllStringSubmatchIndex(piece.text, -1) {
			from, name := m[4]-1, piece.text[m[4]:m[5]] // the place of the @
			path := strings.TrimRight(name, ".,;:!?)]}'\"")
			b.WriteString(piece.text[at:from])
			b.WriteString(e.one(doc, path, chain))
			at = m[4] + len(path)
		}
		b.WriteString(piece.text[at:])
	}
	return b.String()
}

// one returns what stands in the place of @path.
func (e *expansion) one(doc Document, path string, chain []string) string {
	imported, err := e.load(doc, path, chain)
	switch {
	case errors.Is(err, errTwice):
		return fmt.Sprintf("<!-- File already processed: %s -->", path)
	case err != nil && !looksLikeFile(path):
		return "@" + path
	case err != nil:
		return fmt.Sprintf("<!-- Import failed: %s - %v -->", path, err)
	case e.flat && e.done[imported.Key]:
		return "@" + path
	case e.flat:
		e.done[imported.Key] = true
		place := len(e.after)
		e.after = append(e.after, imported)
		e.after[place].Text = e.in(imported, append(chain, imported.Key))
		return "@" + path
	}
	text := strings.TrimSpace(e.in(imported, append(chain, imported.Key)))
	return fmt.Sprintf("<!-- Imported from: %s -->\n%s\n<!-- End of import from: %s -->", path, text, path)
}

var errTwice = errors.New("it imports itself")

// load reads the file that doc imports as path.
func (e *expansion) load(doc Document, path string, chain []string) (Document, error) {
	if strings.HasPrefix(path, "~") {
		return Document{}, errors.New("it lies outside the workspace")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(filepath.Dir(doc.Path), path)
	}
	p, err := e.files.files.Resolve(full)
	if err != nil {
		return Document{}, errors.New("it lies outside the workspace")
	}
	if info, err := e.files.files.Stat(p); err != nil || !info.Mode.IsRegular() {
		return Document{}, errors.New("there is no such file")
	} else if slices.Contains(chain, keyOf(p.String(), info)) {
		return Document{}, errTwice
	}
	if e.files.o.MayShow != nil && !e.files.o.MayShow(p) {
		return Document{}, errors.New("it may not be read")
	}
	if len(chain) > maxDepth {
		return Document{}, fmt.Errorf("imports go deeper than %d files", maxDepth)
	}
	found, ok := e.files.read(p.String(), func(string) bool { return false })
	if !ok {
		return Document{}, errors.New("it is empty or cannot be read")
	}
	if e.bytes += len(found.Text); e.bytes > maxExpanded {
		return Document{}, fmt.Errorf("the imports hold more than %d bytes", maxExpanded)
	}
	return found, nil
}

// looksLikeFile reports whether a path that cannot be imported was meant to be:
// it has a directory or an extension, unlike the name of a person.
func looksLikeFile(path string) bool {
	ext := filepath.Ext(path)
	return strings.Contains(path, "/") || len(ext) > 1 && strings.IndexFunc(ext[1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// piece is a part of a Markdown text.
type piece struct {
	text string
	code bool
}

// codeAndText takes Markdown apart into code, fenced or between backticks, and
// the rest. A fence that is not closed reaches to the end, a backtick that is
// not closed is text.
func codeAndText(text string) []piece {
	var pieces []piece
	from, at := 0, 0
	cut := func(end int, code bool) {
		if end > from {
			pieces = append(pieces, piece{text[from:end], code})
		}
		from = end
	}
	for at < len(text) {
		next := strings.IndexAny(text[at:], "`~")
		if next < 0 {
			break
		}
		at += next
		mark := text[at : at+run(text[at:])]
		start := at
		fence := len(mark) >= 3 && blankBefore(text, at)
		at += len(mark)
		if mark[0] == '~' && !fence {
			continue
		}
		end := closing(text, at, mark, fence)
		if end < 0 && !fence {
			continue
		}
		if end < 0 {
			end = len(text)
		}
		cut(start, false)
		cut(end, true)
		at = end
	}
	cut(len(text), false)
	return pieces
}

// run is the length of the run of one character that text begins with.
func run(text string) int {
	return len(text) - len(strings.TrimLeft(text, text[:1]))
}

// blankBefore reports whether nothing but blanks stands before at on its line.
func blankBefore(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.Trim(line, " \t>") == ""
}

// closing returns where code ends that mark began before at, -1 if it does not:
// for a fence after a line that begins with at least as many of its characters,
// else after a run of the same length.
func closing(text string, at int, mark string, fence bool) int {
	for at < len(text) {
		next := strings.IndexByte(text[at:], mark[0])
		if next < 0 {
			return -1
		}
		at += next
		n := run(text[at:])
		if fence && n >= len(mark) && blankBefore(text, at) || !fence && n == len(mark) {
			return at + n
		}
		at += n
	}
	return -1
}
