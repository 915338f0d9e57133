package applypatch

import (
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
)

const (
	formRemedy = "Send `*** Begin Patch`, then for each file one of `*** Add File: path`, `*** Update File: path`, `*** Delete File: path` with its lines, then `*** End Patch`."
	addRemedy  = "Begin every line of a new file with `+`."
)

// Parse parses a patch leniently; see the package comment.
//
// It fails with code invalid_diff on a patch without an operation, on an unknown marker or a line
// outside of every section, on a section that [patch.ParseSection] refuses, and for two operations
// that name the same path.
func Parse(input string) (*Patch, error) { return ParseWith(input, nil) }

// ParseWith is [Parse] with a function that reports whether a file has a name. White space around
// such a name belongs to it.
func ParseWith(input string, exists func(name string) bool) (*Patch, error) {
	p := &parser{lines: splitLines(strings.TrimPrefix(input, byteOrderMark)), patch: new(Patch), exists: exists}
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.patch, nil
}

// parser iterates over the lines of a patch.
type parser struct {
	lines  []string // with their endings
	patch  *Patch
	exists func(name string) bool // nil: there is no file
}

func (p *parser) run() error {
	from, to := p.unwrap(0, len(p.lines))
	found := false
	for from < to {
		first, begun := p.find(from, to, beginMark)
		if !begun {
			first = from
		}
		end, ended := p.find(first, to, endMark)
		switch {
		case !begun && found:
			if err := p.outside(from, to); err != nil {
				return err
			}
			from = to
			continue
		case begun && !ended:
			return invalid("applypatch.parse", "Send the whole patch again, or a smaller one, and end it with `*** End Patch`.",
				"The patch has no line `*** End Patch`, so it may be cut off.")
		case begun:
			if err := p.outside(from, first); err != nil {
				return err
			}
			first++
		}
		if !ended {
			end = to
		}
		if err := p.body(first, end); err != nil {
			return err
		}
		found, from = true, min(end+1, to)
	}
	if len(p.patch.Operations) == 0 {
		return invalid("applypatch.parse", formRemedy, "The patch has no operation.")
	}
	return p.checkPaths()
}

// unwrap returns the lines [from, to) without empty lines above them, and without a Markdown fence
// and a heredoc around them. Blank lines at the end stay: they may be the context of a hunk.
func (p *parser) unwrap(from, to int) (int, int) {
	for {
		for from < to && strings.TrimSpace(p.lines[from]) == "" {
			from++
		}
		end := to
		for from < end && strings.TrimSpace(p.lines[end-1]) == "" {
			end--
		}
		if end-from < 2 {
			return from, to
		}
		first, last := strings.TrimSpace(p.lines[from]), strings.TrimSpace(p.lines[end-1])
		switch word := heredocWord(first); {
		case strings.HasPrefix(first, "```") && last == "```":
			p.note("code_fence")
		case word != "" && strings.TrimRight(last, `"')`) == word:
			p.note("prose")
		default:
			return from, to
		}
		from, to = from+1, end-1
	}
}

// heredocWord returns the word that ends the heredoc of a shell line, "" if it has none.
func heredocWord(s string) string {
	_, after, ok := strings.Cut(s, "<<")
	if !ok || isMark(s) {
		return ""
	}
	word := strings.TrimSpace(strings.TrimPrefix(after, "-"))
	word, _, _ = strings.Cut(word, " ")
	return strings.Trim(word, `\'"`)
}

func (p *parser) note(kind string) {
	c := patch.Correction{Kind: kind}
	if !slices.Contains(p.patch.Corrections, c) {
		p.patch.Corrections = append(p.patch.Corrections, c)
	}
}

// find returns the first line in [from, to) that is the marker. ok is false if there is none.
func (p *parser) find(from, to int, marker string) (at int, ok bool) {
	for at = from; at < to; at++ {
		if name, _ := mark(p.lines[at]); name == marker {
			return at, true
		}
	}
	return to, false
}

// outside accepts the lines [from, to) outside of Begin Patch and End Patch, unless they look like a
// part of a patch.
func (p *parser) outside(from, to int) error {
	for at := from; at < to; at++ {
		s := p.lines[at]
		switch {
		case strings.TrimSpace(s) == "":
		case isMark(s), strings.HasPrefix(s, "@@"), strings.HasPrefix(s, "diff --git "), strings.HasPrefix(s, "--- "), strings.HasPrefix(s, "+++ "):
			return invalid("applypatch.parse", formRemedy, "Line %d of the patch, %s, is outside of `*** Begin Patch` and `*** End Patch`.", at+1, excerpt(s))
		case strings.HasPrefix(strings.TrimSpace(s), "```"):
			p.note("code_fence")
		default:
			p.note("prose")
		}
	}
	return nil
}

// body parses the operations in the lines [from, to).
func (p *parser) body(from, to int) error {
	switch {
	case blank(p.lines[from:to]):
		return nil
	case !slices.ContainsFunc(p.lines[from:to], isMark):
		return p.unified(from, to)
	}
	for from < to {
		name, argument := mark(p.lines[from])
		if strings.TrimSpace(p.lines[from]) == "" {
			from++
			continue
		}
		if name == "" {
			return invalid("applypatch.parse", formRemedy, "Line %d of the patch, %s, is outside of every file's section.", from+1, excerpt(p.lines[from]))
		}
		end := from + 1
		for end < to && (!isMark(p.lines[end]) || isInner(p.lines[end])) {
			end++
		}
		o, err := p.operation(name, argument, from, end)
		if err != nil {
			return err
		}
		p.patch.Operations = append(p.patch.Operations, o)
		from = end
	}
	return nil
}

// operation parses the section in the lines [from, to), which begins with the marker name.
func (p *parser) operation(name, argument string, from, to int) (Operation, error) {
	o := Operation{Path: p.name(argument), Line: from + 1}
	switch name {
	case addMark:
		o.Kind = Create
	case updateMark:
		o.Kind = Update
	case deleteMark:
		o.Kind = Delete
	default:
		return o, invalid("applypatch.parse", formRemedy, "Line %d of the patch, %s, is an unknown marker, or in the wrong place.", from+1, excerpt(p.lines[from]))
	}
	if o.Path == "" {
		return o, invalid("applypatch.parse", formRemedy, "Line %d of the patch, %s, names no file.", from+1, excerpt(p.lines[from]))
	}
	rest := from + 1
	if rest < to {
		if inner, argument := mark(p.lines[rest]); inner == moveMark {
			target := p.name(argument)
			if name != updateMark || target == "" || path.Clean(target) == path.Clean(o.Path) {
				return o, invalid("applypatch.parse", "Write `*** Move to: path` directly below `*** Update File: path`, with a different path.",
					"Line %d of the patch, %s, does not move a file.", rest+1, excerpt(p.lines[rest]))
			}
			o.Kind, o.NewPath = Move, target
			rest++
		}
	}
	for at := rest; at < to; at++ {
		if inner, _ := mark(p.lines[at]); inner == moveMark {
			return o, invalid("applypatch.parse", "Write `*** Move to: path` directly below `*** Update File: path`.",
				"Line %d of the patch, %s, is not below the file that it moves.", at+1, excerpt(p.lines[at]))
		}
	}
	empty := blank(p.lines[rest:to])
	switch {
	case empty && o.Kind != Update:
		return o, nil
	case o.Kind == Delete:
		return o, invalid("applypatch.parse", "Write no lines below `*** Delete File: path`.", "The section at line %d of the patch deletes %s, and has lines.", o.Line, excerpt(o.Path))
	}
	lines := slices.Clone(p.lines[from:to])
	if o.Kind == Create {
		var err error
		if lines, err = p.added(lines, from); err != nil {
			return o, err
		}
	}
	diff, err := patch.ParseSection(strings.Join(lines, ""), from)
	if err != nil {
		return o, o.at(fault.As(err))
	}
	o.Diff = diff
	return o, nil
}

// added returns the lines of a new file without blank ones at the end, and with the prefix that an
// empty line among them lacks.
func (p *parser) added(lines []string, above int) ([]string, error) {
	for strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	for i := 1; i < len(lines); i++ {
		switch s := lines[i]; {
		case strings.TrimRight(s, "\r\n") == "":
			lines[i] = "+" + s
		case s[0] != '+' && s[0] != '\\' && !strings.HasPrefix(s, "@@") && !isInner(s):
			return nil, invalid("applypatch.parse", addRemedy, "Line %d of the patch, %s, is in a new file and has no `+`.", above+i+1, excerpt(s))
		}
	}
	return lines, nil
}

// unified parses the lines [from, to) as a unified diff of any number of files.
func (p *parser) unified(from, to int) error {
	return patch.ParseFiles(strings.Join(p.lines[from:to], ""), from, p.exists, func(before, after string, line int, d *patch.Diff, ignored []patch.Correction) {
		o := Operation{Kind: Update, Path: before, Line: line, Diff: d, Ignored: ignored}
		switch {
		case before == "":
			o.Kind, o.Path = Create, after
		case after == "":
			o.Kind = Delete
		case after != before:
			o.Kind, o.NewPath = Move, after
		}
		p.patch.Operations = append(p.patch.Operations, o)
	})
}

// checkPaths refuses two operations that name the same path.
func (p *parser) checkPaths() error {
	lines := map[string]int{}
	for i := range p.patch.Operations {
		o := &p.patch.Operations[i]
		for _, name := range []string{o.Path, o.NewPath} {
			if name == "" {
				continue
			}
			key := path.Clean(name)
			if line, ok := lines[key]; ok {
				return invalid("applypatch.parse", "Write one section for each file, with all of its hunks.",
					"Lines %d and %d of the patch both name %s.", line, o.Line, excerpt(name))
			}
			lines[key] = o.Line
		}
	}
	return nil
}
