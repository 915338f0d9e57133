package chat

import (
	"context"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
)

// mostCandidates is the maximum number of candidates.
const mostCandidates = 100

// Complete implements [interactive.Session].
func (c *chat) Complete(ctx context.Context, text string, cursor int) interactive.Completions {
	cursor = min(max(cursor, 0), len(text))
	if from, typed, ok := mentionAt(text, cursor); ok {
		return interactive.Completions{From: from, To: cursor, Items: c.mentions(ctx, typed)}
	}
	return c.completeCommand(ctx, text, cursor)
}

// mentionAt returns the name after @ at the cursor.
func mentionAt(text string, cursor int) (from int, typed string, ok bool) {
	for at := cursor; at > 0; {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		at -= n
		escaped := at > 0 && text[at-1] == '\\'
		switch {
		case r == '@' && !escaped && startsWord(text[:at]):
			return at, unescapeMention(text[at+1 : cursor]), true
		case unicode.IsSpace(r) && !escaped:
			return 0, "", false
		}
	}
	return 0, "", false
}

func startsWord(before string) bool {
	if before == "" {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsSpace(r) || strings.ContainsRune(",;!?()[]{}", r)
}

// mentions returns the agents and the entries of the typed directory.
func (c *chat) mentions(ctx context.Context, typed string) []interactive.Candidate {
	var all []interactive.Candidate
	if agents, err := c.config.Agents().List(); err == nil && !strings.Contains(typed, "/") {
		for _, a := range agents {
			if strings.HasPrefix(a.Name, typed) && typed != "" {
				all = append(all, interactive.Candidate{Text: "@" + a.Name + " ", Label: "@" + a.Name, Description: display.Line(a.Description)})
			}
		}
	}
	ws, err := c.config.Workspace()
	if err != nil {
		return all
	}
	dir, base := filepath.Split(typed)
	at, err := ws.Resolve(filepath.Join(ws.Target(), dir))
	if filepath.IsAbs(dir) {
		at, err = ws.Resolve(dir)
	}
	if err != nil {
		return all
	}
	entries, err := ws.ReadDir(ctx, at)
	if err != nil {
		return all
	}
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(base, ".")
		if hidden || !hasPrefixFold(e.Name, base) || len(all) >= mostCandidates {
			continue
		}
		name, end := dir+e.Name, " "
		if e.Err == nil && e.Info.Mode.IsDir() {
			name, end = name+"/", ""
		}
		all = append(all, interactive.Candidate{Text: "@" + escapeMention(name) + end, Label: "@" + display.Line(name)})
	}
	return all
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// special holds the characters that end a name after @ and are escaped in one.
const special = " \t,;!?()[]{}\\\"'"

func escapeMention(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unescapeMention(typed string) string {
	var b strings.Builder
	escaped := false
	for _, r := range typed {
		if r == '\\' && !escaped {
			escaped = true
			continue
		}
		escaped = false
		b.WriteRune(r)
	}
	return b.String()
}

// completeCommand completes commands and their arguments.
func (c *chat) completeCommand(ctx context.Context, text string, cursor int) interactive.Completions {
	if !strings.HasPrefix(text, "/") {
		return interactive.Completions{}
	}
	found, err := c.commandSet().Complete(ctx, c.commandContext(quiet{}), text, cursor)
	if err != nil {
		return interactive.Completions{}
	}
	done := interactive.Completions{From: found.From, To: found.To}
	for _, item := range found.Items[:min(len(found.Items), mostCandidates)] {
		done.Items = append(done.Items, interactive.Candidate{Text: item.Value, Description: display.Line(item.Description), Run: item.Run})
	}
	return done
}
