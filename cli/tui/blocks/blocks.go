package blocks

import (
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/diffview"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/markdown"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Style holds the settings that rendering depends on, besides the content of a block.
type Style struct {
	Columns int
	Detail  bool // show folded parts
	Theme   *theme.Theme
	Wide    bool                   // the terminal has room for diffs in two columns
	Colours *highlight.Highlighter // finds the colours of code; nil: none
	Pass    int                    // changes when lines must be rendered again
}

// Markdown renders Markdown, without empty lines around it.
func (v Style) Markdown(source string, columns int) []string {
	return Split(strings.Trim(markdown.Highlighted(source, max(columns, 1), *v.Theme, v.Colours), "\n"))
}

// Diff arranges a diff.
func (v Style) Diff(d *diffview.Diff) *diffview.Layout {
	return d.Layout(diffview.Style{Columns: v.Columns, TwoColumns: v.Wide, Theme: v.Theme})
}

// Prompt is an input of the user.
type Prompt struct{ Text string }

func (b *Prompt) changes() int { return 0 }

// maxPromptLines is the number of lines of a prompt shown while details are hidden.
const maxPromptLines = 12

// Render implements [Block].
func (b *Prompt) Render(v Style) []string {
	lines := Folded(b.Text, v.Columns-2)
	if over := len(lines) - maxPromptLines; over > 0 && !v.Detail {
		lines = append(lines[:maxPromptLines:maxPromptLines], "… "+display.Thousands(over)+" more lines (ctrl+o)")
	}
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines[i] = v.Theme.User.Render(display.Cut(mark+line, v.Columns, ""))
	}
	return lines
}

// Answer is text of the model, as it arrives.
type Answer struct {
	source strings.Builder

	// The rendering so far, for the last style.
	stream *markdown.Stream
	taken  int // bytes of source passed to stream
	lines  []string
	look   Style
}

// Add appends the next piece of the answer.
func (b *Answer) Add(text string) { b.source.WriteString(text) }

func (b *Answer) changes() int { return b.source.Len() }

// Render implements [Block].
func (b *Answer) Render(v Style) []string {
	if b.stream == nil || b.look != v {
		b.stream, b.look, b.taken, b.lines = markdown.NewStream(max(v.Columns-2, 1), *v.Theme, v.Colours), v, 0, nil
	}
	b.lines = append(b.lines, Split(b.stream.Add(b.source.String()[b.taken:]))...)
	b.taken = b.source.Len()
	lines := append(b.lines[:len(b.lines):len(b.lines)], Split(b.stream.Open())...)
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return marked(v, v.Theme.Assistant.Render("●"), lines)
}

// marked puts a one-column marker before the first line and indents the others.
func marked(v Style, mark string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if i == 0 {
			out[i] = mark + " " + line
		} else {
			out[i] = "  " + line
		}
		out[i] = display.Cut(out[i], v.Columns, "…")
	}
	return out
}

// Thought is a thought of the model: its subject line, or the full text.
type Thought struct {
	subject string
	text    strings.Builder
	version int
}

// Add appends a thought.
func (b *Thought) Add(subject, text string) {
	b.version++
	if subject != "" {
		b.subject = subject
		text = "\n" + subject + "\n" + text
	}
	b.text.WriteString(text)
}

func (b *Thought) changes() int { return b.version }

// Render implements [Block].
func (b *Thought) Render(v Style) []string {
	mark := v.Theme.Thought.Render("∴")
	if v.Detail {
		lines := Folded(strings.TrimSpace(b.text.String()), v.Columns-2)
		for i := range lines {
			lines[i] = v.Theme.Thought.Render(lines[i])
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
	line := display.Cut("thinking: "+display.Line(head), v.Columns-2, "…")
	return marked(v, mark, []string{v.Theme.Thought.Render(line)})
}

// Message is a message of the session to the user.
type Message struct {
	Level interactive.Level
	Text  string // Markdown
}

func (b *Message) changes() int { return 0 }

// Render implements [Block].
func (b *Message) Render(v Style) []string {
	lines := v.Markdown(b.Text, v.Columns-2)
	switch b.Level {
	case interactive.LevelWarning:
		return marked(v, v.Theme.Warning.Render("!"), lines)
	case interactive.LevelError:
		return marked(v, v.Theme.Error.Render("✗"), lines)
	}
	return marked(v, v.Theme.Dim.Render("·"), lines)
}

// Note is plain text of this package for the user.
type Note struct {
	Level interactive.Level
	Text  string
}

func (b *Note) changes() int { return 0 }

// Render implements [Block].
func (b *Note) Render(v Style) []string {
	style, mark := v.Theme.Dim, "·"
	switch b.Level {
	case interactive.LevelWarning:
		style, mark = v.Theme.Warning, "!"
	case interactive.LevelError:
		style, mark = v.Theme.Error, "✗"
	}
	lines := Folded(b.Text, v.Columns-2)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return marked(v, style.Render(mark), lines)
}

// Shell is the output of a shell line of the user.
type Shell struct{ Text string }

func (b *Shell) changes() int { return 0 }

// Render implements [Block].
func (b *Shell) Render(v Style) []string {
	t := newTail(MaxTailLines)
	t.add(b.Text)
	lines := t.lines(v.Columns - 2)
	return indented(shortened(v, lines, 12, true), "  ")
}

// shortened keeps the first or the last most lines unless details are shown, and adds
// the number of omitted lines.
func shortened(v Style, lines []string, most int, last bool) []string {
	over := len(lines) - most
	if v.Detail || over <= 1 {
		return lines
	}
	note := moreLines(v, over)
	if last {
		return append([]string{note}, lines[over:]...)
	}
	return append(lines[:most:most], note)
}

// moreLines is a line that counts the omitted ones.
func moreLines(v Style, n int) string {
	return v.Theme.Dim.Render(display.Cut("… "+display.Thousands(n)+" more lines (ctrl+o)", v.Columns-2, "…"))
}

func indented(lines []string, by string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = by + line
	}
	return out
}

// Duration formats an elapsed time, to the second.
func Duration(d time.Duration) string {
	d = d.Truncate(time.Second)
	if d < time.Minute {
		return d.String()
	}
	if d < time.Hour {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}
