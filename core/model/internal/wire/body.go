package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxEvent is the largest size in bytes of one event, or of a response that is not a stream.
const maxEvent = 64 << 20

// Reasons why a complete response is unusable.
var (
	ErrMalformed = errors.New("the answer is not in the form that the provider documents")
	ErrWebPage   = errors.New("the answer is a web page and not that of a model")
	ErrTooLong   = errors.New("a part of the answer is longer than 64 MiB")
)

// body passes each event of a response to the exchange. The SDK reads an empty object in place of
// each event, once the exchange has it, so that the SDK still controls the pace. For the SDK a
// response always ends well; the exchange records how it really ended.
type body struct {
	x       *Exchange
	from    io.ReadCloser
	lines   *bufio.Reader
	name    string // name of the event, on a line before its data
	pending []byte // data of an incomplete event
	ready   []byte // bytes that the SDK has not read yet
	ended   bool
}

func newBody(x *Exchange, from io.ReadCloser) *body {
	return &body{x: x, from: from, lines: bufio.NewReader(from)}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for len(b.ready) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		b.next()
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.ended = true
	b.ready = nil
	_ = b.from.Close() // the response is complete, or its error is known
	return nil
}

// next processes the next line. The rest of a broken connection is ignored, even if it looks
// complete.
func (b *body) next() {
	line, err := b.line()
	switch {
	case err == nil:
		b.take(line)
	case !errors.Is(err, io.EOF):
		b.end(err)
	default:
		if len(line) > 0 {
			b.take(line)
		}
		if !b.ended && len(b.pending) > 0 {
			b.flush(io.ErrUnexpectedEOF)
		}
		b.ended = true
	}
}

// line returns the next line without its line ending. It is valid until the next call.
func (b *body) line() ([]byte, error) {
	line, err := b.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var long []byte
		for errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > maxEvent {
				return nil, ErrTooLong
			}
			line, err = b.lines.ReadSlice('\n')
		}
		line = append(long, line...)
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// take processes a line. Servers write events differently: every complete data line is an event,
// with or without an empty line after it, and so is a bare object.
func (b *body) take(line []byte) {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	name, value, _ := bytes.Cut(line, []byte(":"))
	bare := bytes.TrimLeft(line, " \t")
	switch {
	case len(bare) == 0:
		if len(b.pending) > 0 {
			b.flush(ErrMalformed)
		}
		b.name = ""
	case bare[0] == '{' || bare[0] == '[':
		b.object(bare)
	case bare[0] == '<':
		b.end(ErrWebPage)
	case string(name) == "event":
		b.name = string(bytes.TrimSpace(value))
	case string(name) == "data":
		b.data(bytes.TrimSpace(value))
	}
}

func (b *body) data(value []byte) {
	if len(value) == 0 {
		return // some servers use such lines as keep-alive
	}
	if len(b.pending) == 0 && string(value) == "[DONE]" {
		b.x.Done = true
		b.ended = true
		return
	}
	if len(b.pending)+len(value) > maxEvent {
		b.end(ErrTooLong)
		return
	}
	if len(b.pending) == 0 && json.Valid(value) {
		b.event(value)
		return
	}
	b.pending = append(b.pending, value...)
	b.pending = append(b.pending, '\n')
}

// flush processes the pending data lines as one event, or ends the response with the error why if
// they are not valid JSON. An event named error may be text.
func (b *body) flush(why error) {
	raw := b.pending
	b.pending = nil
	switch {
	case json.Valid(raw):
		b.event(raw)
	case b.name == "error" && errors.Is(why, ErrMalformed):
		b.x.Problem = bytes.TrimSpace(raw)
		b.ended = true
	default:
		b.end(why)
	}
}

// object processes JSON that begins with start and may extend to the end of the response.
func (b *body) object(start []byte) {
	whole := bytes.Clone(start)
	if !json.Valid(whole) {
		rest, err := io.ReadAll(io.LimitReader(b.lines, maxEvent))
		if err != nil {
			b.end(err)
			return
		}
		whole = append(append(whole, '\n'), rest...)
	}
	if err := complete(whole); err != nil {
		b.end(err)
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(whole, &list) != nil {
		b.event(whole)
		return
	}
	for _, raw := range list {
		if !b.ended {
			b.event(raw)
		}
	}
}

// complete returns nil for valid JSON; otherwise an error that distinguishes truncated JSON from
// other text.
func complete(raw []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(raw, &v)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(raw)):
		return io.ErrUnexpectedEOF
	}
	return ErrMalformed
}

// event passes a JSON value to the exchange, or ends the response if the value is an error.
func (b *body) event(raw []byte) {
	raw = bytes.TrimSpace(raw)
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return // every event of a model is an object
	}
	switch e := object["error"]; string(e) {
	case "", "null", "false", `""`, "{}":
	default:
		b.x.Problem = bytes.Clone(raw)
		b.ended = true
		return
	}
	if err := b.x.Event(raw); err != nil {
		b.end(ErrMalformed)
		return
	}
	b.x.Events++
	if b.x.Stream {
		b.ready = append(b.ready, "data: {}\n\n"...)
	} else {
		b.ready = append(b.ready, "{}"...)
	}
}

func (b *body) end(err error) {
	b.x.Err = err
	b.ended = true
}
