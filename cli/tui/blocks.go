package tui

import (
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/markdown"
	"github.com/fettle-dev/fettle/cli/theme"
)

// look is what the lines of blocks depend on beside what they say.
type look struct {
	columns int
	detail  bool // what is folded is shown
	theme   *theme.Theme
}

// promptBlock is what the person has said.
type promptBlock struct{ text string }

func (b *promptBlock) changes() int { return 0 }

// maxPromptLines is how much of a prompt is shown while details are not.
const maxPromptLines = 12

func (b *promptBlock) render(v look) []string {
	lines := folded(b.text, v.columns-2)
	if over := len(lines) - maxPromptLines; over > 0 && !v.detail {
		lines = append(lines[:maxPromptLines:maxPromptLines], "… "+thousands(over)+" more lines (ctrl+o)")
	}
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines[i] = v.theme.User.Render(display.Cut(mark+line, v.columns, ""))
	}
	return lines
}

// answerBlock is text of the model's, as it comes.
type answerBlock struct {
	source strings.Builder

	// The rendering so far, for the last look.
	stream *markdown.Stream
	taken  int // bytes of source that stream has
	lines  []string
	look   look
}

func (b *answerBlock) add(text string) { b.source.WriteString(text) }

func (b *answerBlock) changes() int { return b.source.Len() }

func (b *answerBlock) render(v look) []string {
	if b.stream == nil || b.look != v {
		b.stream, b.look, b.taken, b.lines = markdown.NewStream(max(v.columns-2, 1), *v.theme), v, 0, nil
	}
	b.lines = append(b.lines, split(b.stream.Add(b.source.String()[b.taken:]))...)
	b.taken = b.source.Len()
	lines := append(b.lines[:len(b.lines):len(b.lines)], split(b.stream.Open())...)
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return marked(v, v.theme.Assistant.Render("●"), lines)
}

// marked puts a mark, one column wide, before the first line, and indents all.
func marked(v look, mark string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if i == 0 {
			out[i] = mark + " " + line
		} else {
			out[i] = "  " + line
		}
		out[i] = display.Cut(out[i], v.columns, "…")
	}
	return out
}

// thoughtBlock is what the model thinks: a line of it, or all.
type thoughtBlock struct {
	subject string
	text    strings.Builder
	version int
}

func (b *thoughtBlock) add(subject, text string) {
	b.version++
	if subject != "" {
		b.subject = subject
		text = "\n" + subject + "\n" + text
	}
	b.text.WriteString(text)
}

func (b *thoughtBlock) changes() int { return b.version }

func (b *thoughtBlock) render(v look) []string {
	mark := v.theme.Thought.Render("∴")
	if v.detail {
		lines := folded(strings.TrimSpace(b.text.String()), v.columns-2)
		for i := range lines {
			lines[i] = v.theme.Thought.Render(lines[i])
		}
		return marked(v, mark, lines)
	}
	head := b.subject
	if head == "" {
		head = b.text.String()
		if len(head) > 400 {
			head = head[:400]
		}
	}
	line := display.Cut("thinking: "+display.Line(head), v.columns-2, "…")
	return marked(v, mark, []string{v.theme.Thought.Render(line)})
}

// messageBlock is something that the session tells the person.
type messageBlock struct {
	level interactive.Level
	text  string // Markdown
}

func (b *messageBlock) changes() int { return 0 }

func (b *messageBlock) render(v look) []string {
	lines := split(strings.TrimRight(markdown.Render(b.text, max(v.columns-2, 1), *v.theme), "\n"))
	switch b.level {
	case interactive.LevelWarning:
		return marked(v, v.theme.Warning.Render("!"), lines)
	case interactive.LevelError:
		return marked(v, v.theme.Error.Render("✗"), lines)
	}
	return marked(v, v.theme.Dim.Render("·"), lines)
}

// noteBlock is a plain line or more that this package tells the person.
type noteBlock struct {
	level interactive.Level
	text  string
}

func (b *noteBlock) changes() int { return 0 }

func (b *noteBlock) render(v look) []string {
	style, mark := v.theme.Dim, "·"
	switch b.level {
	case interactive.LevelWarning:
		style, mark = v.theme.Warning, "!"
	case interactive.LevelError:
		style, mark = v.theme.Error, "✗"
	}
	lines := folded(b.text, v.columns-2)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return marked(v, style.Render(mark), lines)
}

// shellBlock is what a shell line of the person's printed.
type shellBlock struct{ text string }

func (b *shellBlock) changes() int { return 0 }

func (b *shellBlock) render(v look) []string {
	t := newTail(maxTailLines)
	t.add(b.text)
	lines := t.lines(v.columns - 2)
	return indented(shortened(v, lines, 12, true), "  ")
}

// shortened keeps the first or the last lines, unless details are shown, and says
// how many there are beside.
func shortened(v look, lines []string, most int, last bool) []string {
	over := len(lines) - most
	if v.detail || over <= 1 {
		return lines
	}
	note := v.theme.Dim.Render(display.Cut("… "+thousands(over)+" more lines (ctrl+o)", v.columns-2, "…"))
	if last {
		return append([]string{note}, lines[over:]...)
	}
	return append(lines[:most:most], note)
}

func indented(lines []string, by string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = by + line
	}
	return out
}

// duration writes a time that passes, to the second.
func duration(d time.Duration) string {
	d = d.Truncate(time.Second)
	if d < time.Minute {
		return d.String()
	}
	if d < time.Hour {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}
