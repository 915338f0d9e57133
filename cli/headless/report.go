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

// reporter prints a headless run in one of the formats. One goroutine calls its
// methods: begin first, unless the run ends earlier, then the others in any order,
// and end last, once.
type reporter interface {
	begin(b beginning)
	event(e agent.Event)
	// warn adds a warning that was also printed on stderr and does not end the run.
	warn(message string)
	// end reports the end of the run; a nil failure is success.
	end(failure error)
}

// beginning describes a headless run at its start.
type beginning struct {
	session string // session id
	model   string
	prompt  string // as given
}

// newReporter returns the reporter of a format that prints to w. mask masks secrets
// in errors.
func newReporter(format string, w io.Writer, terminal bool, s *conversation.Statistics, mask func(string) string) reporter {
	switch format {
	case conversation.FormatJSON:
		return &jsonReporter{w: w, statistics: s, mask: mask}
	case conversation.FormatStream:
		return &streamReporter{w: w, statistics: s, mask: mask}
	}
	return &textReporter{w: w, terminal: terminal}
}

// textReporter prints the answers of the model, each once it is complete, so that a
// retried answer is not printed twice.
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

// harmless returns an answer without control characters that could act on a terminal
// now or later. For a terminal, bidirectional marks are escaped, too.
func harmless(text string, terminal bool) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if terminal {
		return display.Printable(text)
	}
	return display.SpellOut(text, display.Control)
}

// answerWriter writes the answer and keeps the first error: it then cancels the run
// and drops the rest.
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

// failure returns the first write error; nil: none.
func (a *answerWriter) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// isClosedPipe reports whether a write error means that the reader is gone.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
