package frames

import (
	"bytes"
	"io"
	"sync"
)

// Writer writes messages, one per call of Write. It is safe for concurrent use.
type Writer struct {
	w      io.Writer
	broken chan struct{}

	mu      sync.Mutex
	failed  bool
	awaited []awaited
}

// awaited is a result that a caller waits for.
type awaited struct {
	mark []byte
	sent chan struct{}
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, broken: make(chan struct{})} }

// Broken is closed once a message could not be written.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Sent returns a channel that is closed once a result that contains the given JSON
// member was written, such as "sessionId":"1".
func (w *Writer) Sent(member string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := awaited{[]byte(member), make(chan struct{})}
	w.awaited = append(w.awaited, a)
	return a.sent
}

// Write writes one message.
func (w *Writer) Write(message []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return 0, io.ErrClosedPipe
	}
	n, err := w.w.Write(message)
	if err != nil {
		w.failed = true
		close(w.broken)
		return n, err
	}
	if len(w.awaited) > 0 && isResult(message) {
		w.awaited = w.release(message)
	}
	return n, nil
}

// release reports a result to those who wait for it, and returns the others.
func (w *Writer) release(message []byte) (others []awaited) {
	for _, a := range w.awaited {
		if bytes.Contains(message, a.mark) {
			close(a.sent)
			continue
		}
		others = append(others, a)
	}
	return others
}

// isResult reports whether a message of this program is a result. Its members have a
// fixed order, and an id contains no quote.
func isResult(message []byte) bool {
	head := message[:min(len(message), 4096)]
	return bytes.Contains(head, []byte(`,"result":{`)) && !bytes.Contains(head, []byte(`,"method":`))
}
