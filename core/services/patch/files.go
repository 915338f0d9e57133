package patch

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

const devNull = "/dev/null"

// A diff is for one file. These forms name a file; the first one names the file of the diff, and a
// different name later refuses the whole diff.
var (
	// patchMark is a line of OpenAI's patch format.
	patchMark = lazyregexp.New(`(?i)^\*\*\*\s+(update|add|create|new|modify|edit|delete|remove|move|rename)(?:\s+file)?(?:\s+to)?\s*:\s*(\S.*)$`)
	// indexMark is a line of Subversion, CVS, quilt, Bazaar, or free text.
	indexMark = lazyregexp.New(`(?i)^(?:index|file|filename|path|=== \w+ file|property changes on)\s*:?\s+['"]?(\S.*?)['"]?$`)
	// proseMark is a line of Markdown that consists of a file name.
	proseMark = lazyregexp.New("(?i)^[\\s#>*_`\\d.)-]*(?:(?:and|then|in|for|file|path|patch|diff|changes?|to|now|next|second|also)[\\s:]+)*[*_`\"']*" +
		"([\\w@+~.-]*[/\\\\][\\w@+~./\\\\-]*\\w|[\\w@+~-][\\w@+~.-]*\\.[a-z][a-z0-9]{0,9})[*_`\"':\\s]*$")
	// wrapMark is a line that consists of a file name and its markup: a comment, a heading,
	// brackets, a tag or a field.
	wrapMark = lazyregexp.New(`(?i)^[\s#/;%<>=!*({\[|-]*(?:["']?(?:file|filename|path|name|title|diff|patch)["']?\s*[:=]?\s*)*` +
		"[\"'`(\\[]*([\\w@+~./\\\\-]*[\\w-]\\.[a-z][a-z0-9]{0,9}|[\\w@+~.-]+/[\\w@+~./-]*\\w)[\"'`)\\]},]*[\\s=<>*/}\\])#|-]*$")
	// versionNote is the text that programs add after a file name without a tab.
	versionNote = lazyregexp.New(`\s+(?:\((?:revision|working copy|nonexistent|rev)[^)]*\)|\d{4}-\d\d-\d\d[ T].*)$`)
)

// mark records a line that names one file.
func (p *parser) mark(name string) error {
	switch {
	case name == "" || name == devNull:
		return nil
	case !p.begun && len(p.d.hunks) == 0:
		p.begin("", name)
		return nil
	case !p.begun:
		return p.secondFile(name)
	case p.same(name, p.d.newName) || p.same(name, p.d.oldName):
		return nil
	}
	return p.secondFile(name)
}

// header records a pair of file names, --- and +++ or those of diff --git.
func (p *parser) header(oldName, newName string) error {
	d := p.d
	known := func(name string) bool {
		return name == "" || name == devNull || p.same(name, d.newName) || p.same(name, d.oldName)
	}
	switch {
	case !p.begun && len(d.hunks) > 0:
		return p.secondFile(newName)
	case !p.begun, len(d.hunks) == 0 && known(newName):
		p.begin(oldName, newName)
	case !known(newName) || newName != devNull && d.newName != devNull && !p.same(newName, d.newName):
		return p.secondFile(newName)
	case !known(oldName):
		return p.secondFile(oldName)
	}
	return nil
}

func (p *parser) begin(oldName, newName string) {
	if p.several != nil && !p.begun && p.git == "" {
		p.several.line = p.number()
	}
	p.begun = true
	p.d.oldName, p.d.newName = oldName, newName
}

// sameFile reports whether two names can refer to one file: they are equal, or one ends in the
// other.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == devNull || b == devNull {
		return false
	}
	clean := func(s string) string {
		return "/" + strings.TrimLeft(strings.TrimPrefix(strings.ReplaceAll(s, `\`, "/"), "./"), "/")
	}
	a, b = clean(a), clean(b)
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}

// same is sameFile; in a diff of several files names must be equal. Above the hunks of a file its
// names may differ in the blanks around them: not all forms of a name have these.
func (p *parser) same(a, b string) bool {
	if p.several != nil {
		if len(p.d.hunks) == 0 {
			a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		}
		return a == b && a != "" && a != devNull
	}
	return sameFile(a, b)
}

// secondFile returns the error for a line that begins a second file: errNextFile in a diff of several
// files.
func (p *parser) secondFile(name string) error {
	if p.several != nil {
		return errNextFile
	}
	return p.refuseSecond(name)
}

// refuseSecond refuses a diff whose current line begins a second file.
func (p *parser) refuseSecond(name string) error {
	first := p.d.newName
	if first == "" || first == devNull {
		first = p.d.oldName
	}
	after := "its first hunks name none"
	if first != "" {
		after = fmt.Sprintf("it begins with %s", excerpt(first))
	}
	return invalid("patch.parse", "Send one diff for each file, in separate calls.",
		"The diff changes more than one file: line %d names %s, and %s. Nothing was applied.", p.number(), excerpt(name), after)
}

// fileMark parses a line outside of hunks that names a file. ok is false if the line does not.
func (p *parser) fileMark(s string) (ok bool, err error) {
	if m := patchMark().FindStringSubmatch(s); m != nil {
		switch verb := strings.ToLower(m[1]); verb {
		case "delete", "remove", "move", "rename":
			return true, p.notText(fileName(m[2]))
		}
		return true, p.mark(fileName(m[2]))
	}
	switch {
	case p.isFileHeader(p.pos):
		if p.several != nil {
			p.paired = true
			return true, p.header(p.pairNames())
		}
		newName := fileName(content(p.lines[p.pos+1])[4:])
		if newName == devNull {
			return true, invalid("patch.parse", "Delete the file with another tool.", "The diff deletes the file, which a patch cannot do.")
		}
		p.paired = true
		return true, p.header(fileName(s[4:]), newName)
	case isMetadata(s, "--- ", "---\t", "+++ ", "+++\t") && fileName(s[4:]) != "":
		p.lone = true
		return true, p.mark(fileName(s[4:]))
	case strings.HasPrefix(s, "diff --git "):
		if p.several != nil && (p.begun || p.git != "" || len(p.d.hunks) > 0) {
			return true, errNextFile
		}
		o, n, ok := gitNames(s)
		if p.several != nil {
			if equal, _ := halves(s); equal != "" {
				o, n, ok = equal, equal, true
			}
		}
		if ok {
			return true, p.header(o, n)
		}
		if p.git != "" && p.git != s {
			return true, p.secondFile(strings.TrimPrefix(s, "diff --git "))
		}
		p.git = s
		if p.several != nil {
			p.several.line = p.number()
		}
		return true, nil
	case strings.HasPrefix(s, "diff -"):
		f := strings.Fields(s)
		return true, p.mark(fileName(f[len(f)-1]))
	}
	if m := indexMark().FindStringSubmatch(s); m != nil && !strings.ContainsAny(fileName(m[1]), " \t") {
		return !isMetadata(s, "index "), p.indexed(s, fileName(m[1]))
	}
	return false, nil
}

// indexed records the name in an Index line; git's index lines contain hashes instead.
func (p *parser) indexed(s, name string) error {
	if isMetadata(s, "index ") || !strings.HasPrefix(s, "Index:") && !strings.ContainsAny(name, "./") {
		return nil
	}
	return p.mark(name)
}

// notText refuses a line that deletes, moves or copies a file.
func (p *parser) notText(name string) error {
	if p.several != nil && isMetadata(p.lines[p.pos], "copy from ", "copy to ") {
		return invalid("patch.parse", "Create the file with all of its lines, or copy it with a shell command.",
			"Line %d copies a file, %s, which a patch cannot do. Nothing was applied.", p.number(), excerpt(name))
	}
	return invalid("patch.parse", "Send a diff that changes the text of this one file.",
		"Line %d deletes, moves, renames or copies a file, %s, which a patch cannot do. Nothing was applied.", p.number(), excerpt(name))
}

// modeMark is a line of git that states the mode of a file.
var modeMark = lazyregexp.New(`^(?:(old|new|new file|deleted file) mode|index [0-9a-f,]+\.\.[0-9a-f]+) (\d{6})[ \t]*$`)

// fileMode records a line that states the mode of the file. It refuses links and submodules, whose
// diffs look like those of text.
func (p *parser) fileMode(s string) error {
	m := modeMark().FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	switch kind, mode := m[1], m[2]; {
	case mode == "120000":
		return invalid("patch.parse", "Create, change or remove links with a shell command.",
			"Line %d is about a symbolic link, which a patch cannot create, change or remove. Nothing was applied.", p.number())
	case mode == "160000":
		return invalid("patch.parse", "Change submodules with a shell command.",
			"Line %d is about a submodule, which a patch cannot change. Nothing was applied.", p.number())
	case kind == "old", kind == "new", kind == "new file" && mode == "100755":
		p.mode = true
	}
	return nil
}

// proseName records a file name that is the whole line between hunks. It counts only if another
// hunk follows.
func (p *parser) proseName(s string) error {
	m := proseMark().FindStringSubmatch(s)
	if m == nil {
		m = wrapMark().FindStringSubmatch(s)
	}
	if m == nil {
		return nil
	}
	name := fileName(m[1])
	switch {
	case p.pos > p.lastHunk:
		return nil
	case len(p.d.hunks) == 0:
		p.nameAbove = name
		return nil
	case p.begun && (sameFile(name, p.d.newName) || sameFile(name, p.d.oldName)), !p.begun && sameFile(name, p.nameAbove):
		return nil
	}
	if !p.begun && p.nameAbove != "" {
		p.begin("", p.nameAbove)
	}
	return p.refuseSecond(name)
}

// isLoneHeader reports whether line at is "--- name" or "+++ name" directly before a hunk, with a
// name that can be a path.
func (p *parser) isLoneHeader(at int) bool {
	if at+1 >= len(p.lines) || !isMetadata(p.lines[at], "--- ", "---\t", "+++ ", "+++\t") || !strings.HasPrefix(p.lines[at+1], "@@") {
		return false
	}
	name := fileName(content(p.lines[at])[4:])
	return strings.ContainsAny(name, "./") && !strings.ContainsAny(name, " \t;(){}")
}
