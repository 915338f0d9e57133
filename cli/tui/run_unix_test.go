//go:build unix

package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
)

// terminal is a pseudo-terminal with a session.
type terminal struct {
	*testing.T
	far, near *os.File
	cancel    context.CancelFunc
	done      chan error
	defects   chan error
	before    int // goroutines
	state     *term.State

	mu     sync.Mutex
	output bytes.Buffer
	more   chan struct{}
}

func start(t *testing.T, s *fakeSession, change ...func(*Options)) *terminal {
	t.Helper()
	far, near, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(far, &pty.Winsize{Rows: 24, Cols: 80}))
	w := &terminal{T: t, far: far, near: near, done: make(chan error, 1), defects: make(chan error, 10), more: make(chan struct{}, 1)}
	w.state, err = term.GetState(int(near.Fd()))
	require.NoError(t, err)
	go w.read()
	signals := make(chan os.Signal, 1) // the first one starts a goroutine that stays
	signal.Notify(signals, syscall.SIGWINCH)
	signal.Stop(signals)
	w.before = runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	o := Options{Session: s, In: near, Out: near, NoAnimation: true, Environ: []string{"TERM=xterm"}, OnDefect: func(err error) { w.defects <- err }}
	for _, c := range change {
		c(&o)
	}
	go func() { w.done <- Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		_ = far.Close()
		_ = near.Close()
	})
	w.sees("a prompt, or /help") // "type " may be from the line that First replaces
	return w
}

func (w *terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := w.far.Read(buffer)
		w.mu.Lock()
		w.output.Write(buffer[:n])
		w.mu.Unlock()
		select {
		case w.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// sees waits until the text was sent to the terminal.
func (w *terminal) sees(text string) {
	w.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		output := w.output.String()
		w.mu.Unlock()
		if strings.Contains(output, text) {
			return
		}
		select {
		case <-w.more:
		case <-deadline:
			w.Fatalf("%q does not come: %q", text, output)
		}
	}
}

func (w *terminal) types(text string) {
	_, err := w.far.WriteString(text)
	require.NoError(w, err)
}

// ends waits for Run to return, and checks that no goroutine remains.
func (w *terminal) ends(s *fakeSession) error {
	w.Helper()
	var err error
	select {
	case err = <-w.done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		w.Fatalf("Run does not return\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	s.mu.Lock()
	require.Zero(w, s.running, "a turn that was not waited for")
	s.mu.Unlock()
	require.False(w, s.bus.Listening(bus.ToolConfirmationRequest{}))
	require.False(w, s.bus.Watched(bus.ToolOutput{}))
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > w.before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			w.Fatalf("goroutines are left: %d, %d before\n%s", runtime.NumGoroutine(), w.before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
	return err
}

// restored checks that the modes, the main screen and the cursor of the terminal are
// restored.
func (w *terminal) restored() {
	w.Helper()
	state, err := term.GetState(int(w.near.Fd()))
	require.NoError(w, err)
	require.Equal(w, w.state, state)
	w.sees("\x1b[?1049l") // the main screen
	w.sees("\x1b[?2004l") // no bracketed paste
	w.sees("\x1b[?1002l") // no mouse
}

func TestRun(t *testing.T) {
	s := newFake()
	s.work = func(_ context.Context, text string, tell func(interactive.Event)) {
		if text == "/quit" {
			tell(interactive.Event{Kind: interactive.EventQuit, Text: "Bye now"})
			return
		}
		tell(told(agent.Event{Type: agent.EventText, Text: "an answer to " + text}))
	}
	w := start(t, s)
	w.types("hello\r")
	w.sees("an answer to hello")
	w.types("/quit\r")
	require.NoError(t, w.ends(s))
	w.restored()
	w.sees("> hello\r\n\r\n● an answer to hello\r\n\r\n> /quit\r\n\r\nBye now\r\n") // for the scrollback
}

// First is submitted once the session has started.
func TestRunFirst(t *testing.T) {
	s := newFake()
	s.work = func(_ context.Context, text string, tell func(interactive.Event)) {
		tell(told(agent.Event{Type: agent.EventText, Text: "did " + text}))
	}
	w := start(t, s, func(o *Options) { o.First = "this" })
	w.sees("did this")
	w.types("\x04")
	require.NoError(t, w.ends(s))
}

// A turn that runs when the program is terminated, or the terminal closes, is
// cancelled and waited for.
func TestClosedInMidTurn(t *testing.T) {
	ends := map[string]func(w *terminal){
		"ctx ends": func(w *terminal) { w.cancel() },
		"the terminal closes": func(w *terminal) {
			_ = w.far.Close()
			_, _ = w.near.WriteString("\n") // ends the read that keeps the other side open
			w.before--                      // and its goroutine
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := newFake()
			working := make(chan struct{})
			cleaned := false
			s.work = func(ctx context.Context, _ string, tell func(interactive.Event)) {
				go func() { _, _ = bus.Ask(ctx, s.bus, editQuestion()) }()
				close(working)
				<-ctx.Done()
				runtime.Gosched()
				tell(told(agent.Event{Type: agent.EventCancelled}))
				cleaned = true
			}
			w := start(t, s)
			w.types("work\r")
			<-working
			w.sees("Apply this change?")
			end(w)
			require.NoError(t, w.ends(s))
			require.True(t, cleaned)
		})
	}
}

// A panic anywhere restores the terminal and is reported with its stack.
func TestPanics(t *testing.T) {
	tests := map[string]func(s *fakeSession) (keys string){
		"in a turn": func(s *fakeSession) string {
			s.work = func(context.Context, string, func(interactive.Event)) { panic("boom") }
			return "x\r"
		},
		"on the screen": func(s *fakeSession) string {
			s.cycle = panicking{}
			return "\x1b[Z"
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			s := newFake()
			keys := prepare(s)
			w := start(t, s)
			w.types(keys)
			err := w.ends(s)
			require.ErrorContains(t, err, "boom")
			require.NotContains(t, err.Error(), "goroutine")
			require.ErrorContains(t, <-w.defects, "run_unix_test.go")
			w.restored()
		})
	}
}

type panicking struct{}

func (panicking) Error() string { panic(errors.New("boom")) }

// A resized window is drawn again, also during a dialog.
func TestRunResized(t *testing.T) {
	s := newFake()
	w := start(t, s)
	answers := make(chan bus.ToolConfirmationResponse, 1)
	go func() {
		a, _ := bus.Ask(t.Context(), s.bus, editQuestion())
		answers <- a
	}()
	w.sees("enter answers")
	require.NoError(t, pty.Setsize(w.far, &pty.Winsize{Rows: 10, Cols: 40}))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGWINCH)) // the kernel sends it to the owner of the terminal
	w.sees("1–2 of ")
	w.sees("-old \u00e9")
	w.types("y")
	require.True(t, receive(t, answers).Confirmed)
	w.types("\x04")
	require.NoError(t, w.ends(s))
}

// A real bracketed paste of 1 MB.
func TestRunPaste(t *testing.T) {
	s := newFake()
	w := start(t, s)
	content := lines(90_000, "line")
	w.types("\x1b[200~" + content + "\x1b[201~")
	w.sees("90,001 lines")
	w.types("\r")
	w.types("\x04\x04") // the turn may not have ended
	require.NoError(t, w.ends(s))
	require.Equal(t, []string{content}, s.texts())
}

// UI-04: a terminal is asked for its background, and its report is no input.
func TestRunBackground(t *testing.T) {
	s := newFake()
	w := start(t, s, func(o *Options) { o.Background = byBackground })
	w.sees("\x1b]11;?")
	w.types("\x1b]11;rgb:ffff/ffff/ffff\x1b\\hello\r")
	w.sees("> hello")
	w.types("\x04\x04")
	require.NoError(t, w.ends(s))
	require.Equal(t, []string{"hello"}, s.texts())
}
