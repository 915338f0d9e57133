package patch

import (
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const (
	noNewline  = `\ No newline at end of file`
	formRemedy = "Send one unified diff for this one file: `@@ -line,count +line,count @@`, then lines that begin with a blank (context), `-` (removed) or `+` (added)."
)

// Parse parses a unified diff leniently. Wrong or missing numbers and counts, missing or wrong file
// names, git's extra header lines, a Markdown fence, prose around the hunks and CR LF are
// tolerated, and [Correct] reports them.
//
// It fails with code invalid_diff on a diff without a hunk or without a change, for more than one
// file, that deletes or renames, a binary or combined one, and one whose hunks contain lines that
// do not belong to a diff.
func Parse(diff string) (*Diff, error) {
	p := parser{lines: splitLines(strings.TrimPrefix(diff, "\ufeff")), d: new(Diff)}
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.d, nil
}

// parser iterates over the lines of a diff.
type parser struct {
	lines    []string // with their endings
	lastText int      // index of the last line that is not blank, -1 for none
	lastHunk int      // index of the last line that begins a hunk, -1 for none
	pos      int
	above    int // number of lines above the parsed ones
	d        *Diff
	several  *files // of ParseFiles; nil: a second file is refused

	begun     bool   // a file name has been seen
	paired    bool   // in a pair of --- and +++
	lone      bool   // in only one of these lines
	git       string // the first "diff --git" line, if its names cannot be separated
	nameAbove string // a file name in the prose above the first hunk
	fence     string // the open fence; "" outside
	closed    bool   // a fence has been closed since the last hunk
	fenced    bool
	prose     bool
	mode      bool
	headers   int // number of hunk headers seen, and of those ending in CR LF
	headersCR int
}

// findLast finds the last lines that matter.
func (p *parser) findLast() {
	p.lastText = len(p.lines) - 1
	for p.lastText >= 0 && isBlank(p.lines[p.lastText]) {
		p.lastText--
	}
	p.lastHunk = len(p.lines) - 1
	for p.lastHunk >= 0 && !strings.HasPrefix(p.lines[p.lastHunk], "@@") {
		p.lastHunk--
	}
}

func (p *parser) run() error {
	p.findLast()
	for p.pos < len(p.lines) {
		if err := p.outside(); err != nil {
			return err
		}
	}
	if len(p.d.hunks) == 0 {
		return invalid("patch.parse", formRemedy, "The diff contains no hunk.")
	}
	return p.finish()
}

// finish completes the current diff, which has a hunk.
func (p *parser) finish() error {
	d := p.d
	if strings.TrimSuffix(p.lines[len(p.lines)-1], "\r") == "@" {
		return cutOff(d.hunks[len(d.hunks)-1].number + 1)
	}
	d.crlf = p.headersCR == p.headers
	changes := false
	for i := range d.hunks {
		h := &d.hunks[i]
		h.lines = dropRepeats(h.lines)
		markEndings(h.lines)
		changes = changes || h.changes()
		d.doubled = d.doubled || slices.ContainsFunc(h.lines, func(l line) bool { return l.cr > 1 })
	}
	if !changes {
		return invalid("patch.parse", "Send a diff with added or removed lines.", "The diff changes nothing.")
	}
	markNumbered(d.hunks)
	p.report()
	return nil
}

// report records the tolerated defects of the diff as a whole.
func (p *parser) report() {
	for _, r := range []struct {
		seen bool
		kind string
	}{
		{p.lone && !p.paired, kindFileHeader},
		{p.mode, kindFileMode},
		{p.fenced, kindCodeFence},
		{p.prose, kindProse},
	} {
		if r.seen {
			p.d.forgiven = append(p.d.forgiven, Correction{Kind: r.kind})
		}
	}
}

// outside parses one line, or one hunk, while no hunk is open.
func (p *parser) outside() error {
	s := content(p.lines[p.pos])
	pair := p.isFileHeader(p.pos)
	if ok, err := p.fileMark(s); ok || err != nil {
		if err == errNextFile {
			return p.nextFile()
		}
		if pair {
			p.pos++
		}
		p.pos++
		return err
	}
	if err := p.fileMode(s); err != nil {
		return err
	}
	if p.several != nil {
		if ok, err := p.gitLine(s); ok || err != nil {
			p.pos++
			return err
		}
	}
	switch {
	case strings.HasPrefix(s, "@@@"):
		return invalid("patch.parse", p.form(), "Line %d belongs to a combined diff, which has several old versions.", p.number())
	case strings.HasPrefix(s, "@@"):
		return p.hunk()
	case isMetadata(s, "deleted file mode ", "rename from ", "rename to ", "copy from ", "copy to "):
		return p.notText(s)
	case s == "GIT binary patch", strings.HasPrefix(s, "Binary files ") && strings.HasSuffix(s, " differ"):
		return invalid("patch.parse", "Only text can be patched.", "Line %d belongs to a binary diff.", p.number())
	case p.isSignature(p.pos):
	case fenceOf(s) != "":
		if _, info, ok := strings.Cut(strings.TrimSpace(strings.TrimLeft(s, "`~ ")), " "); ok {
			if err := p.proseName(info); err != nil { // a name after the language
				return err
			}
		}
		p.toggleFence(s)
	case len(p.d.hunks) > 0 && s != "" && (s[0] == '+' || s[0] == '-'):
		// A list in prose, after a complete hunk and the end of its fence; otherwise the rest of a
		// hunk that was split.
		if !p.closed || p.fence != "" || !p.d.hunks[len(p.d.hunks)-1].countsHold {
			return p.stray()
		}
		p.prose = true
	case isMetadata(s, "index ", "old mode ", "new mode ", "new file mode ", "====", "--- ", "+++ "):
	case strings.TrimSpace(s) != "":
		if err := p.proseName(s); err != nil {
			return err
		}
		p.prose = true
	}
	p.pos++
	return nil
}

// form returns the remedy that describes the form of a diff.
func (p *parser) form() string {
	if p.several != nil {
		return filesRemedy
	}
	return formRemedy
}

// number returns the 1-based number of the current line in the model's text.
func (p *parser) number() int { return p.above + p.pos + 1 }

// stray refuses the current line.
func (p *parser) stray() error {
	return invalid("patch.parse", p.form()+" Leave out everything else.",
		"Line %d of the diff, %s, is outside of every hunk.", p.number(), excerpt(p.lines[p.pos]))
}

// isFileHeader reports whether lines at and at+1 are "--- name", "+++ name".
func (p *parser) isFileHeader(at int) bool {
	return at+1 < len(p.lines) && isMetadata(p.lines[at], "--- ", "---\t") && isMetadata(p.lines[at+1], "+++ ", "+++\t")
}

func isMetadata(s string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// isSignature reports whether the diff ends, from line at on, with the "-- " and version number
// that git adds to a mailed patch.
func (p *parser) isSignature(at int) bool {
	if at+1 != p.lastText || strings.TrimRight(p.lines[at], " \r\n") != "--" {
		return false
	}
	version := strings.TrimSpace(p.lines[at+1])
	return version != "" && strings.Trim(version, "0123456789.") == ""
}

// fenceOf returns the run of backticks or tildes that opens or closes a Markdown fence, "" if s is
// not a fence.
func fenceOf(s string) string {
	s = strings.TrimLeft(s, " ")
	for _, c := range []string{"`", "~"} {
		if run := len(s) - len(strings.TrimLeft(s, c)); run >= 3 {
			return s[:run]
		}
	}
	return ""
}

func (p *parser) toggleFence(s string) {
	f := fenceOf(s)
	p.fenced = true
	switch {
	case p.fence == "":
		p.fence = f
	case strings.HasPrefix(f, p.fence) && strings.TrimSpace(s) == f:
		p.fence, p.closed = "", true
	}
}

// hunk parses a hunk, whose header is the current line.
func (p *parser) hunk() error {
	raw := p.lines[p.pos]
	p.headers++
	p.closed = false
	if strings.HasSuffix(raw, "\r\n") {
		p.headersCR++
	}
	h := hunk{number: len(p.d.hunks) + 1, head: parseHeader(content(raw))}
	p.pos++
	end, ok := p.countedEnd(h.head)
	if !ok {
		end = p.openEnd()
	}
	h.countsHold = ok
	h.lines = make([]line, 0, end-p.pos)
	for ; p.pos < end; p.pos++ {
		if err := p.line(&h); err != nil {
			return err
		}
	}
	p.d.cut = end == len(p.lines) && !strings.HasSuffix(p.lines[end-1], "\n")
	if len(h.lines) == 0 {
		if p.d.cut {
			return cutOff(h.number)
		}
		return invalid("patch.parse", p.form(), "Hunk %d has no lines.", h.number)
	}
	p.d.hunks = append(p.d.hunks, h)
	return nil
}

// countedEnd returns the end of the hunk by its header's counts. ok is false unless the counts fit
// exactly: every line up to there belongs to a hunk and the next one does not. A removed line "--
// x" or an added "++ x" looks like a file header; within fitting counts it is text.
func (p *parser) countedEnd(h header) (end int, ok bool) {
	if !h.counted || h.oldCount+h.newCount == 0 {
		return 0, false
	}
	i, oldLeft, newLeft := p.pos, h.oldCount, h.newCount
	for ; oldLeft > 0 || newLeft > 0; i++ {
		if i == len(p.lines) {
			return 0, false
		}
		switch firstByte(content(p.lines[i])) {
		case ' ':
			oldLeft--
			newLeft--
		case '-':
			oldLeft--
		case '+':
			newLeft--
		case '\\':
		default:
			return 0, false
		}
		if oldLeft < 0 || newLeft < 0 {
			return 0, false
		}
	}
	if i < len(p.lines) && isMarker(content(p.lines[i])) {
		i++
	}
	for next := i; next < len(p.lines); next++ {
		if isBlank(p.lines[next]) {
			continue
		}
		inside := strings.IndexByte(" +-\\", firstByte(content(p.lines[next]))) >= 0
		if inside && !p.isFileHeader(next) && !p.isLoneHeader(next) && !p.isSignature(next) {
			return 0, false
		}
		break
	}
	return i, true
}

// openEnd returns the end of the hunk without the header's counts: the next hunk, file header or
// line that cannot belong to a hunk.
func (p *parser) openEnd() int {
	for i := p.pos; i < len(p.lines); i++ {
		if p.isLoneHeader(i) || p.isFileHeader(i) && i+2 < len(p.lines) && strings.HasPrefix(p.lines[i+2], "@@") {
			return i
		}
		switch firstByte(content(p.lines[i])) {
		case ' ', '+', '-', '\\':
		default:
			return i
		}
	}
	return len(p.lines)
}

// firstByte returns the prefix of a line of a hunk; a blank for a context line that lost its own,
// if it is empty or begins with a tab.
func firstByte(s string) byte {
	if s == "" || s[0] == '\t' {
		return ' '
	}
	return s[0]
}

func isMarker(s string) bool { return strings.HasPrefix(s, `\ `) }

// line adds the current line to h.
func (p *parser) line(h *hunk) error {
	raw := p.lines[p.pos]
	s := content(raw)
	if s == "" {
		// Context without its blank, if the hunk continues; otherwise spacing.
		h.tail++
		return nil
	}
	if s[0] == '\\' {
		if len(h.lines) == 0 || h.tail > 0 || !isMarker(s) && !strings.HasPrefix(noNewline, s) {
			return p.stray()
		}
		if len(s) < len(`\ No newline`) {
			return cutOff(h.number)
		}
		h.lines[len(h.lines)-1].noEOL = true
		return nil
	}
	for ; h.tail > 0; h.tail-- {
		blank := p.lines[p.pos-h.tail]
		h.lines = append(h.lines, line{op: gitdiff.OpContext, cr: returnsOf(blank)})
		h.blanksMissed = true
	}
	op := gitdiff.OpContext
	switch s[0] {
	case '-':
		op = gitdiff.OpDelete
	case '+':
		op = gitdiff.OpAdd
	}
	text := s[1:]
	if s[0] == '\t' {
		text, h.blanksMissed = s, true
	}
	h.lines = append(h.lines, line{op: op, text: text, cr: returnsOf(raw)})
	return nil
}

// returnsOf counts the CR at the end of a line.
func returnsOf(raw string) int { return len(strings.TrimSuffix(raw, lf)) - len(content(raw)) }

// dropRepeats turns lines that a change removes and adds again unchanged, at its beginning or its
// end, into context: there the file keeps its own bytes.
func dropRepeats(lines []line) []line {
	out := make([]line, 0, len(lines))
	for i := 0; i < len(lines); {
		if lines[i].op == gitdiff.OpContext {
			out = append(out, lines[i])
			i++
			continue
		}
		var olds, news []int // indexes into lines
		for ; i < len(lines) && lines[i].op != gitdiff.OpContext; i++ {
			if lines[i].op == gitdiff.OpDelete {
				olds = append(olds, i)
			} else {
				news = append(news, i)
			}
		}
		same := func(a, b int) bool {
			return lines[a].text == lines[b].text && lines[a].noEOL == lines[b].noEOL && lines[a].cr == lines[b].cr
		}
		kept := func(at int) line {
			l := lines[at]
			l.op, l.again = gitdiff.OpContext, true
			return l
		}
		for len(olds) > 0 && len(news) > 0 && same(olds[0], news[0]) {
			out = append(out, kept(olds[0]))
			olds, news = olds[1:], news[1:]
		}
		var after []line
		for len(olds) > 0 && len(news) > 0 && same(olds[len(olds)-1], news[len(news)-1]) {
			after = append(after, kept(olds[len(olds)-1]))
			olds, news = olds[:len(olds)-1], news[:len(news)-1]
		}
		for len(olds) > 0 || len(news) > 0 { // the rest, in its order
			if len(news) == 0 || len(olds) > 0 && olds[0] < news[0] {
				out = append(out, lines[olds[0]])
				olds = olds[1:]
			} else {
				out = append(out, lines[news[0]])
				news = news[1:]
			}
		}
		for j := len(after) - 1; j >= 0; j-- {
			out = append(out, after[j])
		}
	}
	return out
}

// markNumbered determines which headers state a valid position. A position is invalid if another
// header is equal, or states the same position while the counts of one of them are wrong; and if
// the header is `@@ -1,1 +1,1 @@`, which models write for an unknown position far more often than
// for the first line. Diff programs write `@@ -1 +1 @@` for that one.
func markNumbered(hunks []hunk) {
	same, unsure := map[header]int{}, map[int]int{}
	stated := map[int]int{}
	for i := range hunks {
		h := &hunks[i]
		same[h.head]++
		stated[h.head.oldStart]++
		if !h.countsHold {
			unsure[h.head.oldStart]++
		}
	}
	for i := range hunks {
		h := &hunks[i]
		n := h.head
		placeholder := n.oldStart == 1 && n.oldCount <= 1 && n.newCount <= 1 && (n.explicit || !h.countsHold)
		shared := same[n] > 1 || stated[n.oldStart] > 1 && unsure[n.oldStart] > 0
		h.numbered = n.oldStart > 0 && !shared && !placeholder
	}
}

// cutOff refuses a diff that ends in the middle.
func cutOff(hunk int) error {
	return invalid("patch.parse", "Send the whole diff again, or a smaller one; end it with a line feed.",
		"The diff is cut off in hunk %d.", hunk)
}
