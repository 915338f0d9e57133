package commands

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// argsMark stands for what a person has written behind the command's name.
const argsMark = "{{args}}"

// Template is the prompt of a file: text in which {{args}}, @{PATH} and !{COMMAND}
// stand for something. What is put in is never looked into again, so that neither
// arguments nor files nor what commands print can name files or run commands.
type Template struct {
	pieces  []piece
	hasArgs bool // {{args}} stands somewhere
}

// pieceKind says what a piece of a template stands for.
type pieceKind int

const (
	pieceText    pieceKind = iota // itself
	pieceArgs                     // the arguments, as they are
	pieceFile                     // what the path's file holds
	pieceCommand                  // what the command prints
)

// piece is a part of a template.
type piece struct {
	kind pieceKind
	text string // the text, the path, or the command, in which {{args}} may stand
	raw  string // as it is written
}

// ParseTemplate reads a template. In @{…} and !{…} braces are counted, so that
// commands may hold pairs of them; there are no escapes. Within !{…} an @{…} is a
// part of the command, as git's @{upstream} is. The error, of code invalid_config,
// says in which line of the text braces are not closed.
func ParseTemplate(text string) (*Template, error) {
	t := &Template{}
	done := 0 // bytes that are in pieces
	for at := 0; at < len(text); {
		kind, begin := opening(text[at:])
		if kind == pieceText {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		end := at + begin
		if kind != pieceArgs {
			if end = closing(text, end); end < 0 {
				return nil, unbalanced(text, at)
			}
		}
		t.add(piece{kind: pieceText, text: text[done:at]})
		p := piece{kind: kind, raw: text[at:end]}
		if kind != pieceArgs {
			p.text = strings.TrimSpace(text[at+begin : end-1])
		}
		t.add(p)
		at, done = end, end
	}
	t.add(piece{kind: pieceText, text: text[done:]})
	return t, nil
}

// opening says what text begins with, and how long that is.
func opening(text string) (pieceKind, int) {
	switch {
	case strings.HasPrefix(text, argsMark):
		return pieceArgs, len(argsMark)
	case strings.HasPrefix(text, "@{"):
		return pieceFile, len("@{")
	case strings.HasPrefix(text, "!{"):
		return pieceCommand, len("!{")
	}
	return pieceText, 0
}

// closing returns where the braces end that are open at a place; -1: nowhere.
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
		fmt.Sprintf("The %q in line %d of the prompt is not closed.", text[at:at+2], line), "Close each brace; within !{…} and @{…} they have to come in pairs.")
}

func (t *Template) add(p piece) {
	if p.kind == pieceText && p.text == "" {
		return
	}
	t.hasArgs = t.hasArgs || p.kind == pieceArgs || p.kind == pieceCommand && strings.Contains(p.text, argsMark)
	t.pieces = append(t.pieces, p)
}

// commandLines returns the commands of the template with args in them, in their
// order, "" for one that is empty.
func (t *Template) commandLines(args string) ([]string, error) {
	var lines []string
	for _, p := range t.pieces {
		if p.kind != pieceCommand {
			continue
		}
		line, err := commandLine(p.text, args)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}
