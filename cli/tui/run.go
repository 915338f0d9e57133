package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// frames is the maximum frame rate, per second. The library wakes as often also when
// nothing changes; more would take more than 1 % of a processor on slow machines.
const frames = 30

func run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := newHost(ctx, o.Now)
	m := newScreen(o, h)
	environ := o.Environ
	if environ == nil {
		environ = []string{}
	}
	guarded := &guard{inner: m}
	alive, release := context.WithCancel(context.WithoutCancel(ctx)) // messages sent to the program later are dropped
	defer release()
	in := input{File: o.In, ended: func() { h.box.post(quitMsg{}) }, report: &reportFilter{}}
	if o.Background != nil {
		in.report.until = time.Now().Add(10 * answerFor)
	}
	p := tea.NewProgram(guarded, tea.WithContext(alive),
		tea.WithInput(in), tea.WithOutput(o.Out), tea.WithEnvironment(environ), tea.WithFPS(frames),
		tea.WithColorProfile(theme.Profile(environ, true)), tea.WithoutSignalHandler())

	unsubscribe := subscribe(ctx, o.Session.Bus(), h.box)
	pumped := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(pumped)
		pump(h.box, p.Send, stop)
	}()
	quit := context.AfterFunc(ctx, func() { h.box.post(quitMsg{}) })

	_, err := p.Run()
	release()
	quit()
	close(stop)
	h.end() // cancels running work and waits for it
	unsubscribe()
	<-pumped

	if m.err != nil {
		if o.OnDefect != nil {
			o.OnDefect(m.err)
		}
		first, _, _ := strings.Cut(m.err.Error(), "\n")
		return fmt.Errorf("internal error in the terminal session: %s", display.Line(first))
	}
	if err != nil && ctx.Err() == nil && !hungUp(err) && !gone(o.Out) {
		return fmt.Errorf("open terminal: %w", err)
	}
	leave(o, m)
	return nil
}

// input is a terminal that reports its end, such as a closed terminal; otherwise the
// program would wait for keys forever.
type input struct {
	*os.File
	ended  func()
	report *reportFilter
}

func (i input) Read(p []byte) (int, error) {
	n, err := i.File.Read(p[:max(len(p)-2*maxReport, 1)]) // a held report is put before it
	if n == 0 && err != nil {
		i.ended()
	}
	if n > 0 {
		n = copy(p, i.report.filter(p[:n], time.Now()))
	}
	return n, err
}

// pump passes the messages of the mailbox to the program, all at once, until stop is
// closed.
func pump(box *mailbox, send func(tea.Msg), stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-box.wake:
			if batch := box.take(); len(batch) > 0 {
				send(batchMsg(batch))
			}
		}
	}
}

// hungUp reports whether the program ended because its terminal was closed. A read or
// write may return this error before the end of input is seen.
func hungUp(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.EOF)
}

// gone reports whether the terminal no longer exists.
func gone(out *os.File) bool {
	_, err := out.Stat()
	return errors.Is(err, os.ErrClosed)
}

// leave writes the conversation and the final message to the normal screen with its
// scrollback, unless the session is opened again.
func leave(o Options, m *screen) {
	for _, c := range m.calls {
		c.Stop()
	}
	if m.reopens {
		return
	}
	v := m.style()
	v.Detail = false
	m.colours.Until(time.Now().Add(colourAllFor))
	lines := m.transcript.All(v)
	for i, line := range lines {
		lines[i] = m.shown(line)
	}
	if m.lastWords != "" {
		lines = append(lines, "")
		lines = append(lines, blocks.Folded(m.lastWords, v.Columns)...)
	}
	if len(lines) > 0 {
		_, _ = io.WriteString(o.Out, strings.Join(lines, "\n")+"\n") // without a terminal, the recording remains
	}
}

// guard ends the program when its model panics, and restores the terminal.
type guard struct {
	inner *screen
	last  tea.View
	same  bool // last is valid
}

func (g *guard) Init() (cmd tea.Cmd) {
	defer g.recover(&cmd)
	return tea.Batch(byGraphemes, g.inner.Init())
}

// byGraphemes makes the renderer place characters by grapheme clusters, as if the
// terminal had reported support. Otherwise it counts code points and drops combining
// marks.
func byGraphemes() tea.Msg {
	return tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset}
}

func (g *guard) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg: // group messages that arrive close together
		g.inner.h.box.post(msg)
		g.same = true
		return g, nil
	}
	g.same = false
	defer g.recover(&cmd)
	_, cmd = g.inner.Update(msg)
	return g, cmd
}

func (g *guard) View() (v tea.View) {
	if g.same {
		return g.last
	}
	defer func() {
		if p := recover(); p != nil {
			v = g.last
			g.inner.h.box.post(panicMsg{panicked(p)})
		}
	}()
	g.last = g.inner.View()
	return g.last
}

func (g *guard) recover(cmd *tea.Cmd) {
	if p := recover(); p != nil {
		g.inner.err = panicked(p)
		*cmd = tea.Quit
	}
}
