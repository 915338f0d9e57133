package commands

import (
	"context"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/tools"
)

// Completions are ways to go on with a line.
type Completions struct {
	From, To int // the bytes of the line that an item replaces
	Items    []Completion
}

// Completion is one of them.
type Completion struct {
	Text        string // what is put in, without a blank behind it
	Description string // may be empty
	Run         bool   // choosing it may also run it, as no arguments can follow
}

// Complete offers what could stand at the cursor, a byte offset in the line: names
// of commands, of sub-commands, and arguments. Names that begin with what is typed
// come first, then those with a part that does, as "git:commit" for "commit"; hidden
// commands are left out. Names are in their order, arguments as the command gives
// them. c is handed to the command's Completion, whose error is that of Complete.
func (s *Set) Complete(ctx context.Context, c *Context, line string, cursor int) (Completions, error) {
	cursor = min(max(cursor, 0), len(line))
	start := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
	rest, ok := cutSlash(line[start:])
	if at := start + 1; !ok || cursor < at {
		return Completions{}, nil
	}
	rest = rest[:cursor-start-1]
	word, after, more := nextWord(rest)
	if !more {
		return Completions{cursor - len(rest), wordEnd(line, cursor), s.names(rest)}, nil
	}
	cmd := s.Lookup(word)
	for cmd != nil {
		rest = after
		if word, after, more = nextWord(rest); !more {
			break
		}
		sub := below(cmd, word)
		if sub == nil {
			break
		}
		cmd = sub
	}
	if cmd == nil {
		return Completions{}, nil
	}
	found := Completions{From: cursor - len(rest), To: wordEnd(line, cursor)}
	if !strings.ContainsFunc(rest, unicode.IsSpace) {
		found.Items = offer(cmd.SubCommands, rest)
	}
	if cmd.Completion == nil {
		return found, nil
	}
	var candidates []Candidate
	err := tools.Protect("/"+cmd.Name, "complete", func() (err error) {
		candidates, err = cmd.Completion(ctx, c, rest)
		return err
	})
	for _, one := range candidates {
		found.Items = append(found.Items, Completion{Text: one.Value, Description: one.Description})
	}
	return found, err
}

// nextWord returns the first word of text and what comes after the blanks behind
// it, and whether there are such blanks.
func nextWord(text string) (word, rest string, more bool) {
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, "", false
	}
	return text[:end], strings.TrimLeftFunc(text[end:], unicode.IsSpace), true
}

// wordEnd is where the word ends that the cursor is in.
func wordEnd(line string, cursor int) int {
	if end := strings.IndexFunc(line[cursor:], unicode.IsSpace); end >= 0 {
		return cursor + end
	}
	return len(line)
}

// names offers the session's commands.
func (s *Set) names(typed string) []Completion { return offer(s.all, typed) }

// offer offers commands by their names, and by other names where the name does not
// fit what is typed.
func offer(all []*Command, typed string) []Completion {
	var first, second []Completion
	for _, c := range all {
		if c.Hidden {
			continue
		}
		item := Completion{Text: c.Name, Description: c.Description, Run: c.AutoExecute && len(c.SubCommands) == 0}
		if strings.HasPrefix(c.Name, typed) {
			first = append(first, item)
			continue
		}
		if alt, ok := otherName(c, typed); ok {
			item.Text = alt
			first = append(first, item)
		} else if hasPart(c.Name, typed) {
			second = append(second, item)
		}
	}
	return append(first, second...)
}

// otherName returns an alternative name that begins with what is typed.
func otherName(c *Command, typed string) (string, bool) {
	for _, alt := range c.AltNames {
		if strings.HasPrefix(alt, typed) {
			return alt, true
		}
	}
	return "", false
}

// hasPart reports whether a part of a name behind ":" or "." begins with what is
// typed.
func hasPart(name, typed string) bool {
	for i := 0; i < len(name)-1; i++ {
		if (name[i] == ':' || name[i] == '.') && strings.HasPrefix(name[i+1:], typed) {
			return true
		}
	}
	return false
}
