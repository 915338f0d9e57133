package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
)

// patience is the maximum time that a test waits for a result.
const patience = 30 * time.Second

// fakeSession is a session whose turns the test supplies. Its bus is a real one.
type fakeSession struct {
	bus *bus.MessageBus

	start    []interactive.Event
	inputs   []string
	complete func(ctx context.Context, text string, cursor int) interactive.Completions
	work     func(ctx context.Context, text string, tell func(interactive.Event)) // nil: nothing
	cycle    error

	mu        sync.Mutex
	status    interactive.Status
	submitted []string
	running   int
}

func newFake() *fakeSession {
	return &fakeSession{
		bus: bus.New(bus.Options{}),
		status: interactive.Status{
			Product: "fettle", Version: "1.2.3", Model: "scripted", Mode: "default", Dir: "~/project", Branch: "main",
			Tokens: 12_345, Limit: 100_000, Trust: "trusted", Servers: 2, Started: noon,
		},
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func (s *fakeSession) Start(context.Context) iter.Seq[interactive.Event] {
	return slices.Values(s.start)
}

func (s *fakeSession) Submit(ctx context.Context, text string) iter.Seq[interactive.Event] {
	return func(yield func(interactive.Event) bool) {
		s.mu.Lock()
		s.submitted = append(s.submitted, text)
		s.running++
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.running--
			s.mu.Unlock()
		}()
		if s.work != nil {
			s.work(ctx, text, func(e interactive.Event) { yield(e) })
		}
	}
}

func (s *fakeSession) Complete(ctx context.Context, text string, cursor int) interactive.Completions {
	if s.complete == nil {
		return interactive.Completions{}
	}
	return s.complete(ctx, text, cursor)
}

func (s *fakeSession) Status() interactive.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Attach knows the images below /pictures.
func (s *fakeSession) Attach(_ context.Context, path string, data []byte) (string, error) {
	if name, is := strings.CutPrefix(path, "/pictures/"); is || data != nil {
		return "[Image 1: " + name + string(data) + "]", nil
	}
	return "", errors.New("no such image")
}

func (s *fakeSession) CycleMode() (string, error) {
	if s.cycle != nil {
		return "", s.cycle
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	modes := []string{"default", "autoEdit", "plan"}
	s.status.Mode = modes[(slices.Index(modes, s.status.Mode)+1)%len(modes)]
	return s.status.Mode, nil
}

func (s *fakeSession) Inputs() []string     { return slices.Clone(s.inputs) }
func (s *fakeSession) Bus() *bus.MessageBus { return s.bus }
func (s *fakeSession) texts() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.submitted)
}

// rig drives a screen like a program without a terminal: one message at a time, with
// a clock that the test advances.
type rig struct {
	*testing.T
	s      *fakeSession
	m      *screen
	now    time.Time
	timers []timer
	cmds   []tea.Cmd // that need a program
	views  int
}

type timer struct {
	at time.Time
	m  any
}

func newRig(t *testing.T, s *fakeSession, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{T: t, s: s, now: noon}
	o := Options{Session: s, NoAnimation: true, Now: func() time.Time { return r.now }}
	for _, c := range change {
		c(&o)
	}
	h := newHost(t.Context(), o.Now)
	h.after = func(d time.Duration, m any) { r.timers = append(r.timers, timer{r.now.Add(d), m}) }
	r.m = newScreen(o, h)
	unsubscribe := subscribe(t.Context(), s.bus, h.box)
	t.Cleanup(func() {
		h.end()
		unsubscribe()
		require.NoError(t, s.bus.Close())
	})
	r.run(r.m.Init())
	r.size(80, 24)
	r.until(func() bool { return r.m.turn == nil })
	return r
}

// send delivers a message and draws the next frame.
func (r *rig) send(msg tea.Msg) {
	_, cmd := r.m.Update(msg)
	r.run(cmd)
	r.m.View()
	r.views++
}

func (r *rig) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	r.cmds = append(r.cmds, cmd)
}

func (r *rig) size(width, height int) { r.send(tea.WindowSizeMsg{Width: width, Height: height}) }

// until delivers mailbox messages until holds returns true.
func (r *rig) until(holds func() bool) {
	r.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-r.m.h.box.wake:
			if batch := r.m.h.box.take(); len(batch) > 0 {
				r.send(batchMsg(batch))
			}
		case <-deadline:
			r.Fatalf("it does not come; the screen:\n%s", r.text())
		}
	}
}

// sees waits for a text on the screen.
func (r *rig) sees(text string) {
	r.Helper()
	r.until(func() bool { return strings.Contains(r.text(), text) })
}

// pass advances the clock and fires the timers.
func (r *rig) pass(d time.Duration) {
	r.now = r.now.Add(d)
	for {
		i := slices.IndexFunc(r.timers, func(t timer) bool { return !t.at.After(r.now) })
		if i < 0 {
			return
		}
		due := r.timers[i]
		r.timers = slices.Delete(r.timers, i, i+1)
		r.send(batchMsg{due.m})
	}
}

// text returns the screen without styles and trailing blanks.
func (r *rig) text() string {
	lines, _ := r.m.draw()
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete},
	"space": {Code: tea.KeySpace, Text: " "}, "kpenter": {Code: tea.KeyKpEnter},
}

// keyOf returns the key with a name such as "ctrl+c", "shift+tab" or "y".
func keyOf(name string) tea.KeyPressMsg {
	var mod tea.KeyMod
	for {
		before, after, found := strings.Cut(name, "+")
		if !found || after == "" {
			break
		}
		mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[before]
		name = after
	}
	k, is := named[name]
	if !is {
		r := []rune(name)[0]
		k = tea.KeyPressMsg{Code: r, Text: name}
	}
	if k.Mod = mod; mod != 0 {
		k.Text = ""
	}
	return k
}

// press presses keys one by one; each is handled before the next.
func (r *rig) press(names ...string) {
	for _, name := range names {
		r.send(keyOf(name))
		if q := r.m.question(); q != nil && q.held != nil {
			r.pass(heldFor)
		}
		r.until(func() bool { return r.m.reading == nil })
	}
}

func (r *rig) typeIn(text string) {
	for _, c := range text {
		r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
	}
}

// enter types a text and submits it.
func (r *rig) enter(text string) {
	r.typeIn(text)
	r.press("enter")
}

// plays makes the session emit events in the next turn, and submits a text.
func (r *rig) plays(events ...interactive.Event) {
	r.Helper()
	r.s.work = func(_ context.Context, _ string, tell func(interactive.Event)) {
		for _, e := range events {
			tell(e)
		}
	}
	r.enter("go")
	r.until(func() bool { return r.m.turn == nil })
}

func told(e agent.Event) interactive.Event {
	return interactive.Event{Kind: interactive.EventAgent, Agent: &e}
}

// asks sends a request to the screen and waits until the dialog accepts keys. The
// answer arrives on the channel.
func asks[Q bus.Question[A], A bus.Answer](r *rig, q Q) <-chan A {
	r.Helper()
	answers := asksOnly[Q, A](r, q)
	n := len(r.m.questions)
	r.until(func() bool { return len(r.m.questions) > n })
	r.pass(quietFor + armAfter)
	r.pass(armAfter)
	return answers
}

// asksOnly sends a request without waiting.
func asksOnly[Q bus.Question[A], A bus.Answer](r *rig, q Q) <-chan A {
	answers := make(chan A, 1)
	ctx := r.Context()
	go func() {
		if a, err := bus.Ask(ctx, r.s.bus, q); err == nil {
			answers <- a
		}
	}()
	return answers
}

func receive[A any](t *testing.T, answers <-chan A) A {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(patience):
		t.Fatal("no answer came")
		panic("unreachable")
	}
}

// styles returns a theme with all styles.
func styles() theme.Theme {
	return theme.New(theme.Options{Name: theme.ANSI, Profile: theme.Profile([]string{"TERM=xterm-256color"}, true)})
}

var errCycle = errors.New("a subagent works")

func lines(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", line, i+1)
	}
	return b.String()
}
