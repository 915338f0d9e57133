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

// How much of a call is shown while details are not.
const (
	shownOutput = 5 // lines of live output, the last ones
	shownResult = 8 // lines of a result, the first ones
	shownSteps  = 4 // of a subagent, the last ones
)

// maxSteps is how many steps of a subagent are kept.
const maxSteps = 200

// Call is a call of a tool.
type Call struct {
	State    bus.ToolCallState
	Output   *tail // nil: none
	skipped  bool  // some of the output came too fast
	Notices  []string
	stopped  bool    // its turn ended without a word of how the call did
	steps    []*step // of a subagent that runs for it
	children []*Call // calls of that
	frame    string  // of what spins; "" while nothing does
	elapsed  string  // while it runs
	version  int
}

// step is what a subagent does or thinks.
type step struct{ bus.Activity }

func (b *Call) changes() int {
	n := b.version
	for _, c := range b.children {
		n += c.changes()
	}
	return n
}

// Update takes where the call stands. What was final stays so.
func (b *Call) Update(state bus.ToolCallState) {
	b.version++
	if b.State.Status.Final() && !state.Status.Final() {
		return
	}
	state.Description = cmp.Or(state.Description, b.State.Description)
	if len(state.Display) == 0 {
		state.Display = b.State.Display
	}
	b.State = state
}

// Stop marks a call whose turn has ended.
func (b *Call) Stop() {
	if !b.State.Status.Final() && !b.stopped {
		b.stopped = true
		b.version++
	}
}

// Adopt takes a call of the subagent that works for this one, in the place of the step
// that told of it.
func (b *Call) Adopt(c *Call, id string) {
	b.version++
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.Type == bus.ActivityToolCall && s.ID == id })
	b.children = append(b.children, c)
	if over := len(b.children) - maxSteps; over > 0 {
		b.children = append([]*Call(nil), b.children[over:]...)
	}
}

// Print takes live output; skipped says that there was more before it.
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

// Activity takes a step of the subagent; one with the same id replaces it.
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

// Animate sets what moves; it reports whether that is another than before.
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
func (b *Call) Render(v Look) []string {
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

// head is the line that says what the call does and where it stands.
func (b *Call) head(v Look) string {
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

// mark is the sign for where the call stands, one column wide, and the word.
func (b *Call) mark(v Look) (mark, word string) {
	if b.State.Preview && b.State.Status == bus.StatusSuccess {
		return v.Theme.Dim.Render("·"), "plan: not done"
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

func (b *Call) renderOutput(v Look) []string {
	replaced := len(b.State.Display) > 0 && b.State.Status.Final() && b.State.Status != bus.StatusCancelled
	told := len(b.steps)+len(b.children) > 0 // a subagent, which prints what its steps say
	if b.Output == nil || (replaced || told) && !v.Detail {
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
		lines = append([]string{v.Theme.Dim.Render("… some of the output came too fast to be shown")}, lines...)
	case hidden > 0:
		lines = append([]string{v.Theme.Dim.Render("… " + display.Thousands(hidden) + " lines before")}, lines...)
	}
	return lines
}

// renderResult shows the result, or why there is none.
func (b *Call) renderResult(v Look) []string {
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
	case shown.Diff != nil:
		diff, added, removed := display.NumberedDiff(shown.Diff.FileDiff, v.Columns, *v.Theme)
		lines = append(lines, Stat(added, removed, v))
		return append(lines, shortened(v, Split(diff), shownResult, false)...)
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
	if b.said(shown.Text) && !v.Detail {
		return nil
	}
	return shortened(v, Folded(shown.Text, v.Columns), shownResult, false)
}

// said reports whether a result says no more than the line that names the call: a line
// that ends with what the call is about.
func (b *Call) said(result string) bool {
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

// Stat counts lines, as +3 −1.
func Stat(added, removed int, v Look) string {
	return v.Theme.Added.Render(fmt.Sprintf("+%d", added)) + " " + v.Theme.Removed.Render(fmt.Sprintf("−%d", removed))
}

// renderSteps shows what a subagent does.
func (b *Call) renderSteps(v Look) []string {
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

func (s *step) render(v Look) string {
	mark := "◌"
	switch s.Status {
	case bus.ActivityCompleted:
		mark = v.Theme.Success.Render("✓")
	case bus.ActivityError:
		mark = v.Theme.Error.Render("✗")
	case bus.ActivityCancelled:
		mark = "-"
	}
	text := display.Cut(display.Line(s.what()), v.Columns-2, "…")
	if s.Type == bus.ActivityThought {
		mark, text = v.Theme.Thought.Render("∴"), v.Theme.Thought.Render(text)
	}
	return mark + " " + text
}
