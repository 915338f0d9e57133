package child

import (
	"io"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
)

// Limits on the stderr that is kept of a server.
const (
	stderrLines = 40
	stderrLine  = 1000 // bytes of one
)

// tail keeps the last lines that are written to it, each shortened to a maximum
// length. It is safe for concurrent use.
type tail struct {
	hide func(string) string // nil: nothing is masked
	out  io.Writer           // receives each complete line; nil: none

	mu   sync.Mutex
	last []string // complete
	line []byte   // incomplete
	cut  bool     // the incomplete line exceeds the maximum length

	fresh []string // not passed on to out yet
}

// drain reads r to its end.
func (t *tail) drain(r io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		t.add(buffer[:n])
		if err != nil {
			t.flush(true)
			return
		}
		t.flush(false)
	}
}

// flush passes complete lines on, and at the end also the incomplete one.
func (t *tail) flush(end bool) {
	t.mu.Lock()
	fresh := t.fresh
	t.fresh = nil
	if s := t.shown(); end && s != "" && t.out != nil {
		fresh = append(fresh, s)
	}
	t.mu.Unlock()
	for _, s := range fresh {
		if t.hide != nil {
			s = t.hide(s)
		}
		_, _ = io.WriteString(t.out, s+"\n") // a closed stderr of this process changes nothing
	}
}

func (t *tail) add(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range text {
		switch {
		case b == '\n':
			t.end()
		case len(t.line) < stderrLine:
			t.line = append(t.line, b)
		default:
			t.cut = true
		}
	}
}

func (t *tail) end() {
	if s := t.shown(); s != "" {
		t.last = append(t.last, s)
		if t.out != nil {
			t.fresh = append(t.fresh, s)
		}
		if len(t.last) > stderrLines {
			t.last = append(t.last[:0], t.last[1:]...)
		}
	}
	t.line, t.cut = t.line[:0], false
}

// shown returns the incomplete line in displayable form.
func (t *tail) shown() string {
	s := strings.ToValidUTF8(strings.TrimRight(string(t.line), " \t\r"), "\ufffd")
	s = strings.Map(func(r rune) rune {
		if r != '\t' && escape.Hidden(r) {
			return -1
		}
		return r
	}, s)
	if t.cut {
		s += "…"
	}
	return s
}

// lines returns the kept lines, including the incomplete one.
func (t *tail) lines() []string {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string(nil), t.last...)
	if s := t.shown(); s != "" {
		lines = append(lines, s)
	}
	for i, l := range lines {
		if t.hide != nil {
			lines[i] = t.hide(l)
		}
	}
	return lines
}
