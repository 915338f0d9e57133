package patch

import (
	"slices"
	"strings"
)

const sectionRemedy = "Write lines that begin with a blank (context, copied from the file), `-` (removed) or `+` (added), below `@@` or `@@ line of the file above the change`."

// ParseSection parses the section of one file in the patch format of OpenAI's models: the lines that
// begin with `***` and name the file, then hunks. A hunk begins with `@@` lines, which the first
// hunk may omit, and may end with `*** End of File`. Text after `@@` is an anchor, a line of the
// file above the hunk; each further anchor lies in the block of the previous one. Numbers after `@@`
// are read as in a unified diff. above is the number of lines above the section, for the lines in
// errors.
//
// [Correct] requires one place for every anchor. Of the places of a hunk it considers those in the
// block of the last anchor: the following lines that are indented deeper, or all following lines if
// the next one is not. If the hunk fits none of these, it must fit once in the file, below the
// anchor. A hunk that ends with `*** End of File` fits only at the end, and may consist of added
// lines only.
//
// It fails with code invalid_diff on a section without a hunk or without a change, and for lines
// that do not belong to a hunk.
func ParseSection(section string, above int) (*Diff, error) {
	p := parser{lines: splitLines(section), above: above, d: new(Diff)}
	if err := p.section(); err != nil {
		return nil, err
	}
	return p.d, nil
}

func (p *parser) section() error {
	var names []string // of the file, before and after a move
	for p.pos < len(p.lines) && strings.HasPrefix(p.lines[p.pos], "*** ") && !isEndOfFile(p.lines[p.pos]) {
		if m := patchMark().FindStringSubmatch(content(p.lines[p.pos])); m != nil {
			names = append(names, fileName(m[2]))
		}
		p.structural()
	}
	if err := p.sectionHeader(names); err != nil {
		return err
	}
	for p.pos < len(p.lines) {
		if content(p.lines[p.pos]) == "" {
			p.pos++
			continue
		}
		if err := p.sectionHunk(); err != nil {
			return err
		}
	}
	if len(p.d.hunks) == 0 {
		return invalid("patch.parse", sectionRemedy, "The section that begins at line %d has no hunk.", p.above+1)
	}
	return p.finish()
}

// structural passes a line that is no text of the file.
func (p *parser) structural() {
	if strings.HasSuffix(p.lines[p.pos], lf) {
		p.headers++
	}
	if strings.HasSuffix(p.lines[p.pos], crlf) {
		p.headersCR++
	}
	p.pos++
}

// sectionHeader passes the header lines of a unified diff above the first hunk, which name the file
// again. The lines --- and +++ count only together and directly before an @@ line; otherwise they
// are lines of a hunk.
func (p *parser) sectionHeader(names []string) error {
	end := p.pos
	for end < len(p.lines) && (content(p.lines[end]) == "" || isMetadata(p.lines[end], "diff --git ", "index ")) {
		end++
	}
	if p.isFileHeader(end) && end+2 < len(p.lines) && strings.HasPrefix(p.lines[end+2], "@@") {
		end += 2
	}
	for p.pos < end {
		s := content(p.lines[p.pos])
		if err := p.fileMode(s); err != nil {
			return err
		}
		var stated []string
		if o, n, ok := gitNames(s); ok && isMetadata(s, "diff --git ") {
			stated = []string{o, n}
		} else if isMetadata(s, "--- ", "---\t", "+++ ", "+++\t") {
			stated = []string{fileName(s[4:])}
		}
		for _, name := range stated {
			if name == devNull && s[0] == '-' {
				continue // a new file
			}
			if !slices.ContainsFunc(names, func(known string) bool { return sameFile(known, name) }) {
				return invalid("patch.parse", "Write one section for each file.",
					"Line %d names %s, and its section is for %s.", p.number(), excerpt(name), excerpt(strings.Join(names, ", ")))
			}
		}
		p.structural()
	}
	return nil
}

// sectionHunk parses one hunk.
func (p *parser) sectionHunk() error {
	h := hunk{number: len(p.d.hunks) + 1, section: true}
	if err := p.anchors(&h); err != nil {
		return err
	}
	end, ok := p.countedEnd(h.head)
	if !ok {
		end = p.sectionEnd()
	}
	h.countsHold = ok
	for ; p.pos < end; p.pos++ {
		if err := p.line(&h); err != nil {
			return err
		}
	}
	if len(h.lines) == 0 {
		if p.pos < len(p.lines) && !isEndOfFile(p.lines[p.pos]) {
			return p.strayInSection()
		}
		return invalid("patch.parse", sectionRemedy, "Hunk %d has no lines.", h.number)
	}
	if p.pos < len(p.lines) && isEndOfFile(p.lines[p.pos]) {
		h.atEnd = true
		p.structural()
	}
	p.d.hunks = append(p.d.hunks, h)
	if p.pos < len(p.lines) && !strings.HasPrefix(p.lines[p.pos], "@@") && !isBlank(p.lines[p.pos]) {
		return p.strayInSection()
	}
	return nil
}

// anchors parses the @@ lines of h.
func (p *parser) anchors(h *hunk) error {
	for at := p.pos; at < len(p.lines); at++ {
		s := content(p.lines[at])
		if s == "" {
			continue
		}
		if !strings.HasPrefix(s, "@@") {
			break
		}
		for p.pos < at {
			p.pos++ // empty lines
		}
		switch head := parseHeader(s); {
		case strings.HasPrefix(s, "@@@"):
			return p.strayInSection()
		case head.placed && h.head.placed:
			return invalid("patch.parse", sectionRemedy, "Hunk %d has no lines.", h.number)
		case head.placed:
			h.head = head
		default:
			if anchor := anchorText(s); anchor != "" {
				h.anchors = append(h.anchors, anchor)
			}
		}
		p.structural()
	}
	return nil
}

// anchorText returns the line of the file that an @@ line names, with its indentation; "" for none.
func anchorText(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "@@"), " ")
	s = strings.TrimRight(s, whiteSpace)
	s = strings.TrimRight(strings.TrimSuffix(" "+s, " @@"), whiteSpace)
	s = strings.TrimPrefix(s, " ")
	if t := trimmed(s); t == "..." || t == "…" {
		return ""
	}
	return s
}

// sectionEnd returns the end of the current hunk: the first line that cannot belong to one.
func (p *parser) sectionEnd() int {
	for i := p.pos; i < len(p.lines); i++ {
		switch firstByte(content(p.lines[i])) {
		case ' ', '+', '-', '\\':
		default:
			return i
		}
	}
	return len(p.lines)
}

func isEndOfFile(s string) bool {
	return strings.EqualFold(strings.TrimRight(content(s), whiteSpace), "*** End of File")
}

// strayInSection refuses the current line.
func (p *parser) strayInSection() error {
	return invalid("patch.parse", sectionRemedy, "Line %d of the patch, %s, does not belong to a hunk.", p.number(), excerpt(p.lines[p.pos]))
}
