package serving

import (
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// progressPause is how long a call's output is gathered between two messages.
const progressPause = 100 * time.Millisecond

// maxProgress bounds the text of one message, in bytes.
const maxProgress = 2_000

// progress turns what a call prints into messages to its client: whole lines, the
// last of them where they are many, and Done is how many lines there were.
type progress struct {
	host tools.Host
	now  func() time.Time

	mu     sync.Mutex
	ended  bool
	begun  string    // of the last line, as far as it is there and fits
	lines  float64   // that have ended
	ready  []string  // lines that were not told yet
	size   int       // of ready
	toldAt time.Time // when the last message was sent
}

func (p *progress) init(host tools.Host, now func() time.Time) { p.host, p.now = host, now }

// add takes a piece of output. After end it does nothing.
func (p *progress) add(chunk string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	for {
		line, rest, ended := strings.Cut(chunk, "\n")
		if room := maxProgress - len(p.begun); len(line) > room {
			line = line[:max(room, 0)]
		}
		p.begun += line
		if !ended {
			break
		}
		p.line()
		chunk = rest
	}
	if now := p.now(); len(p.ready) > 0 && now.Sub(p.toldAt) >= progressPause {
		p.tell(now)
	}
}

// line ends the line that was begun.
func (p *progress) line() {
	text := escape.ClipBytes(escape.Text(strings.TrimSuffix(p.begun, "\r")), maxProgress)
	p.begun = ""
	p.lines++
	p.ready = append(p.ready, text)
	for p.size += len(text) + 1; p.size > maxProgress+1 && len(p.ready) > 1; p.ready = p.ready[1:] {
		p.size -= len(p.ready[0]) + 1
	}
}

// tell sends the lines that are ready. p.mu is held, so that messages stay in
// order; the host does not block for long.
func (p *progress) tell(now time.Time) {
	p.host.Progress(tools.Progress{Done: p.lines, Message: strings.Join(p.ready, "\n")})
	p.ready, p.size, p.toldAt = nil, 0, now
}

// end tells what is left.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun != "" {
		p.line()
	}
	if len(p.ready) > 0 {
		p.tell(p.now())
	}
	p.ended = true
}
