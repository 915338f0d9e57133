package commands

import (
	"context"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/tools"
)

// Completions are the completions of a line.
type Completions struct {
	From, To int // the bytes of the line that an item replaces
	Items    []Candidate
}

// Complete returns the completions at the cursor, a byte offset in the line: names of
// commands, of sub-commands, and arguments. Names with the typed prefix come first, then
// those with a matching part, as "git:commit" for "commit"; hidden commands are omitted.
// Names are sorted, arguments are in the command's order. c is passed to the command's
// Completion, whose error Complete returns.
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
	found.Items = append(found.Items, candidates...)
	return found, err
}

// nextWord returns the first word of text and the text after the following spaces, and
// whether there are such spaces.
func nextWord(text string) (word, rest string, more bool) {
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, "", false
	}
	return text[:end], strings.TrimLeftFunc(text[end:], unicode.IsSpace), true
}

// wordEnd returns the end of the word at the cursor.
func wordEnd(line string, cursor int) int {
	if end := strings.IndexFunc(line[cursor:], unicode.IsSpace); end >= 0 {
		return cursor + end
	}
	return len(line)
}

// names adds the session's commands.
func (s *Set) names(typed string) []Candidate { return offer(s.all, typed) }

// offer adds commands by their names, and by alternative names if the name does not
// match.
func offer(all []*Command, typed string) []Candidate {
	var first, second []Candidate
	for _, c := range all {
		if c.Hidden {
			continue
		}
		item := Candidate{Value: c.Name, Description: c.Description, Run: c.AutoExecute && len(c.SubCommands) == 0}
		if strings.HasPrefix(c.Name, typed) {
			first = append(first, item)
			continue
		}
		if alt, ok := otherName(c, typed); ok {
			item.Value = alt
			first = append(first, item)
		} else if hasPart(c.Name, typed) {
			second = append(second, item)
		}
	}
	return append(first, second...)
}

// otherName returns an alternative name with the typed prefix.
func otherName(c *Command, typed string) (string, bool) {
	for _, alt := range c.AltNames {
		if strings.HasPrefix(alt, typed) {
			return alt, true
		}
	}
	return "", false
}

// hasPart reports whether a part of a name after ":" or "." has the typed prefix.
func hasPart(name, typed string) bool {
	for i := 0; i < len(name)-1; i++ {
		if (name[i] == ':' || name[i] == '.') && strings.HasPrefix(name[i+1:], typed) {
			return true
		}
	}
	return false
}
