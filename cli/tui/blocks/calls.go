package blocks

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

// Limits while details are hidden.
const (
	shownOutput = 5 // last lines of live output
	shownResult = 8 // first lines of a result
	shownSteps  = 4 // last steps of a subagent
)

// maxSteps is the number of subagent steps kept.
const maxSteps = 200

// Call is a tool call.
type Call struct {
	State    bus.ToolCallState
	Output   *tail // nil: none
	skipped  bool  // output was dropped because it came too fast
	Notices  []string
	stopped  bool         // its turn ended without a result of the call
	steps    []*step      // of the subagent that this call runs
	children []*Call      // calls of the subagent
	frame    string       // the spinner frame; "" while nothing spins
	elapsed  string       // while it runs
	files    []fileChange // changed files of the result; nil: none, or not yet parsed
	version  int
}

// step is a step or a thought of a subagent.
type step struct{ bus.Activity }

func (b *Call) changes() int {
	n := b.version
	for _, c := range b.children {
		n += c.changes()
	}
	return n
}

// Update sets the state of the call. A final state does not change.
func (b *Call) Update(state bus.ToolCallState) {
	b.version++
	if b.State.Status.Final() && !state.Status.Final() {
		return
	}
	state.Description = cmp.Or(state.Description, b.State.Description)
	if len(state.Display) == 0 {
		state.Display = b.State.Display
	}
	b.State, b.files = state, nil
}

// Stop marks a call whose turn has ended.
func (b *Call) Stop() {
	if !b.State.Status.Final() && !b.stopped {
		b.stopped = true
		b.version++
	}
}

// Adopt adds a call of the subagent that this call runs, replacing the step that
// announced it.
func (b *Call) Adopt(c *Call, id string) {
	b.version++
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.Type == bus.ActivityToolCall && s.ID == id })
	b.children = append(b.children, c)
	if over := len(b.children) - maxSteps; over > 0 {
		b.children = append([]*Call(nil), b.children[over:]...)
	}
}

// Print appends live output; skipped means that output before it was dropped.
func (b *Call) Print(text string, skipped bool) {
	b.version++
	b.skipped = b.skipped || skipped
	if text == "" {
		return
	}
	if b.Output == nil {
		b.Output = newTail(MaxTailLines)
	}
	b.Output.add(text)
}

// Activity adds a step of the subagent, or replaces the step with the same id.
func (b *Call) Activity(a bus.Activity) {
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

// Animate sets the spinner and the elapsed time; it reports whether they changed.
func (b *Call) Animate(frame string, now time.Time, still bool) {
	if b.State.Status != bus.StatusExecuting {
		frame = ""
	}
	elapsed := ""
	if d := now.Sub(b.State.StartTime); frame != "" && !still && !b.State.StartTime.IsZero() && d >= time.Second {
		elapsed = Duration(d)
	}
	if frame != b.frame || elapsed != b.elapsed {
		b.frame, b.elapsed = frame, elapsed
		b.version++
	}
	for _, c := range b.children {
		c.Animate(frame, now, still)
	}
}

// Render implements [Block].
func (b *Call) Render(v Style) []string {
	lines := []string{b.head(v)}
	inner := v
	inner.Columns = v.Columns - 4
	if inner.Columns < 8 {
		return lines
	}
	var body []string
	body = append(body, b.renderSteps(inner)...)
	body = append(body, b.renderOutput(inner)...)
	body = append(body, b.renderResult(inner)...)
	for _, n := range b.Notices {
		body = append(body, Folded(n, inner.Columns)...)
	}
	for i, line := range body {
		bar := "│ "
		if i == len(body)-1 {
			bar = "╰ "
		}
		lines = append(lines, "  "+v.Theme.Border.Render(bar)+display.Cut(line, inner.Columns, "…"))
	}
	return lines
}

// head returns the title line with the state of the call.
func (b *Call) head(v Style) string {
	mark, word := b.mark(v)
	tail := ""
	if word != "" {
		tail = " (" + word + ")"
	}
	name := display.Cut(display.Line(b.State.Name), max(v.Columns-2-display.Width(tail), 4), "…")
	room := v.Columns - 3 - display.Width(name) - display.Width(tail)
	text := mark + " " + v.Theme.Tool.Render(name)
	if d := display.Line(b.State.Description); d != "" && room > 3 {
		text += " " + display.Cut(d, room, "…")
	}
	return display.Cut(text+v.Theme.Dim.Render(tail), v.Columns, "…")
}

// mark returns the one-column marker of the state, and a word for it.
func (b *Call) mark(v Style) (mark, word string) {
	if b.State.Preview && b.State.Status == bus.StatusSuccess {
		return v.Theme.Dim.Render("·"), "plan: not run"
	}
	switch b.State.Status {
	case bus.StatusAwaitingApproval:
		return v.Theme.Warning.Render("?"), "asks you"
	case bus.StatusExecuting:
		if b.stopped {
			return v.Theme.Warning.Render("-"), "ended"
		}
		frame := cmp.Or(b.frame, "◌")
		word := "running"
		if b.elapsed != "" {
			word += " " + b.elapsed
		}
		return v.Theme.Accent.Render(frame), word
	case bus.StatusSuccess:
		return v.Theme.Success.Render("✓"), ""
	case bus.StatusError:
		return v.Theme.Error.Render("✗"), "failed"
	case bus.StatusDenied:
		return v.Theme.Error.Render("✗"), "denied"
	case bus.StatusCancelled:
		return v.Theme.Warning.Render("-"), "cancelled"
	}
	if b.stopped {
		return v.Theme.Warning.Render("-"), "ended"
	}
	return v.Theme.Dim.Render("◌"), "waiting"
}

func (b *Call) renderOutput(v Style) []string {
	replaced := len(b.State.Display) > 0 && b.State.Status.Final() && b.State.Status != bus.StatusCancelled
	stepped := len(b.steps)+len(b.children) > 0 // a subagent, whose output repeats its steps
	if b.Output == nil || (replaced || stepped) && !v.Detail {
		return nil
	}
	lines := b.Output.lines(v.Columns)
	for i := range lines {
		lines[i] = v.Theme.Dim.Render(lines[i])
	}
	over := len(lines) - shownOutput
	if v.Detail {
		over = 0
	}
	hidden := b.Output.dropped + max(over, 0)
	if over > 0 {
		lines = lines[over:]
	}
	switch {
	case b.skipped:
		lines = append([]string{v.Theme.Dim.Render("… output was dropped because it came too fast")}, lines...)
	case hidden > 0:
		lines = append([]string{v.Theme.Dim.Render("… " + display.Thousands(hidden) + " lines before")}, lines...)
	}
	return lines
}

// renderResult shows the result or the error.
func (b *Call) renderResult(v Style) []string {
	if !b.State.Status.Final() {
		return nil
	}
	var lines []string
	if e := b.State.Error; e != nil && b.State.Status != bus.StatusSuccess {
		text := e.Message
		if e.Remedy != "" {
			text += " " + e.Remedy
		}
		for _, line := range shortened(v, Folded(text, v.Columns), 4, false) {
			lines = append(lines, v.Theme.Error.Render(line))
		}
		return lines
	}
	if len(b.State.Display) == 0 {
		return nil
	}
	var shown tools.Display
	if json.Unmarshal(b.State.Display, &shown) != nil {
		return nil
	}
	switch {
	case shown.ANSI != nil:
		t := newTail(MaxTailLines)
		t.add(shown.ANSI.ANSI)
		return shortened(v, t.lines(v.Columns), shownResult, true)
	case shown.Todo != nil:
		for _, todo := range shown.Todo.Todos {
			lines = append(lines, display.Cut(todoMark(todo.Status)+" "+display.Line(todo.Description), v.Columns, "…"))
		}
		return lines
	}
	if b.parseChanges(shown, v) {
		return b.renderChanges(v)
	}
	if b.repeatsTitle(shown.Text) && !v.Detail {
		return nil
	}
	return shortened(v, Folded(shown.Text, v.Columns), shownResult, false)
}

// repeatsTitle reports whether a result only repeats the title: a line that ends with
// the subject of the call.
func (b *Call) repeatsTitle(result string) bool {
	d := display.Line(b.State.Description)
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

// Stat formats line counts, such as +3 −1.
func Stat(added, removed int, v Style) string {
	return v.Theme.Added.Render(fmt.Sprintf("+%d", added)) + " " + v.Theme.Removed.Render(fmt.Sprintf("−%d", removed))
}

// renderSteps shows the steps of a subagent.
func (b *Call) renderSteps(v Style) []string {
	steps := b.steps
	var lines []string
	if over := len(steps) - shownSteps; over > 0 && !v.Detail {
		steps = steps[over:]
		lines = append(lines, v.Theme.Dim.Render("… "+display.Thousands(over)+" steps before"))
	}
	for _, s := range steps {
		lines = append(lines, s.render(v))
	}
	children := b.children
	if over := len(children) - shownSteps; over > 0 && !v.Detail {
		children = children[over:]
	}
	for _, c := range children {
		lines = append(lines, c.Render(v)...)
	}
	return lines
}

// subject describes a step. For a call it is the tool and its subject, without the
// remaining arguments, which may be truncated.
func (s *step) subject() string {
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

func (s *step) render(v Style) string {
	mark := "◌"
	switch s.Status {
	case bus.ActivityCompleted:
		mark = v.Theme.Success.Render("✓")
	case bus.ActivityError:
		mark = v.Theme.Error.Render("✗")
	case bus.ActivityCancelled:
		mark = "-"
	}
	text := display.Cut(display.Line(s.subject()), v.Columns-2, "…")
	if s.Type == bus.ActivityThought {
		mark, text = v.Theme.Thought.Render("∴"), v.Theme.Thought.Render(text)
	}
	return mark + " " + text
}
