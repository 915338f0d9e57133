package headless

import (
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/agent"
)

// reporter prints a headless run in one of the formats. Its methods are called
// by one goroutine: first begin, unless the run does not get that far, then the
// rest in any order, and end as the last, once.
type reporter interface {
	begin(b beginning)
	event(e agent.Event)
	// warn tells something that does not end the run, which stderr has been told.
	warn(message string)
	// end tells how the run has ended; nil: well.
	end(failure error)
}

// beginning is a headless run that begins.
type beginning struct {
	session string // its id
	model   string
	prompt  string // as it was given
}

// newReporter returns the reporter of a format that prints to w. mask takes secrets out
// of errors.
func newReporter(format string, w io.Writer, terminal bool, s *conversation.Statistics, mask func(string) string) reporter {
	switch format {
	case conversation.FormatJSON:
		return &jsonReporter{w: w, statistics: s, mask: mask}
	case conversation.FormatStream:
		return &streamReporter{w: w, statistics: s, mask: mask}
	}
	return &textReporter{w: w, terminal: terminal}
}

// textReporter prints what the model says, each answer once it is whole, so that
// one which is made again does not show twice.
type textReporter struct {
	w        io.Writer
	terminal bool
	held     strings.Builder
}

func (*textReporter) begin(beginning) {}

func (t *textReporter) event(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		t.held.WriteString(e.Text)
	case agent.EventRetry:
		t.held.Reset()
	case agent.EventFinished:
		t.flush()
	}
}

func (*textReporter) warn(string) {}
func (*textReporter) end(error)   {}

func (t *textReporter) flush() {
	text := t.held.String()
	t.held.Reset()
	if text == "" {
		return
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(t.w, harmless(text, t.terminal)) // the writer keeps its error
}

// harmless returns an answer in which no control character is obeyed by a
// terminal that is shown it, now or later. For one that is there the marks that
// turn the direction of writing are spelled out too.
func harmless(text string, terminal bool) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if terminal {
		return display.Printable(text)
	}
	return display.SpellOut(text, display.Control)
}

// answerWriter writes the answer, and keeps the first error: then it calls off
// the run, and drops the rest.
type answerWriter struct {
	w       io.Writer
	callOff func()

	mu  sync.Mutex
	err error
}

func (a *answerWriter) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.w.Write(data)
	if a.err = err; err != nil {
		a.callOff()
	}
	return n, err
}

// failure returns why the answer could not be written; nil: it was.
func (a *answerWriter) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// nobodyReads reports whether an error of writing means that who read has gone.
func nobodyReads(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
