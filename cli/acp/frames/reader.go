// Package frames reads and writes the messages of the Agent Client Protocol, a line of
// JSON each. The [Reader] passes on the messages that are well formed, answers the others
// with a JSON-RPC error, and reports prompts and cancellations in their order of arrival.
// It knows no session.
package frames

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// MaxBytes limits a message. The SDK ends the connection at a longer one.
const MaxBytes = 10<<20 - 2

// Turns receives the prompts and cancellations of a client. Its methods must not block.
type Turns interface {
	// Prompted is called for a valid prompt before it is passed on, with the id of its
	// request in JSON. An error is the answer to the prompt, which is then not passed on.
	Prompted(id string, p sdk.PromptRequest) error
	// RequestCancelled is called for a cancellation of a request, which is passed on.
	RequestCancelled(id string)
	// Cancelled is called for a cancellation of a session, which is not passed on.
	Cancelled(session string)
}

// Reader is an [io.Reader] of whole messages.
type Reader struct {
	in    *bufio.Reader
	out   *Writer
	turns Turns
	rest  []byte // of the current message
	grace time.Duration
	last  chan struct{} // closed when the last answer of the reader so far was written; nil: none
	slots chan struct{} // of the reader's answers that are not written yet
}

// NewReader returns a Reader of r that writes its answers to w.
func NewReader(r io.Reader, w *Writer, turns Turns) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), out: w, turns: turns, grace: answerGrace, slots: make(chan struct{}, maxRefusals)}
}

// answerGrace is the time that requests may take until their answers once the input has
// ended.
const answerGrace = 10 * time.Second

// refusalGrace is the same for the reader's own answers, and the time in which one of
// them must be written while maxRefusals wait.
const refusalGrace = time.Second

// maxRefusals is the number of the reader's own answers that may wait for the client to read.
const maxRefusals = 1000

// Read implements [io.Reader]. It reports the end of the input when the requests before it
// have been answered, or after ten seconds: the SDK gives up its connection at the end.
// Prompts are not waited for, because the client has gone.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.line()
		if err != nil {
			r.flush()
			r.out.answered(r.grace)
			return 0, err
		}
		if r.accept(line) {
			r.rest = append(bytes.TrimSpace(line), '\n')
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line reads the next line. A longer one than MaxBytes is skipped and answered.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > MaxBytes; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, err
		case long:
			r.refuse(nil, sdk.NewInvalidRequest(map[string]any{"error": fmt.Sprintf("the message has more than %d bytes", MaxBytes)}))
			long, line = false, nil
			continue
		}
		return line, nil
	}
}

// message is a message as far as its form matters.
type message struct {
	Version *string         `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// cancelRequest is the only notification that the SDK handles itself.
const cancelRequest = "$/cancel_request"

// accept reports whether a line is passed on. Otherwise it has been handled.
func (r *Reader) accept(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	var m message
	switch err := json.Unmarshal(line, &m); {
	case !json.Valid(line):
		r.refuse(nil, sdk.NewParseError(map[string]any{"error": "the message is not valid JSON"}))
		return false
	case line[0] == '[':
		r.refuse(nil, sdk.NewInvalidRequest(map[string]any{"error": "batches are not supported; send one message per line"}))
		return false
	case err != nil || m.Version == nil || *m.Version != "2.0" || !validID(m.ID):
		r.refuse(idOf(line), sdk.NewInvalidRequest(map[string]any{"error": "the message is not a JSON-RPC 2.0 message"}))
		return false
	}
	isRequest := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != nil && len(m.ID) > 0 && !isRequest:
		r.refuse(nil, sdk.NewInvalidRequest(map[string]any{"error": "the id of a request must be a string or a number"}))
		return false
	case m.Method == nil && isRequest && len(m.Result) == 0 && len(m.Error) == 0, m.Method == nil && !isRequest && len(m.Error) == 0:
		r.refuse(m.ID, sdk.NewInvalidRequest(map[string]any{"error": "the message has no method"}))
		return false
	case m.Method == nil:
		return isRequest // an answer
	case *m.Method == sdk.AgentMethodSessionCancel && !isRequest:
		var cancel sdk.CancelNotification
		if json.Unmarshal(m.Params, &cancel) == nil {
			r.turns.Cancelled(string(cancel.SessionId))
		}
		return false
	case *m.Method == sdk.AgentMethodSessionPrompt && isRequest:
		return r.prompted(m)
	}
	if *m.Method == cancelRequest && !isRequest {
		var cancel struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &cancel) != nil {
			return false
		}
		r.turns.RequestCancelled(string(cancel.RequestID))
		return true
	}
	if isRequest {
		r.out.expect(m.ID)
	}
	return isRequest // other notifications concern unknown features
}

// prompted reports a prompt that the SDK would accept.
func (r *Reader) prompted(m message) bool {
	var prompt sdk.PromptRequest
	if json.Unmarshal(m.Params, &prompt) != nil || prompt.Validate() != nil {
		return true // the SDK answers it
	}
	err := r.turns.Prompted(string(m.ID), prompt)
	if err == nil {
		return true
	}
	refusal := new(sdk.RequestError)
	if !errors.As(err, &refusal) {
		refusal = sdk.NewInternalError(map[string]any{"error": err.Error()})
	}
	r.refuse(m.ID, refusal)
	return false
}

// validID reports whether an id is absent, null, a string or a number.
func validID(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9' || string(id) == "null"
}

// idOf returns the id of an invalid message, nil if it has none.
func idOf(line []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil || !validID(m.ID) {
		return nil
	}
	return m.ID
}

// refuse answers a message with an error. It does not wait for the client to read, so that the end
// of the input is noticed. With maxRefusals pending it closes the writer, unless one is written within
// refusalGrace.
func (r *Reader) refuse(id json.RawMessage, failure *sdk.RequestError) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(struct {
		Version string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Error   *sdk.RequestError `json:"error"`
	}{"2.0", id, failure})
	if err != nil {
		return
	}
	select {
	case r.slots <- struct{}{}:
	case <-time.After(refusalGrace):
		r.out.Close()
		return
	case <-r.out.Broken():
		return
	}
	before, done := r.last, make(chan struct{})
	r.last = done
	go func() {
		defer close(done)
		defer func() { <-r.slots }()
		if before != nil {
			<-before
		}
		_, _ = r.out.Write(append(answer, '\n')) // the writer reports its error
	}()
}

// flush waits for the answers of the reader, at most for refusalGrace.
func (r *Reader) flush() {
	if r.last == nil {
		return
	}
	timer := time.NewTimer(refusalGrace)
	defer timer.Stop()
	select {
	case <-r.last:
	case <-timer.C:
	}
}
