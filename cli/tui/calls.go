package tui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// How much of a call is shown while details are not.
const (
	shownOutput = 5 // lines of live output, the last ones
	shownResult = 8 // lines of a result, the first ones
	shownSteps  = 4 // of a subagent, the last ones
)

// maxSteps is how many steps of a subagent are kept.
const maxSteps = 200

// callBlock is a call of a tool.
type callBlock struct {
	state    bus.ToolCallState
	output   *tail // nil: none
	skipped  bool  // some of the output came too fast
	notices  []string
	stopped  bool         // its turn ended without a word of how the call did
	steps    []*step      // of a subagent that runs for it
	children []*callBlock // calls of that
	frame    string       // of what spins; "" while nothing does
	elapsed  string       // while it runs
	version  int
}

// step is what a subagent does or thinks.
type step struct{ bus.Activity }

func (b *callBlock) changes() int {
	n := b.version
	for _, c := range b.children {
		n += c.changes()
	}
	return n
}

// update takes where the call stands. What was final stays so.
func (b *callBlock) update(state bus.ToolCallState) {
	b.version++
	if b.state.Status.Final() && !state.Status.Final() {
		return
	}
	state.Description = cmp.Or(state.Description, b.state.Description)
	if len(state.Display) == 0 {
		state.Display = b.state.Display
	}
	b.state = state
}

// stop marks a call whose turn has ended.
func (b *callBlock) stop() {
	if !b.state.Status.Final() && !b.stopped {
		b.stopped = true
		b.version++
	}
}

// adopt takes a call of the subagent that works for this one, in the place of the step
// that told of it.
func (b *callBlock) adopt(c *callBlock, id string) {
	b.version++
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.Type == bus.ActivityToolCall && s.ID == id })
	b.children = append(b.children, c)
	if over := len(b.children) - maxSteps; over > 0 {
		b.children = append([]*callBlock(nil), b.children[over:]...)
	}
}

// print takes live output.
func (b *callBlock) print(m outputMsg) {
	b.version++
	b.skipped = b.skipped || m.skipped > 0
	if m.text == "" {
		return
	}
	if b.output == nil {
		b.output = newTail(maxTailLines)
	}
	b.output.add(m.text)
}

// activity takes a step of the subagent; one with the same id replaces it.
func (b *callBlock) activity(a bus.Activity) {
	b.version++
	for _, s := range b.steps {
		if s.ID == a.ID && a.ID != "" {
			s.Activity = a
			return
		}
	}
	b.steps = append(b.steps, &step{a})
	if over := len(b.steps) - maxSteps; over > 0 {
		b.steps = append([]*step(nil), b.steps[over:]...)
	}
}

// animate sets what moves; it reports whether that is another than before.
func (b *callBlock) animate(frame string, now time.Time, still bool) {
	if b.state.Status != bus.StatusExecuting {
		frame = ""
	}
	elapsed := ""
	if d := now.Sub(b.state.StartTime); frame != "" && !still && !b.state.StartTime.IsZero() && d >= time.Second {
		elapsed = duration(d)
	}
	if frame != b.frame || elapsed != b.elapsed {
		b.frame, b.elapsed = frame, elapsed
		b.version++
	}
	for _, c := range b.children {
		c.animate(frame, now, still)
	}
}

func (b *callBlock) render(v look) []string {
	lines := []string{b.head(v)}
	inner := v
	inner.columns = v.columns - 4
	if inner.columns < 8 {
		return lines
	}
	var body []string
	body = append(body, b.renderSteps(inner)...)
	body = append(body, b.renderOutput(inner)...)
	body = append(body, b.renderResult(inner)...)
	for _, n := range b.notices {
		body = append(body, folded(n, inner.columns)...)
	}
	for i, line := range body {
		bar := "│ "
		if i == len(body)-1 {
			bar = "╰ "
		}
		lines = append(lines, "  "+v.theme.Border.Render(bar)+display.Cut(line, inner.columns, "…"))
	}
	return lines
}

// head is the line that says what the call does and where it stands.
func (b *callBlock) head(v look) string {
	mark, word := b.mark(v)
	tail := ""
	if word != "" {
		tail = " (" + word + ")"
	}
	name := display.Cut(display.Line(b.state.Name), max(v.columns-2-display.Width(tail), 4), "…")
	room := v.columns - 3 - display.Width(name) - display.Width(tail)
	text := mark + " " + v.theme.Tool.Render(name)
	if d := display.Line(b.state.Description); d != "" && room > 3 {
		text += " " + display.Cut(d, room, "…")
	}
	return display.Cut(text+v.theme.Dim.Render(tail), v.columns, "…")
}

// mark is the sign for where the call stands, one column wide, and the word.
func (b *callBlock) mark(v look) (mark, word string) {
	if b.state.Preview && b.state.Status == bus.StatusSuccess {
		return v.theme.Dim.Render("·"), "plan: not done"
	}
	switch b.state.Status {
	case bus.StatusAwaitingApproval:
		return v.theme.Warning.Render("?"), "asks you"
	case bus.StatusExecuting:
		if b.stopped {
			return v.theme.Warning.Render("-"), "ended"
		}
		frame := cmp.Or(b.frame, "◌")
		word := "running"
		if b.elapsed != "" {
			word += " " + b.elapsed
		}
		return v.theme.Accent.Render(frame), word
	case bus.StatusSuccess:
		return v.theme.Success.Render("✓"), ""
	case bus.StatusError:
		return v.theme.Error.Render("✗"), "failed"
	case bus.StatusDenied:
		return v.theme.Error.Render("✗"), "denied"
	case bus.StatusCancelled:
		return v.theme.Warning.Render("-"), "cancelled"
	}
	if b.stopped {
		return v.theme.Warning.Render("-"), "ended"
	}
	return v.theme.Dim.Render("◌"), "waiting"
}

func (b *callBlock) renderOutput(v look) []string {
	replaced := len(b.state.Display) > 0 && b.state.Status.Final() && b.state.Status != bus.StatusCancelled
	told := len(b.steps)+len(b.children) > 0 // a subagent, which prints what its steps say
	if b.output == nil || (replaced || told) && !v.detail {
		return nil
	}
	lines := b.output.lines(v.columns)
	for i := range lines {
		lines[i] = v.theme.Dim.Render(lines[i])
	}
	over := len(lines) - shownOutput
	if v.detail {
		over = 0
	}
	hidden := b.output.dropped + max(over, 0)
	if over > 0 {
		lines = lines[over:]
	}
	switch {
	case b.skipped:
		lines = append([]string{v.theme.Dim.Render("… some of the output came too fast to be shown")}, lines...)
	case hidden > 0:
		lines = append([]string{v.theme.Dim.Render("… " + thousands(hidden) + " lines before")}, lines...)
	}
	return lines
}

// renderResult shows the result, or why there is none.
func (b *callBlock) renderResult(v look) []string {
	if !b.state.Status.Final() {
		return nil
	}
	var lines []string
	if e := b.state.Error; e != nil && b.state.Status != bus.StatusSuccess {
		text := e.Message
		if e.Remedy != "" {
			text += " " + e.Remedy
		}
		for _, line := range shortened(v, folded(text, v.columns), 4, false) {
			lines = append(lines, v.theme.Error.Render(line))
		}
		return lines
	}
	if len(b.state.Display) == 0 {
		return nil
	}
	var shown tools.Display
	if json.Unmarshal(b.state.Display, &shown) != nil {
		return nil
	}
	switch {
	case shown.Diff != nil:
		diff, added, removed := display.NumberedDiff(shown.Diff.FileDiff, v.columns, *v.theme)
		lines = append(lines, stat(added, removed, v))
		return append(lines, shortened(v, split(diff), shownResult, false)...)
	case shown.ANSI != nil:
		t := newTail(maxTailLines)
		t.add(shown.ANSI.ANSI)
		return shortened(v, t.lines(v.columns), shownResult, true)
	case shown.Todo != nil:
		for _, todo := range shown.Todo.Todos {
			lines = append(lines, display.Cut(todoMark(todo.Status)+" "+display.Line(todo.Description), v.columns, "…"))
		}
		return lines
	}
	if b.said(shown.Text) && !v.detail {
		return nil
	}
	return shortened(v, folded(shown.Text, v.columns), shownResult, false)
}

// said reports whether a result says no more than the line that names the call: a line
// that ends with what the call is about.
func (b *callBlock) said(result string) bool {
	d := display.Line(b.state.Description)
	line := strings.TrimRight(display.Line(strings.TrimSpace(result)), ".")
	if d == "" || strings.Contains(strings.TrimSpace(result), "\n") {
		return false
	}
	word, what, _ := strings.Cut(line, " ")
	return line == d || what == d && !strings.ContainsAny(word, "0123456789")
}

func todoMark(s tools.TodoStatus) string {
	switch string(s) {
	case "completed":
		return "[x]"
	case "in_progress":
		return "[>]"
	case "cancelled":
		return "[-]"
	}
	return "[ ]"
}

// stat counts lines, as +3 −1.
func stat(added, removed int, v look) string {
	return v.theme.Added.Render(fmt.Sprintf("+%d", added)) + " " + v.theme.Removed.Render(fmt.Sprintf("−%d", removed))
}

// renderSteps shows what a subagent does.
func (b *callBlock) renderSteps(v look) []string {
	steps := b.steps
	var lines []string
	if over := len(steps) - shownSteps; over > 0 && !v.detail {
		steps = steps[over:]
		lines = append(lines, v.theme.Dim.Render("… "+thousands(over)+" steps before"))
	}
	for _, s := range steps {
		lines = append(lines, s.render(v))
	}
	children := b.children
	if over := len(children) - shownSteps; over > 0 && !v.detail {
		children = children[over:]
	}
	for _, c := range children {
		lines = append(lines, c.render(v)...)
	}
	return lines
}

// what is what the step does: of a call, its tool and what it is about, without the
// rest of its arguments, which may be cut off.
func (s *step) what() string {
	name, args, is := strings.Cut(s.Content, " {")
	if s.Type != bus.ActivityToolCall || !is {
		return s.Content
	}
	_, value, _ := strings.Cut(args, ":")
	value = strings.TrimSpace(value)
	if !strings.HasPrefix(value, `"`) {
		return name
	}
	end := 1
	for end < len(value) && value[end] != '"' {
		if value[end] == '\\' {
			end++
		}
		end++
	}
	about := value[1:min(end, len(value))]
	if plain, err := strconv.Unquote(`"` + about + `"`); err == nil {
		about = plain
	}
	return name + " " + about
}

func (s *step) render(v look) string {
	mark := "◌"
	switch s.Status {
	case bus.ActivityCompleted:
		mark = v.theme.Success.Render("✓")
	case bus.ActivityError:
		mark = v.theme.Error.Render("✗")
	case bus.ActivityCancelled:
		mark = "-"
	}
	text := display.Cut(display.Line(s.what()), v.columns-2, "…")
	if s.Type == bus.ActivityThought {
		mark, text = v.theme.Thought.Render("∴"), v.theme.Thought.Render(text)
	}
	return mark + " " + text
}
