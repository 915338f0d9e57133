package serving

import (
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// progressPause is the minimum time between two progress messages of a call.
const progressPause = 100 * time.Millisecond

// maxProgress is the maximum number of bytes of one message.
const maxProgress = 2_000

// progress converts the output of a call into progress messages for its client:
// complete lines, the last ones if there are many; Done is the number of lines.
type progress struct {
	host host.Host
	now  func() time.Time

	mu     sync.Mutex
	ended  bool
	begun  string    // beginning of the incomplete last line, up to the limit
	lines  float64   // number of complete lines
	ready  []string  // lines that have not been sent
	size   int       // of ready
	sentAt time.Time // when the last message was sent
}

func (p *progress) init(h host.Host, now func() time.Time) { p.host, p.now = h, now }

// add adds a piece of output. After end it does nothing.
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
	if now := p.now(); len(p.ready) > 0 && now.Sub(p.sentAt) >= progressPause {
		p.tell(now)
	}
}

// line completes the current line.
func (p *progress) line() {
	text := escape.ClipBytes(escape.Text(strings.TrimSuffix(p.begun, "\r")), maxProgress)
	p.begun = ""
	p.lines++
	p.ready = append(p.ready, text)
	for p.size += len(text) + 1; p.size > maxProgress+1 && len(p.ready) > 1; p.ready = p.ready[1:] {
		p.size -= len(p.ready[0]) + 1
	}
}

// tell sends the lines in ready. The caller holds p.mu, so that messages stay in
// order; the host does not block for long.
func (p *progress) tell(now time.Time) {
	p.host.Progress(host.Progress{Done: p.lines, Message: strings.Join(p.ready, "\n")})
	p.ready, p.size, p.sentAt = nil, 0, now
}

// end sends the remaining lines.
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
