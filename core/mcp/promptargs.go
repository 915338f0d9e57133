package mcp

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// ParseArguments parses the text after a prompt's command: --NAME=VALUE,
// --NAME="VALUE", and text that names no argument. Within double quotes, a
// backslash escapes the next character; outside of them it escapes only a blank
// or a quote, so that paths stay intact. After "--" everything is text. An
// unclosed quote is text as well.
//
// Text that names no argument is assigned to the required arguments without a
// value, in their order, one word or quoted text each, and then to the other
// arguments. If only one required argument has no value, it receives all of that
// text as written; so does a single optional argument if no argument is required.
//
// An error has code invalid_tool_params and names missing, unknown or surplus
// arguments.
func (p Prompt) ParseArguments(text string) (map[string]string, error) {
	args := make(map[string]string)
	words := promptWords(text)
	var loose []promptWord
	for _, w := range words {
		if !w.named {
			loose = append(loose, w)
			continue
		}
		if !slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == w.name }) {
			return nil, fault.New(fault.InvalidToolParams, "mcp.prompt",
				fmt.Sprintf("The prompt %s has no argument %s.", quoted(p.Name), quoted(w.name)), p.usage()+" Put text that begins with -- in quotes.")
		}
		args[w.name] = w.value
	}
	var required, optional []string
	for _, a := range p.Arguments {
		switch _, given := args[a.Name]; {
		case given:
		case a.Required:
			required = append(required, a.Name)
		default:
			optional = append(optional, a.Name)
		}
	}
	open := append(slices.Clone(required), optional...)
	switch {
	case len(loose) == 0:
	case len(required) == 1, len(required) == 0 && len(optional) == 1:
		args[open[0]] = joinWords(loose)
	case len(loose) > len(open):
		return nil, fault.New(fault.InvalidToolParams, "mcp.prompt",
			fmt.Sprintf("The prompt %s has no argument for %s.", quoted(p.Name), quoted(loose[len(open)].value)),
			p.usage()+" Put text of more than one word in quotes.")
	default:
		for i, w := range loose {
			args[open[i]] = w.value
		}
	}
	return args, p.complete(args)
}

// promptWord is one word of the text after a prompt's command.
type promptWord struct {
	named bool
	name  string
	value string
	space string // blanks before it
	next  bool   // the previous word names no argument either
}

// joinWords returns words as they were written.
func joinWords(words []promptWord) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case w.next:
			b.WriteString(w.space)
		default:
			b.WriteByte(' ')
		}
		b.WriteString(w.value)
	}
	return b.String()
}

// promptWords splits text into words.
func promptWords(text string) []promptWord {
	var words []promptWord
	onlyText := false
	for {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		w := promptWord{space: text[:len(text)-len(rest)]}
		if rest == "" {
			return words
		}
		w.next = len(words) > 0 && !words[len(words)-1].named
		if name, ok := argumentName(rest); ok && !onlyText {
			w.named, w.name = true, name
			rest = rest[len("--")+len(name)+len("="):]
		}
		var quotedText bool
		w.value, quotedText, text = nextWord(rest)
		if w.value == "--" && !quotedText && !w.named && !onlyText {
			onlyText = true
			continue
		}
		words = append(words, w)
	}
}

// argumentName returns the name of --NAME=… at the beginning of text.
func argumentName(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "--")
	end := strings.IndexFunc(rest, func(r rune) bool { return r == '=' || r == '"' || unicode.IsSpace(r) })
	if !ok || end <= 0 || rest[end] != '=' {
		return "", false
	}
	return rest[:end], true
}

// nextWord returns the first word of text, whether it is quoted, and the
// remaining text. It follows the rules of [Prompt.ParseArguments] rather than
// those of bash, so that backslashes of paths and single quotes are kept as
// typed.
func nextWord(text string) (word string, hasQuotes bool, rest string) {
	var b strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r):
			return b.String(), hasQuotes, text
		case r == '"':
			inside, after, ok := inQuotes(text[1:])
			if !ok {
				b.WriteByte('"')
				text = text[1:]
				continue
			}
			b.WriteString(inside)
			hasQuotes, text = true, after
			continue
		case r == '\\' && len(text) > 1 && (text[1] == '"' || text[1] == ' '):
			b.WriteByte(text[1])
			text = text[2:]
			continue
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String(), hasQuotes, ""
}

// inQuotes returns text up to the closing quote, and the remaining text.
func inQuotes(text string) (inside, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
