package frames

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Writer writes messages, one per call of Write. It is safe for concurrent use.
type Writer struct {
	w      io.Writer
	slot   chan struct{} // capacity 1: held while a message is written
	broken chan struct{}
	once   sync.Once // of broken

	mu      sync.Mutex // not held while a message is written
	awaited []awaited
	open    map[any]bool  // ids of requests without an answer
	idle    chan struct{} // closed once open is empty; nil: nothing waits for it
	since   time.Time     // when the current write began; zero: none runs
}

// awaited is a result that a caller waits for.
type awaited struct {
	mark []byte
	sent chan struct{}
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, slot: make(chan struct{}, 1), broken: make(chan struct{}), open: map[any]bool{}}
}

// Broken is closed by Close, and once a message could not be written.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Close makes all calls of Write fail, also one that the client does not let end. That one is
// left behind. It is idempotent.
func (w *Writer) Close() { w.once.Do(func() { close(w.broken) }) }

// Blocked returns the time that the current write has taken so far, 0 if none runs.
func (w *Writer) Blocked() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return 0
	}
	return time.Since(w.since)
}

func (w *Writer) setSince(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = began
}

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
	select {
	case <-w.broken:
		return 0, io.ErrClosedPipe
	default:
	}
	select {
	case w.slot <- struct{}{}:
	case <-w.broken:
		return 0, io.ErrClosedPipe
	}
	kept := bytes.Clone(message) // the write may outlive the call
	done := make(chan error, 1)
	go func() {
		defer func() { <-w.slot }()
		w.setSince(time.Now())
		_, err := w.w.Write(kept)
		w.setSince(time.Time{})
		if err == nil {
			w.written(kept)
		} else {
			w.Close()
		}
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-w.broken:
		select {
		case err = <-done: // the reason
		default:
			err = io.ErrClosedPipe
		}
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

// written reports a written message to those who wait for it.
func (w *Writer) written(message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.awaited) > 0 && isResult(message) {
		w.awaited = w.release(message)
	}
	if len(w.open) > 0 && !hasMethod(message) {
		w.settle(message)
	}
}

// expect stores that a request has no answer yet.
func (w *Writer) expect(id json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[valueOf(id)] = true
}

// settle removes the request that a message answers. It requires w.mu.
func (w *Writer) settle(answer []byte) {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(answer, &m) != nil {
		return
	}
	delete(w.open, valueOf(m.ID))
	if len(w.open) == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// answered waits until the expected answers were written, a write failed, or the time is over.
func (w *Writer) answered(most time.Duration) {
	w.mu.Lock()
	if len(w.open) == 0 {
		w.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	w.idle = idle
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-w.broken:
	case <-timer.C:
	}
}

// valueOf returns an id as a string or a number, because the SDK may write it in another form.
func valueOf(id json.RawMessage) (value any) {
	_ = json.Unmarshal(id, &value) // the reader has checked it
	return value
}

// release reports a result to those who wait for it, and returns the others. It requires w.mu.
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
	return bytes.Contains(beginning(message), []byte(`,"result":{`)) && !hasMethod(message)
}

// hasMethod reports whether a message of this program is a request or a notification.
func hasMethod(message []byte) bool {
	return bytes.Contains(beginning(message), []byte(`,"method":`))
}

// beginning returns the part of a message with its id and method.
func beginning(message []byte) []byte { return message[:min(len(message), 4096)] }
