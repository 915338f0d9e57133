package client

import (
	"io"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Limits on the stderr that is kept of a server.
const (
	stderrLines = 40
	stderrLine  = 1000 // bytes of one
)

// tail keeps the last lines that are written to it, each shortened to a maximum
// length. It is safe for concurrent use.
type tail struct {
	mask *mcp.Mask

	mu   sync.Mutex
	last []string // complete
	line []byte   // incomplete
	cut  bool     // the incomplete line exceeds the maximum length
}

// drain reads r to its end.
func (t *tail) drain(r io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		t.add(buffer[:n])
		if err != nil {
			return
		}
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
		lines[i] = t.mask.Hide(l)
	}
	return lines
}
