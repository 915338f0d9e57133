package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/bus"
)

// holding returns a turn that lasts until hold is closed or it is cancelled.
func holding(hold <-chan struct{}) func(context.Context, string, func(interactive.Event)) {
	return func(ctx context.Context, _ string, _ func(interactive.Event)) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
}

func noEdit(context.Context, string, string) (string, error) { return "", nil }

// commands completes a few command names.
func commands(_ context.Context, text string, cursor int) interactive.Completions {
	found := interactive.Completions{To: cursor}
	for _, name := range []string{"/chat", "/clear", "/help", "/model", "/models"} {
		if strings.HasPrefix(name, text) {
			found.Items = append(found.Items, interactive.Candidate{Text: name, Description: "does " + name[1:], Run: name != "/chat"})
		}
	}
	return found
}

// Every way to insert a newline; Enter submits the text.
func TestNewLines(t *testing.T) {
	r := newRig(t, newFake())
	r.typeIn("a")
	r.press("alt+enter")
	r.typeIn("b")
	r.press("ctrl+j")
	r.typeIn("c")
	r.press("shift+enter")
	r.typeIn("d\\")
	r.press("enter")
	r.typeIn("e")
	r.press("enter")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, []string{"a\nb\nc\nd\ne"}, r.s.texts())
	r.press("enter") // nothing to submit
	require.Nil(t, r.m.turn)
}

// Editing keys: the keys, and the resulting text with the cursor as |.
func TestEditing(t *testing.T) {
	tests := []struct{ text, keys, want string }{
		{"one two", "alt+b", "one |two"},
		{"one two", "ctrl+left ctrl+left", "|one two"},
		{"one two", "home alt+f", "one| two"},
		{"one two", "ctrl+w", "one |"},
		{"one two", "home alt+d", "| two"},
		{"one two", "ctrl+a ctrl+k", "|"},
		{"one two", "left left ctrl+u", "|wo"},
		{"a\nb", "ctrl+a backspace", "a|b"},
		{"a\nb", "up", "a|\nb"},
		{"long line\nb", "up end down", "long line\nb|"},
		{"a\nb", "home delete", "a\n|"},
		{"e\u0301x", "left backspace", "|x"},
		{"日本", "left", "日|本"},
		{"👩‍👩‍👧", "backspace", "|"},
		{"ab", "left ctrl+h", "|b"},
		{"a\n\nb", "ctrl+a backspace backspace", "a|b"},
		{"one two", "ctrl+w ctrl+y ctrl+y", "one twotwo|"},
		{"one two", "ctrl+w ctrl+w ctrl+y", "one two|"},
		{"one two", "ctrl+a alt+d alt+d end ctrl+y", "one two|"},
		{"one two", "ctrl+w left ctrl+u ctrl+y alt+y", "two| "},
		{"one two", "ctrl+w left ctrl+u ctrl+y alt+y alt+y", "one| "},
		{"one two", "alt+y", "one two|"},
		{"a\nb", "up end ctrl+k ctrl+k ctrl+y", "a\nb|"},
		{"abc", "left ctrl+t", "acb|"},
		{"abc", "ctrl+t ctrl+t", "abc|"},
		{"a\nbc", "ctrl+a ctrl+t", "a\n|bc"},
		{"日e\u0301", "ctrl+t", "e\u0301日|"},
		{"one two", "ctrl+w ctrl+_", "one two|"},
		{"one two", "ctrl+w ctrl+w ctrl+_ ctrl+_ alt+_", "one |"},
		{"one two", "backspace backspace ctrl+_", "one two|"},
		{"one", "x y ctrl+_", "one|"},
		{"one", "x space y ctrl+_", "onex |"},
		{"one", "x left y ctrl+_", "one|x"},
		{"one", "x ctrl+_ y alt+_", "oney|"},
		{"one", "ctrl+_ ctrl+_ ctrl+_ alt+_ alt+_ alt+_", "one|"},
		{"one two", "ctrl+c ctrl+_", "one two|"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q %s", tt.text, tt.keys), func(t *testing.T) {
			r := newRig(t, newFake())
			r.m.input.Insert(tt.text)
			r.press(strings.Fields(tt.keys)...)
			e := &r.m.input
			require.Equal(t, tt.want, e.Text()[:e.Cursor()]+"|"+e.Text()[e.Cursor():])
		})
	}
}

// Up and Down move through the history; changed entries stay changed.
func TestHistory(t *testing.T) {
	s := newFake()
	s.inputs = []string{"first", "two\nlines"}
	r := newRig(t, s)
	r.typeIn("draft")
	r.press("up")
	require.Equal(t, "two\nlines", r.m.input.Text())
	r.typeIn("!")
	r.press("up", "up")
	require.Equal(t, "first", r.m.input.Text())
	r.press("up")
	require.Equal(t, "first", r.m.input.Text())
	r.press("down")
	require.Equal(t, "two\nlines!", r.m.input.Text())
	r.press("down")
	require.Equal(t, "draft", r.m.input.Text())
	r.press("enter")
	r.until(func() bool { return r.m.turn == nil })
	r.press("up")
	require.Equal(t, "draft", r.m.input.Text())
	r.press("up")
	require.Equal(t, "two\nlines", r.m.input.Text())
}

// Ctrl-D during a turn must be pressed twice within a limited time.
func TestLeaveWhileWorking(t *testing.T) {
	s := newFake()
	s.work = holding(nil)
	r := newRig(t, s)
	r.enter("go")
	r.press("ctrl+d")
	require.False(t, r.m.quitting)
	require.Contains(t, r.text(), "ctrl+d again")
	r.pass(quitFor)
	require.NotContains(t, r.text(), "ctrl+d again")
	r.press("ctrl+d")
	require.False(t, r.m.quitting)
	r.press("ctrl+d")
	require.True(t, r.m.quitting)
}

// A draft typed after queued inputs is restored with them, whatever was displayed
// meanwhile.
func TestDraftBehindQueue(t *testing.T) {
	s := newFake()
	s.work = holding(nil)
	r := newRig(t, s)
	r.enter("go")
	r.enter("one")
	r.enter("two")
	r.typeIn("draft")
	r.press("up", "esc")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, "one\ntwo\ndraft", r.m.input.Text())
}

// Enter sends a directory that is typed in full; Tab enters it.
func TestDirectoryIsSent(t *testing.T) {
	s := newFake()
	s.complete = func(_ context.Context, text string, cursor int) interactive.Completions {
		if text == "@src" {
			return interactive.Completions{To: cursor, Items: []interactive.Candidate{{Text: "@src/"}}}
		}
		return interactive.Completions{To: cursor, Items: []interactive.Candidate{{Text: "@src/a.go "}, {Text: "@src/b.go "}}}
	}
	for _, text := range []string{"@src", "@src/"} {
		r := newRig(t, s)
		r.typeIn(text)
		r.until(func() bool { return r.m.completion.open() })
		r.press("enter")
		r.until(func() bool { return len(s.texts()) == 1 })
		require.Equal(t, []string{text}, s.texts())
		s.submitted = nil
		s.bus = bus.New(bus.Options{})
	}
	r := newRig(t, s)
	r.typeIn("@src/")
	r.until(func() bool { return r.m.completion.open() })
	r.press("tab")
	require.Equal(t, "@src/a.go ", r.m.input.Text())
}

func TestSearch(t *testing.T) {
	s := newFake()
	s.inputs = []string{"fix the parser", "write docs", "fix the lexer"}
	r := newRig(t, s)
	r.press("ctrl+r")
	r.typeIn("fix")
	require.Contains(t, r.text(), "search: fix  fix the lexer")
	r.press("ctrl+r")
	require.Contains(t, r.text(), "search: fix  fix the parser")
	r.press("enter")
	require.Equal(t, "fix the parser", r.m.input.Text())
	r.press("ctrl+r", "esc")
	require.Equal(t, "fix the parser", r.m.input.Text())
}

// A paste of 1 MB costs one frame, shows a placeholder, counts as one character, and
// is submitted whole.
func TestPaste(t *testing.T) {
	r := newRig(t, newFake())
	content := lines(100_000, "line")
	require.Greater(t, len(content), 1<<20)
	r.typeIn("look: ")
	views := r.views
	r.send(tea.PasteMsg{Content: strings.ReplaceAll(content, "\n", "\r\n")})
	require.Equal(t, 1, r.views-views)
	require.Equal(t, "look: [Pasted 100,001 lines]", r.m.input.Text())
	require.Less(t, len(r.m.View().Content), 20_000) // bytes of a frame
	r.press("left", "right")
	r.send(tea.PasteMsg{Content: content}) // the same content has the same placeholder
	r.send(tea.PasteMsg{Content: content + "x"})
	require.Equal(t, "look: [Pasted 100,001 lines][Pasted 100,001 lines][Pasted 100,001 lines, 2]", r.m.input.Text())
	r.press("backspace", "backspace")
	require.Equal(t, "look: [Pasted 100,001 lines]", r.m.input.Text())
	r.press("enter")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, []string{"look: " + content}, r.s.texts())
	require.Less(t, len(r.m.View().Content), 20_000)
	r.press("up") // and is recalled as one
	require.Equal(t, "[Pasted 100,001 lines]", r.m.input.Text())
	require.Equal(t, "look: "+content, r.m.input.Value())
}

// A short paste is text; control characters are dropped.
func TestShortPaste(t *testing.T) {
	r := newRig(t, newFake())
	r.send(tea.PasteMsg{Content: "a\r\n\x1b[2Jb\x00\u202e"})
	require.Equal(t, "a\n[2Jb", r.m.input.Text())
}

// Candidates are computed off the screen's goroutine; stale requests are cancelled
// and never shown.
func TestStaleCompletion(t *testing.T) {
	s := newFake()
	begun, cancelled := make(chan struct{}), make(chan struct{})
	s.complete = func(ctx context.Context, text string, cursor int) interactive.Completions {
		if text == "/" {
			close(begun)
			<-ctx.Done() // blocks until it is stale
			close(cancelled)
			return interactive.Completions{Items: []interactive.Candidate{{Text: "stale"}}}
		}
		return commands(ctx, text, cursor)
	}
	r := newRig(t, s)
	r.typeIn("/")
	<-begun
	r.typeIn("h")
	<-cancelled
	r.sees("does help")
	require.NotContains(t, r.text(), "stale")
}

func TestCompletionKeys(t *testing.T) {
	tests := map[string]struct {
		text, keys string
		input      string   // afterwards
		submitted  []string // afterwards
	}{
		"tab takes the first":               {"/h", "tab", "/help", nil},
		"arrows choose":                     {"/c", "down tab", "/clear", nil},
		"enter takes what has more to come": {"/ch", "enter", "/chat", nil},
		"enter runs what has not":           {"/he", "enter", "", []string{"/help"}},
		"what is typed out is submitted":    {"/model", "enter", "", []string{"/model"}},
		"the other of two":                  {"/model", "down enter", "", []string{"/models"}},
		"esc closes":                        {"/he", "esc enter", "", []string{"/he"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newFake()
			s.complete = commands
			r := newRig(t, s)
			r.typeIn(tt.text)
			r.until(r.m.completion.open)
			r.press(strings.Fields(tt.keys)...)
			r.until(func() bool { return r.m.turn == nil })
			require.Equal(t, tt.input, r.m.input.Text())
			require.Equal(t, tt.submitted, r.s.texts())
		})
	}
}

// Tab requests candidates if none are shown, and inserts a single one.
func TestTabCompletes(t *testing.T) {
	s := newFake()
	s.complete = func(_ context.Context, text string, cursor int) interactive.Completions {
		return interactive.Completions{From: 5, To: cursor, Items: []interactive.Candidate{{Text: "main.go "}}}
	}
	r := newRig(t, s)
	r.typeIn("read ma")
	r.press("tab")
	r.until(func() bool { return r.m.input.Text() == "read main.go " })
}

// An input submitted during a turn is queued, can be recalled with Up, and runs in
// order.
func TestQueue(t *testing.T) {
	s := newFake()
	hold := make(chan struct{})
	s.work = holding(hold)
	r := newRig(t, s)
	r.enter("first")
	r.enter("second")
	r.enter("third")
	require.Contains(t, r.text(), "queued: second")
	r.press("up")
	require.Equal(t, "third", r.m.input.Text())
	require.NotContains(t, r.text(), "queued: third")
	r.typeIn("!")
	r.press("enter")
	close(hold)
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, []string{"first", "second", "third!"}, s.texts())
}

// Ctrl-C and Esc cancel the turn once; queued inputs return to the input.
func TestInterrupt(t *testing.T) {
	for _, key := range []string{"ctrl+c", "esc"} {
		t.Run(key, func(t *testing.T) {
			s := newFake()
			calledOff := 0
			release := make(chan struct{})
			s.work = func(ctx context.Context, _ string, _ func(interactive.Event)) {
				<-ctx.Done()
				calledOff++
				<-release
			}
			r := newRig(t, s)
			r.enter("work")
			r.enter("later")
			r.press(key)
			require.Contains(t, r.text(), "Cancelling")
			require.False(t, r.m.quitting)
			close(release)
			r.until(func() bool { return r.m.turn == nil })
			require.Equal(t, 1, calledOff)
			require.Equal(t, "later", r.m.input.Text())
			require.Equal(t, []string{"work"}, s.texts())
		})
	}
}

func TestCtrlCWhenIdle(t *testing.T) {
	r := newRig(t, newFake())
	r.typeIn("text")
	r.press("ctrl+c")
	require.Empty(t, r.m.input.Text())
	r.press("ctrl+c")
	require.Contains(t, r.text(), "ctrl+c again to quit")
	r.press("x", "backspace", "ctrl+c") // another key in between resets it
	require.False(t, r.m.quitting)
	r.press("ctrl+c")
	require.True(t, r.m.quitting)
}

func TestCtrlD(t *testing.T) {
	r := newRig(t, newFake())
	r.typeIn("x")
	r.press("home", "ctrl+d")
	require.False(t, r.m.quitting)
	require.Empty(t, r.m.input.Text())
	r.press("ctrl+d")
	require.True(t, r.m.quitting)
}

func TestMode(t *testing.T) {
	r := newRig(t, newFake())
	r.press("shift+tab")
	require.Contains(t, r.text(), "· auto_edit ·")
	r.s.cycle = errCycle
	r.press("shift+tab")
	require.Contains(t, r.text(), "a subagent works")
}

// Keys that bubbletea handles.
func TestTerminalKeys(t *testing.T) {
	r := newRig(t, newFake())
	r.press("ctrl+z")
	require.IsType(t, tea.SuspendMsg{}, r.cmds[len(r.cmds)-1]())
	r.press("ctrl+l")
	require.Equal(t, tea.ClearScreen(), r.cmds[len(r.cmds)-1]())
}

// The conversation keeps its scroll position when text is added.
func TestScrolling(t *testing.T) {
	r := newRig(t, newFake())
	r.plays(interactive.Event{Kind: interactive.EventMessage, Text: lines(100, "- line")})
	require.Contains(t, r.text(), "line 100\n")
	r.press("pgup")
	require.Contains(t, r.text(), "more below")
	before := strings.Split(r.text(), "\n")[:10]
	r.m.note(interactive.LevelInfo, "news")
	require.Equal(t, before, strings.Split(r.text(), "\n")[:10])
	r.press("pgdown", "pgdown")
	require.Contains(t, r.text(), "news")
	r.press("ctrl+home")
	require.Contains(t, r.text(), "> go")
	r.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	require.NotContains(t, r.text(), "> go")
	r.size(40, 10)
	r.press("pgup", "pgup", "pgdown")
	r.m.transcript.Scrolled = false
	require.Contains(t, r.text(), "news")
}
