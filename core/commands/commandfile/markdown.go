package commandfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/frontmatter"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// markdownSuffix is the extension of command files in Markdown.
const markdownSuffix = ".md"

// Keys of a command's front matter, folded.
const (
	keyDescription  = "description"
	keyHint         = "argumenthint"
	keyAllowedTools = "allowedtools"
)

// markdownKeys are the other known keys, folded, with the reason why they have no effect;
// "" for those that need none.
var markdownKeys = map[string]string{
	"name": "", "disablemodelinvocation": "", "userinvocable": "", "version": "", "license": "", "metadata": "", "author": "", "category": "", "tags": "",
	"hidefromslashcommandtool": "", "arguments": "", "whentouse": "",
	"context": "the command runs in the conversation of the session",
	"model":   "the command runs on the model of the session",
	"effort":  "the command runs with the settings of the session",
}

// keyTools restricts the tools of a prompt, as other keys do that [frontmatter.Restricts]
// knows. A command with one of them is not loaded.
const keyTools = "tools"

// markdown reads the command of a Markdown file: an optional YAML front matter, and the
// prompt.
func (w *walk) markdown(path string, data []byte) {
	full := w.path(path)
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		w.fail(full, 0, "The command is not text in UTF-8.", "Save it as UTF-8.")
		return
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	m := markdownCommand{walk: w, path: full, body: text}
	if front, before, body, found := frontmatter.Split(text); found {
		m.body = body
		if !m.front(front, before) {
			return
		}
	}
	if m.body = strings.TrimSpace(m.body); m.body == "" {
		w.fail(full, 1, "The command has no prompt.", "Write it below the front matter.")
		return
	}
	if m.description == "" {
		m.description = firstLine(m.body)
	}
	if m.hint != "" {
		m.description = escape.Clip(m.description, maxDescription-1-len([]rune(m.hint))) + " " + m.hint
	}
	t := parseMarkdown(m.body, w.dir.Variables)
	t.limit = m.limit
	w.add(path, m.description, t, nil)
}

// firstLine returns the first line of a prompt as a description, without marks of a
// heading.
func firstLine(body string) string {
	line, _, _ := strings.Cut(body, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// markdownCommand is the state of reading one file.
type markdownCommand struct {
	*walk
	path, body        string
	description, hint string
	limit             *shellLimit
}

// front reads the front matter, and reports whether the command may be loaded.
func (m *markdownCommand) front(front string, before int) bool {
	root, textLine, err := frontmatter.Parse(front, before)
	if err != nil { // its restrictions are unknown
		e := position.As(err)
		m.fail(m.path, e.Line, "The front matter cannot be read: "+strings.TrimSuffix(e.Message, ".")+".", "Correct the YAML; quote a text that has a colon and a blank.")
		return false
	}
	if textLine > 0 {
		m.note(textLine, "The front matter is not valid YAML, because a text in it has no quotes; it was taken as text.")
	}
	for _, member := range root.Members() {
		key := frontmatter.Fold(member.Key)
		text, isText := member.Text()
		because, known := markdownKeys[key]
		switch {
		case key == keyDescription:
			m.description = strings.TrimSpace(text)
		case key == keyHint:
			m.hint = hintOf(member)
		case key == keyAllowedTools:
			if m.limit != nil {
				m.fail(m.path, member.Line, "The key "+clipped(member.Key)+" restricts the command a second time.", "Remove one of the two.")
				return false
			}
			if m.limit = limitOf(member.Node, m.dir.Variables); m.limit == nil {
				m.fail(m.path, member.Line, "The value of "+member.Key+" is not a list of tools, so the restrictions of the command are unknown.", "Write "+member.Key+": TOOL, TOOL.")
				return false
			}
		case frontmatter.RestrictsKey(key) || key == keyTools:
			if isText && (text == "" || text == "inherit") {
				continue
			}
			m.fail(m.path, member.Line, fmt.Sprintf("The command is not used, because its restriction %s is not supported.", clipped(member.Key)), "Remove the key if the command may run without it.")
			return false
		case known && because != "":
			m.note(member.Line, fmt.Sprintf("The key %s is not used: %s.", clipped(member.Key), because))
		case !known:
			m.note(member.Line, fmt.Sprintf("The key %s is unknown; it has no effect.", clipped(member.Key)))
		}
	}
	return true
}

func (m *markdownCommand) note(line int, message string) {
	m.problems = append(m.problems, fault.Problem{Path: m.path, Line: line, Message: message, Severity: fault.SeverityNotice})
}

// hintOf returns the hint for the arguments, which is often an unquoted list in brackets.
func hintOf(m *position.Member) string {
	if text, ok := m.Text(); ok {
		return escape.Plain(text, maxHint)
	}
	var words []string
	for _, item := range m.List() {
		if text, ok := item.Text(); ok {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return escape.Plain("["+strings.Join(words, ", ")+"]", maxHint)
}

// maxHint bounds the characters of a hint.
const maxHint = 40

func clipped(text string) string { return escape.Clip(escape.Line(text), 60) }

// add creates the command of a template, which err makes unusable.
func (w *walk) add(path, description string, t *template, err error) {
	full := w.path(path)
	if description = escape.Plain(description, maxDescription); description == "" {
		description = escape.Plain("Custom command from "+filepath.Base(full), maxDescription)
	}
	if w.dir.Extension != "" {
		description = "[" + w.dir.Extension + "] " + description
	}
	name := commandName(strings.TrimSuffix(path, w.suffix()))
	if w.dir.Namespace != "" {
		name = segment(w.dir.Namespace) + ":" + name
	}
	w.found = append(w.found, w.command(name, description, full, t, err))
}

// suffix returns the extension of the files of the directory.
func (w *walk) suffix() string {
	if w.dir.Markdown {
		return markdownSuffix
	}
	return suffix
}

// Marks of arguments in a prompt in Markdown.
var (
	allArguments = lazyregexp.New(`^\$ARGUMENTS(?:\[(\d)\])?`)
	oneArgument  = lazyregexp.New(`^\$(\d)(?:\W|$)`)
	fromZero     = lazyregexp.New(`\$0(?:\W|$)`)
	fileMark     = lazyregexp.New(`^@[^\s` + "`" + `"'<>(){}|,;]+`)
	bareRoot     = lazyregexp.New(`\$(CLAUDE_[A-Z_]+)\b`)
)

// parseMarkdown parses a prompt in Markdown: text with $ARGUMENTS, $1 to $9, ${NAME},
// @PATH at the beginning of a word, and commands as !`COMMAND`, or between lines of ```!
// and ```. It never fails: an unclosed mark is text. If $0 occurs, arguments are counted
// from zero.
func parseMarkdown(text string, variables map[string]string) *template {
	t := &template{variables: variables, first: 1, markdown: true}
	if fromZero().MatchString(text) {
		t.first = 0
	}
	text = bareRoot().ReplaceAllStringFunc(text, func(name string) string {
		if _, known := variables[name[1:]]; known {
			return "${" + name[1:] + "}"
		}
		return name
	})
	done := 0
	for at := 0; at < len(text); {
		p, n := t.mark(text, at)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		t.add(piece{kind: pieceText, text: text[done:at]})
		t.add(p)
		at += n
		done = at
	}
	t.add(piece{kind: pieceText, text: text[done:]})
	return t
}

// mark returns the piece of the mark at an offset, and its length; 0 for none.
func (t *template) mark(text string, at int) (piece, int) {
	rest := text[at:]
	begins := at == 0 || strings.ContainsRune(" \t\n", rune(text[at-1]))
	if arg, n := t.argument(rest); n > 0 {
		if at > 0 && text[at-1] == '\\' {
			return piece{}, 0
		}
		t.hasArgs = true
		return piece{kind: pieceArgs, text: arg, raw: rest[:n]}, n
	}
	if mark := variableMark(rest, t.variables); mark != "" {
		return piece{kind: pieceVariable, text: t.filled(mark), raw: mark}, len(mark)
	}
	switch {
	case begins && strings.HasPrefix(rest, "!`"):
		if end := strings.IndexByte(rest[2:], '`'); end > 0 {
			return piece{kind: pieceCommand, text: t.marked(rest[2 : 2+end]), raw: rest[:end+3]}, end + 3
		}
	case (at == 0 || text[at-1] == '\n') && strings.HasPrefix(rest, "```!\n"):
		if end := strings.Index(rest[4:], "\n```"); end >= 0 {
			n := 4 + end + len("\n```")
			return piece{kind: pieceCommand, text: t.marked(rest[5 : 4+max(end, 1)]), raw: rest[:n]}, n
		}
	case begins && rest[0] == '@':
		mark := strings.TrimRight(fileMark().FindString(rest), ".:!?*_")
		if strings.ContainsAny(mark, "/.$") && !strings.Contains(mark[1:], "@") {
			return piece{kind: pieceFile, text: t.marked(mark[1:]), raw: mark, loose: true}, len(mark)
		}
	}
	return piece{}, 0
}

// argument returns the argument that a mark at the beginning of a text means, as a key
// of positions, and its length; 0 for none.
func (t *template) argument(text string) (key string, n int) {
	if text[0] != '$' {
		return "", 0
	}
	if m := allArguments().FindStringSubmatch(text); m != nil {
		if m[1] == "" {
			return "", len(m[0])
		}
		i, _ := strconv.Atoi(m[1]) // a digit
		return strconv.Itoa(i + t.first), len(m[0])
	}
	if m := oneArgument().FindStringSubmatch(text); m != nil {
		return m[1], 2
	}
	return "", 0
}

// marked returns a command or a path in which arguments are marks of a template:
// {{args}}, and variables named $N.
func (t *template) marked(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		key, n := t.argument(text[at:])
		switch {
		case n == 0:
			b.WriteByte(text[at])
			at++
			continue
		case key == "":
			b.WriteString(argsMark)
		default:
			b.WriteString("${$" + key + "}")
		}
		t.hasArgs = true
		at += n
	}
	return strings.TrimSpace(b.String())
}

// positions returns the variables of a template with the arguments as $N. In a template
// that is not Markdown there are none.
func (t *template) positions(args string) map[string]string {
	if !t.markdown {
		return t.variables
	}
	all := map[string]string{}
	for name, value := range t.variables {
		all[name] = value
	}
	words := argumentWords(args)
	for i := range 10 {
		value := ""
		if at := i - t.first; at >= 0 && at < len(words) {
			value = words[at]
		}
		all["$"+strconv.Itoa(i)] = value
	}
	return all
}

// argumentWords splits arguments at blanks; quotes keep blanks together.
func argumentWords(args string) []string {
	var words []string
	var b strings.Builder
	quote, open := rune(0), false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'' && !open:
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				words = append(words, b.String())
				b.Reset()
				open = false
			}
		default:
			b.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words
}

// argumentsOf returns the text of a piece of arguments.
func (t *template) argumentsOf(p piece, args string) string {
	if p.text == "" {
		return args
	}
	return t.positions(args)["$"+p.text]
}

// pathOf returns the path of a piece of a file. In Markdown it may contain arguments.
func (t *template) pathOf(p piece, args string) string {
	if !t.markdown {
		return p.text
	}
	path := template{variables: t.positions(args)}
	return strings.ReplaceAll(path.filled(p.text), argsMark, args)
}
