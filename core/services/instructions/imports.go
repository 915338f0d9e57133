package instructions

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Imports is the treatment of @path in an instruction file. path names a file to import, relative
// to the importing one.
type Imports string

// The forms of imports.
const (
	ImportTree Imports = ""     // the text replaces @path, between comments that name the file
	ImportFlat Imports = "flat" // the text follows that of the importing file, each file once
	ImportNone Imports = "none" // @path is ordinary text
)

const (
	maxDepth    = 5         // of nested imports
	maxExpanded = 512 << 10 // bytes of one document with its imports
)

// importMark matches @path at the beginning of a text or after white space.
var importMark = lazyregexp.New(`(^|\s)@([./~A-Za-z][^\s]*)`)

// expanded returns doc with its imports. Imports must be in the workspace, are not searched for in
// code, and are nested at most [maxDepth] deep. A failed import becomes a comment if path looks
// like the name of a file; otherwise the text stays unchanged.
func (f *Finder) expanded(doc Document) Document {
	if f.o.Imports == ImportNone || !strings.Contains(doc.Text, "@") {
		return doc
	}
	e := &expansion{files: f, flat: f.o.Imports == ImportFlat, done: map[string]bool{doc.Key: true}}
	text := e.expand(doc, []string{doc.Key})
	for _, d := range e.imported {
		text = strings.TrimRight(text, "\n") + fmt.Sprintf("\n\n--- File: %s ---\n%s\n--- End of File: %s ---\n", d.Path, strings.TrimSpace(d.Text), d.Path)
	}
	doc.Text = text
	return doc
}

// expansion is the state for one document.
type expansion struct {
	files    *Finder
	flat     bool
	done     map[string]bool // flat only: keys of the included files
	imported []Document      // flat only: the imported files
	bytes    int
}

// expand returns the text of doc with its imports inserted. chain contains the keys of the importing
// files and of doc.
func (e *expansion) expand(doc Document, chain []string) string {
	var b strings.Builder
	for _, piece := range codeAndText(doc.Text) {
		if piece.code {
			b.WriteString(piece.text)
			continue
		}
		at := 0
		for _, m := range importMark().FindAllStringSubmatchIndex(piece.text, -1) {
			from, name := m[4]-1, piece.text[m[4]:m[5]] // position of the @
			path := strings.TrimRight(name, ".,;:!?)]}'\"")
			b.WriteString(piece.text[at:from])
			b.WriteString(e.replacement(doc, path, chain))
			at = m[4] + len(path)
		}
		b.WriteString(piece.text[at:])
	}
	return b.String()
}

// replacement returns the replacement of @path.
func (e *expansion) replacement(doc Document, path string, chain []string) string {
	imported, err := e.load(doc, path, chain)
	switch {
	case errors.Is(err, errCycle):
		return fmt.Sprintf("<!-- File already processed: %s -->", path)
	case err != nil && !looksLikeFile(path):
		return "@" + path
	case err != nil:
		return fmt.Sprintf("<!-- Import failed: %s - %v -->", path, err)
	case e.flat && e.done[imported.Key]:
		return "@" + path
	case e.flat:
		e.done[imported.Key] = true
		place := len(e.imported)
		e.imported = append(e.imported, imported)
		e.imported[place].Text = e.expand(imported, append(chain, imported.Key))
		return "@" + path
	}
	text := strings.TrimSpace(e.expand(imported, append(chain, imported.Key)))
	return fmt.Sprintf("<!-- Imported from: %s -->\n%s\n<!-- End of import from: %s -->", path, text, path)
}

var errCycle = errors.New("it imports itself")

// load reads the file that doc imports as path.
func (e *expansion) load(doc Document, path string, chain []string) (Document, error) {
	if strings.HasPrefix(path, "~") {
		return Document{}, errors.New("it is outside of the workspace")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(filepath.Dir(doc.Path), path)
	}
	p, err := e.files.files.Resolve(full)
	if err != nil {
		return Document{}, errors.New("it is outside of the workspace")
	}
	if info, err := e.files.files.Stat(p); err != nil || !info.Mode.IsRegular() {
		return Document{}, errors.New("the file does not exist")
	} else if slices.Contains(chain, keyOf(p.String(), info)) {
		return Document{}, errCycle
	}
	if e.files.o.MayShow != nil && !e.files.o.MayShow(p) {
		return Document{}, errors.New("it may not be read")
	}
	if len(chain) > maxDepth {
		return Document{}, fmt.Errorf("imports are nested deeper than %d files", maxDepth)
	}
	found, ok := e.files.read(p.String(), func(string) bool { return false })
	if !ok {
		return Document{}, errors.New("it is empty or cannot be read")
	}
	if e.bytes += len(found.Text); e.bytes > maxExpanded {
		return Document{}, fmt.Errorf("the imports have more than %d bytes", maxExpanded)
	}
	return found, nil
}

// looksLikeFile reports whether a failed import was intended as one: path has a directory or an
// extension, unlike the @name of a user.
func looksLikeFile(path string) bool {
	ext := filepath.Ext(path)
	return strings.Contains(path, "/") || len(ext) > 1 && strings.IndexFunc(ext[1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// segment is a part of a Markdown text.
type segment struct {
	text string
	code bool
}

// codeAndText splits Markdown into code, fenced or between backticks, and other text. A fence
// without an end extends to the end of the text; a backtick without an end is text.
func codeAndText(text string) []segment {
	var pieces []segment
	from, at := 0, 0
	cut := func(end int, code bool) {
		if end > from {
			pieces = append(pieces, segment{text[from:end], code})
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

// run returns the length of the run of one character at the beginning of text.
func run(text string) int {
	return len(text) - len(strings.TrimLeft(text, text[:1]))
}

// blankBefore reports whether only blanks precede at on its line.
func blankBefore(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.Trim(line, " \t>") == ""
}

// closing returns the end of the code that mark began before at, -1 if there is none. A fence ends
// at a line that begins with at least as many of its characters, a code span at a run of the same
// length.
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
