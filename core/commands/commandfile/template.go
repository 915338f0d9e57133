package commandfile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// argsMark is replaced by the text after the command's name.
const argsMark = "{{args}}"

// template is the prompt of a file: text with {{args}}, ${NAME}, @{PATH} and !{COMMAND}.
// Inserted text is never expanded again, so that arguments, variables, files and command
// output cannot name files or run commands.
type template struct {
	pieces    []piece
	variables map[string]string // of ${NAME}
	hasArgs   bool              // it contains {{args}}, or another mark of arguments

	markdown bool        // see parseMarkdown
	first    int         // the number of the first argument in marks
	limit    *shellLimit // nil: policy alone decides about the commands
}

// pieceKind is the kind of a piece of a template.
type pieceKind int

const (
	pieceText     pieceKind = iota // literal text
	pieceArgs                      // the arguments, unchanged; with a text the one of that number
	pieceVariable                  // a variable, unchanged
	pieceFile                      // the content of the path
	pieceCommand                   // the output of the command
)

// piece is a part of a template.
type piece struct {
	kind pieceKind
	text string // the text or value, the path, or the command, which may contain {{args}} and ${NAME}
	raw  string // as written
	// loose: a file that cannot be read is not worth a warning, because the mark may be
	// text.
	loose bool
}

// parseTemplate parses a template. ${NAME} is replaced by the variable with that name:
// unchanged in text and paths, quoted in commands; unknown names are left unchanged. In
// @{…} and !{…} braces are counted, so that commands may contain pairs of braces; there
// are no escapes. Within !{…} an @{…} is part of the command, as in git's @{upstream}.
// The error, of code invalid_config, gives the line of unclosed braces.
func parseTemplate(text string, variables map[string]string) (*template, error) {
	t := &template{variables: variables}
	done := 0 // bytes that are in pieces
	for at := 0; at < len(text); {
		kind, begin := t.opening(text[at:])
		if kind == pieceText {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		end := at + begin
		if kind == pieceFile || kind == pieceCommand {
			if end = closing(text, end); end < 0 {
				return nil, unbalanced(text, at)
			}
		}
		t.add(piece{kind: pieceText, text: text[done:at]})
		p := piece{kind: kind, raw: text[at:end]}
		switch kind {
		case pieceVariable:
			p.text = t.filled(p.raw)
		case pieceFile:
			p.text = t.filled(strings.TrimSpace(text[at+begin : end-1]))
		case pieceCommand:
			p.text = strings.TrimSpace(text[at+begin : end-1])
		}
		t.add(p)
		at, done = end, end
	}
	t.add(piece{kind: pieceText, text: text[done:]})
	return t, nil
}

// opening returns the kind of mark at the start of text, and its length.
func (t *template) opening(text string) (pieceKind, int) {
	switch {
	case strings.HasPrefix(text, argsMark):
		return pieceArgs, len(argsMark)
	case strings.HasPrefix(text, "@{"):
		return pieceFile, len("@{")
	case strings.HasPrefix(text, "!{"):
		return pieceCommand, len("!{")
	}
	if mark := variableMark(text, t.variables); mark != "" {
		return pieceVariable, len(mark)
	}
	return pieceText, 0
}

// variableMark returns the ${NAME} at the start of text if the variable is known; else
// "".
func variableMark(text string, variables map[string]string) string {
	rest, ok := strings.CutPrefix(text, "${")
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, "}")
	if _, known := variables[name]; !ok || !known {
		return ""
	}
	return text[:len("${}")+len(name)]
}

// filled returns text with its variables expanded.
func (t *template) filled(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		if mark := variableMark(text[at:], t.variables); mark != "" {
			b.WriteString(t.variables[mark[len("${"):len(mark)-1]])
			at += len(mark)
			continue
		}
		b.WriteByte(text[at])
		at++
	}
	return b.String()
}

// closing returns the offset of the closing brace; -1 if there is none.
func closing(text string, at int) int {
	for depth := 1; at < len(text); at++ {
		switch text[at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

func unbalanced(text string, at int) error {
	line := 1 + strings.Count(text[:at], "\n")
	return fault.New(fault.InvalidConfig, "commands.template",
		fmt.Sprintf("The %q in line %d of the prompt is not closed.", text[at:at+2], line), "Close each brace; within !{…} and @{…} they must be balanced.")
}

func (t *template) add(p piece) {
	if p.kind == pieceText && p.text == "" {
		return
	}
	t.hasArgs = t.hasArgs || p.kind == pieceArgs || p.kind == pieceCommand && strings.Contains(p.text, argsMark)
	t.pieces = append(t.pieces, p)
}

// commandLines returns the commands of the template with args and variables inserted, in
// order, "" for an empty one.
func (t *template) commandLines(args string) ([]string, error) {
	var lines []string
	variables := t.positions(args)
	for _, p := range t.pieces {
		if p.kind != pieceCommand {
			continue
		}
		line, err := commandLine(p.text, args, variables)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}
