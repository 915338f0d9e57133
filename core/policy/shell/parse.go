package shell

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of [Parse]; a line beyond them has a Problem.
const (
	MaxBytes    = 16 << 10 // of the line
	MaxBrackets = 200      // opening brackets and backquotes
	maxParts    = 1024
	maxDepth    = 8      // of command lines passed to shells in command lines
	maxSteps    = 20_000 // of the analysis, which a line can make it repeat
	stepBytes   = 64     // of text that count as one step
	stepWords   = 8      // of a command that count as one step
)

// Parse parses a bash command line. It never fails: a line that it cannot parse
// has a Problem. It does no I/O and is safe for concurrent use.
func Parse(command string) (line *Line) {
	line = &Line{Source: command}
	if line.Problem = refuse(command); line.Problem != "" {
		return line
	}
	defer func() {
		if r := recover(); r != nil { // after any panic the line requires approval
			line = &Line{Source: command, Problem: "taking it apart met a defect of the analysis"}
		}
	}()
	file, err := parseBash(command)
	if err != nil {
		line.Problem = "it is not valid bash: " + err.Error()
		return line
	}
	a := newAnalysis(command)
	a.file(&scope{dirs: here(), parent: -1, top: true}, file, command)
	if a.setsIFS || a.setsDirs { // earlier commands may run after it
		steps, splits, dirs := a.steps, a.setsIFS, a.setsDirs
		a = newAnalysis(command)
		a.steps, a.splitsElse, a.setsDirs = steps, splits, dirs
		a.file(&scope{dirs: here(), parent: -1, top: true}, file, command)
	}
	a.checkEvaluations()
	a.checkOperands()
	a.checkDeclared()
	a.checkSuspects()
	a.runWritten()
	line.Parts, line.Problem = a.parts, a.problem
	line.Inputs, line.Environment, line.Dotglob = a.inputs, a.environment(), a.dotglob
	return line
}

// refuse returns the reason why a line is not even parsed; "" if it is.
func refuse(command string) string {
	if len(command) > MaxBytes {
		return fmt.Sprintf("it is longer than %d bytes", MaxBytes)
	}
	if !utf8.ValidString(command) {
		return "it is not valid UTF-8"
	}
	brackets := 0
	for i := range len(command) {
		switch command[i] {
		case 0:
			return "it contains a NUL byte"
		case '\r':
			return "it contains a carriage return, which bash takes for a part of a word"
		case '(', '{', '[', '`':
			brackets++
		}
	}
	if brackets > MaxBrackets {
		return fmt.Sprintf("it has more than %d opening brackets", MaxBrackets)
	}
	return ""
}

// parseBash parses a text. It refuses constructs that the parser reads
// differently from bash: a comment that ends in a backslash, which the parser
// continues on the next line, backquotes nested three deep, which it reads as
// plain text, and backquotes in backquotes in the middle of a word, where it ends
// the word.
func parseBash(text string) (*syntax.File, error) {
	suspect := strings.Contains(text, "\\\n") && strings.Contains(text, "#") || strings.Contains(text, "\\`")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(suspect)).Parse(strings.NewReader(text), "")
	if err != nil || !suspect {
		return file, err
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Comment:
			if strings.Contains(n.Text, "\n") {
				err = errors.New("a comment ends in a backslash")
			}
		case *syntax.CmdSubst:
			if n.Backquotes && strings.Contains(text[n.Pos().Offset():n.End().Offset()], "\\\\`") {
				err = errors.New("backquotes are nested too deeply")
			}
			before := strings.TrimSuffix(text[:n.Pos().Offset()], `\`)
			if n.Backquotes && !startsWord(text, before, n.Pos().Offset()) {
				err = errors.New("backquotes in backquotes are part of a word")
			}
		}
		return err == nil
	})
	return file, err
}

// startsWord reports whether escaped backquotes after before begin a word.
// Unescaped ones may be anywhere.
func startsWord(text, before string, at uint) bool {
	if !strings.HasPrefix(text[at:], "\\`") && len(before) == int(at) {
		return true
	}
	return before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n;|&(\"`")
}

// analysis is the state of one [Parse].
type analysis struct {
	parts   []Part
	steps   int
	problem string
	source  string // of the text being walked

	vars           map[string][]*syntax.Word // assignments anywhere in the line
	functions      map[string]bool           // defined so far, unconditionally
	given          given                     // options that occur in the line as data
	following      int                       // number of variables being followed
	exportsAll     bool                      // later assignments are exported to programs
	setsIFS        bool                      // the line walked so far may set IFS
	splitsElse     bool                      // bash may split and join words at characters other than blanks
	dotglob        bool                      // see [Line.Dotglob]
	setsDirs       bool                      // CDPATH and similar variables, or a function named cd
	pushed         dirSet                    // possible targets of popd; none before the first pushd
	popsAway       bool                      // the target of popd is unknown
	moves          bool                      // something may change the directory
	readsFD        bool                      // a descriptor other than 0 to 2 may be open for reading
	values         map[string]*facts         // of assignments in the line walked so far
	learned        bool                      // one of them is unknown
	loose          map[string]bool           // variables with other values than those in vars
	looseAll       bool                      // any variable may be one
	valued         map[*syntax.Word][]string // all values of assigned words that are not static
	now            *scope                    // of the statement being walked
	been           dirSet                    // all directories that the line walked so far may have left
	left           bool                      // it has left one
	evaluations    []evaluation
	mayBeOptions   []operand
	expanded       []operand // all words of commands that are not static
	inputs         []Input
	expands        []expansion // of variables, anywhere in the line
	declaredValues []declaredValue
	suspected      []suspect
	arrays         map[string]bool // variables that may be arrays
	anyArray       bool            // any variable may be one
	at             *scope          // of the text being scanned
	mapped         map[string]int  // offsets after which variables of that text are associative arrays
	maps           bool            // some variable may be one

	evaluates bool // arithmetic or an indirection, which may run commands in a value
	hazard    bool // a value contains commands that these would run

	wrote []writtenFile
	ran   []ranFile

	endsDollar, beginsParen bool // the line contains pieces of such a value
}

func newAnalysis(source string) *analysis {
	return &analysis{source: source, parts: make([]Part, 0, min(8, 1+strings.Count(source, "|")+strings.Count(source, "&")/2+strings.Count(source, ";"))), vars: map[string][]*syntax.Word{}, functions: map[string]bool{}, values: map[string]*facts{}, loose: map[string]bool{}, valued: map[*syntax.Word][]string{}, arrays: map[string]bool{},
		given: given{arguments: map[string][]string{}, read: map[string]bool{}}}
}

// step counts work on a text, and reports false at the limit: the line then has a
// Problem.
func (a *analysis) step(text string) bool {
	a.steps += 1 + len(text)/stepBytes
	if a.steps > maxSteps && a.problem == "" {
		a.problem = "taking it apart takes too long"
	}
	return a.problem == ""
}

// add appends a part and returns its index.
func (a *analysis) add(sc *scope, p Part) int {
	if len(a.parts) >= maxParts {
		a.problem = fmt.Sprintf("it has more than %d parts", maxParts)
		return len(a.parts) - 1
	}
	p.Parent = sc.parent
	p.in(sc.dirs)
	if sc.parent >= 0 {
		p.Own = sc.own
	}
	if p.Text == "" {
		p.Text = wordsText(p.Words)
	}
	if sc.guess && p.Reason == "" {
		p.Reason = "it is what may run here"
	}
	a.parts = append(a.parts, p)
	return len(a.parts) - 1
}

// in sets the directories of a part.
func (p *Part) in(dirs dirSet) {
	p.Dirs, p.Repository, p.Below = dirs.list, dirs.repo, dirs.below
}

// unknown adds a part of which only the reason is known.
func (a *analysis) unknown(sc *scope, text, reason string) int {
	return a.add(sc, Part{Kind: Unknown, Text: text, Reason: reason})
}

// written returns a piece of the source as written.
func (a *analysis) written(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(a.source)) {
		return "…"
	}
	return a.source[from:to]
}

// wordText returns a word for display. A ~ that bash replaces stays without
// quotes.
func wordText(w Word) string {
	switch {
	case !w.Static:
		return w.Text
	case !w.home:
		return quoteWord(w.Text)
	}
	user, rest, slash := strings.Cut(w.Text, "/")
	if quoteWord("x"+user) != "x"+user {
		return quoteWord(w.Text)
	}
	if slash && rest != "" {
		return user + "/" + quoteWord(rest)
	}
	return w.Text
}

func wordsText(ws []Word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = wordText(w)
	}
	return strings.Join(texts, " ")
}
