package tui

import "sync"

// mailbox holds what the session and the bus tell until the screen takes it. Posting
// never waits, so that nobody is held up by a screen that is slow; live output, of
// which there is no end, is kept up to [maxPending] bytes a call, the last ones.
type mailbox struct {
	wake chan struct{} // holds one: there may be something

	mu      sync.Mutex
	queue   []any
	outputs map[string]int // where in queue the output of a call is
	closed  bool
}

// maxPending is how much output of a call waits for the screen at most.
const maxPending = 64 << 10

// outputMsg is live output of a call.
type outputMsg struct {
	call    string
	text    string
	skipped int // more than 0: some of the output came too fast
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), outputs: map[string]int{}}
}

// post adds a message; a closed mailbox drops it.
func (b *mailbox) post(m any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if out, is := m.(outputMsg); is {
		if i, waits := b.outputs[out.call]; waits {
			b.queue[i] = joined(b.queue[i].(outputMsg), out)
			return
		}
		b.outputs[out.call] = len(b.queue)
		m = joined(outputMsg{call: out.call}, out)
	}
	b.queue = append(b.queue, m)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func joined(a, b outputMsg) outputMsg {
	a.text += b.text
	a.skipped += b.skipped
	if over := len(a.text) - maxPending; over > 0 {
		a.skipped += over
		a.text = a.text[over:]
	}
	return a
}

// take empties the mailbox.
func (b *mailbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue = nil
	clear(b.outputs)
	return queue
}

// close drops what is there and what comes.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.queue = true, nil
}
