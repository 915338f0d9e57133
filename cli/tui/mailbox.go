package tui

import "sync"

// mailbox queues the messages of the session and the bus for the screen. Posting
// never blocks, so a slow screen delays no sender. Of live output, the last
// [maxPending] bytes per call are kept.
type mailbox struct {
	wake chan struct{} // capacity 1: the queue may be non-empty

	mu      sync.Mutex
	queue   []any
	outputs map[string]*pending // in queue, by call
	closed  bool
}

// maxPending is the maximum number of output bytes of a call that wait for the
// screen.
const maxPending = 64 << 10

// outputMsg is live output of a call.
type outputMsg struct {
	call    string
	text    string
	skipped int // bytes dropped because the output was too fast
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), outputs: map[string]*pending{}}
}

// post adds a message; a closed mailbox drops it.
func (b *mailbox) post(m any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if out, is := m.(outputMsg); is {
		waiting := b.outputs[out.call]
		if waiting != nil {
			waiting.add(out)
			return
		}
		waiting = &pending{call: out.call}
		waiting.add(out)
		b.outputs[out.call] = waiting
		m = waiting
	}
	b.queue = append(b.queue, m)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// pending is the waiting output of a call.
type pending struct {
	call    string
	text    []byte // at most twice maxPending, so that it is seldom copied
	skipped int
}

func (p *pending) add(m outputMsg) {
	p.text = append(p.text, m.text...)
	p.skipped += m.skipped
	if len(p.text) > 2*maxPending {
		p.cut()
	}
}

// cut drops all but the last maxPending bytes.
func (p *pending) cut() {
	if over := len(p.text) - maxPending; over > 0 {
		p.skipped += over
		p.text = append([]byte(nil), p.text[over:]...)
	}
}

// take empties the mailbox.
func (b *mailbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue = nil
	clear(b.outputs)
	for i, m := range queue {
		if p, is := m.(*pending); is {
			p.cut()
			queue[i] = outputMsg{call: p.call, text: string(p.text), skipped: p.skipped}
		}
	}
	return queue
}

// close drops the queued messages and all later ones.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.queue = true, nil
}
