package chat

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/pathlist"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
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

// mentions returns the agents, the entries of the typed directory, and the files of the
// workspace whose path has the typed letters. Ignored files are omitted, and names that
// an input cannot hold.
func (c *chat) mentions(ctx context.Context, typed string) []interactive.Candidate {
	var all []interactive.Candidate
	if agents, err := c.config.Agents().List(); err == nil && !strings.Contains(typed, "/") {
		for _, a := range agents {
			if strings.HasPrefix(a.Name, typed) && typed != "" {
				all = append(all, interactive.Candidate{
					Text: "@" + a.Name + " ", Label: "@" + a.Name, Description: display.Line(a.Description), Marks: span(1, len(typed)),
				})
			}
		}
	}
	seen := map[string]bool{}
	add := func(path string, marks []int) {
		if seen[path] || len(all) >= mostCandidates || !mentionable(path) {
			return
		}
		seen[path] = true
		end := " "
		if strings.HasSuffix(path, "/") {
			end = ""
		}
		all = append(all, interactive.Candidate{Text: "@" + EscapeMention(path) + end, Label: "@" + path, Marks: shifted(marks, 1)})
	}
	dir, base := path.Split(filepath.ToSlash(typed))
	for _, name := range c.entries(ctx, dir, base) {
		add(dir+name, span(len(dir), len(base)))
	}
	if base != "" && c.files != nil && !path.IsAbs(dir) {
		for _, m := range c.files.Find(ctx, strings.TrimPrefix(typed, "./"), mostCandidates) {
			add(m.Path, m.At)
		}
	}
	return all
}

// entries returns the names in a directory that begin with base; those of directories
// end in a slash.
func (c *chat) entries(ctx context.Context, dir, base string) (names []string) {
	ws, err := c.config.Workspace()
	if err != nil {
		return nil
	}
	from := filepath.FromSlash(dir)
	if !filepath.IsAbs(from) {
		from = filepath.Join(ws.Target(), from)
	}
	at, err := ws.Resolve(from)
	if err != nil {
		return nil
	}
	entries, err := ws.ReadDir(ctx, at)
	if err != nil {
		return nil
	}
	rules, err := c.finder(ws).In(ctx, at)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		isDir := e.Err == nil && e.Info.Mode.IsDir()
		hidden := strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(base, ".")
		if hidden || !hasPrefixFold(e.Name, base) || e.Name == ".git" || rules.Check(e.Name, isDir).Ignored {
			continue
		}
		if isDir {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
	return names
}

// finder returns the finder of the session's files.
func (c *chat) finder(ws *workspace.Workspace) *discovery.Finder {
	f := discovery.New(ws)
	set, err := c.config.Settings().Current()
	if err != nil {
		return f
	}
	filtering := set.Context.FileFiltering
	o := discovery.Options{CustomFiles: filtering.CustomIgnoreFilePaths, NoGitIgnore: !filtering.RespectGitIgnore}
	if filtering.RespectFettleIgnore {
		o.IgnoreFile = c.config.Layout().IgnoreFile
	}
	return f.With(o)
}

// listFiles yields the files of the workspace's directories. A path in several of them
// is that of the first, as in a prompt.
func (c *chat) listFiles(ctx context.Context, yield func(path string) bool) error {
	ws, err := c.config.Workspace()
	if err != nil {
		return err
	}
	finder, more := c.finder(ws), true
	for _, dir := range ws.Directories() {
		start, err := ws.Resolve(dir)
		if err != nil {
			continue
		}
		_, err = finder.Walk(ctx, discovery.Walk{Start: start, Depth: -1, Links: true}, func(f discovery.File) bool {
			more = yield(f.Rel())
			return more
		})
		if err != nil && ctx.Err() != nil || !more {
			return ctx.Err()
		}
	}
	return nil
}

// span returns n consecutive positions.
func span(from, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = from + i
	}
	return at
}

func shifted(at []int, by int) []int {
	moved := make([]int, len(at))
	for i := range at {
		moved[i] = at[i] + by
	}
	return moved
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// mentionable reports whether a reference to a name can be typed: it has no character
// that the input omits.
func mentionable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r == '\n' || r == '\t' || display.Obeyed(r) })
}

// special holds the characters that have a meaning in a name after @, apart from white
// space.
const special = ",;!?()[]{}*\\\"'"

// EscapeMention returns a name as it is written after @. A full stop at its end would
// end the sentence.
func EscapeMention(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsSpace(r) || strings.ContainsRune(special, r) || r == '.' && strings.Trim(name[i:], ".") == "" {
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
	typed := text[found.From:cursor]
	slash := ""
	if strings.TrimSpace(text[:found.From]) == "/" {
		slash = "/"
	}
	known := map[string]bool{}
	for _, item := range found.Items {
		candidate := interactive.Candidate{Text: item.Value, Label: slash + item.Value, Description: display.Line(item.Description), Run: item.Run}
		if at := strings.LastIndex(item.Value, typed); strings.HasPrefix(item.Value, typed) {
			candidate.Marks = span(len(slash), len(typed))
		} else if at >= 0 {
			candidate.Marks = span(len(slash)+at, len(typed))
		}
		done.Items, known[item.Value] = append(done.Items, candidate), true
		for _, alt := range c.altNames(item.Value, slash) {
			known[alt] = true
		}
	}
	if slash != "" && typed != "" {
		done.Items = append(done.Items, c.scatteredCommands(typed, known)...)
	}
	done.Items = done.Items[:min(len(done.Items), mostCandidates)]
	return done
}

// altNames returns the other names of a command; none unless slash begins its name.
func (c *chat) altNames(name, slash string) []string {
	if command := c.commandSet().Lookup(name); slash != "" && command != nil {
		return append(slices.Clone(command.AltNames), command.Name)
	}
	return nil
}

// scatteredCommands returns the other commands whose name has the typed letters.
func (c *chat) scatteredCommands(typed string, known map[string]bool) (all []interactive.Candidate) {
	var list []*commands.Command
	var names []string
	for _, command := range c.commandSet().List() {
		if !command.Hidden && !known[command.Name] {
			list, names = append(list, command), append(names, command.Name)
		}
	}
	for _, r := range pathlist.NewNames(names).Rank(typed, mostCandidates) {
		command := list[r.Index]
		all = append(all, interactive.Candidate{
			Text: command.Name, Label: "/" + command.Name, Description: display.Line(command.Description),
			Run: command.AutoExecute && len(command.SubCommands) == 0, Marks: shifted(r.At, 1),
		})
	}
	return all
}
