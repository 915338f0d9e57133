package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var (
	errTooLarge = errors.New("a message is larger than the limit")
	errNotRead  = errors.New("the answers are not read")
)

// errNotJSON reports a line of the server that is not a message; it keeps the
// beginning of the line.
type errNotJSON struct{ line string }

func (e *errNotJSON) Error() string { return "a line is not a JSON message" }

// lineConn is a JSON-RPC connection with one message per line. It owns a
// goroutine that reads until the input ends and one that writes; finish waits for
// both.
type lineConn struct {
	tap   *tap
	max   int
	probe time.Duration // limit for the answer to server/discover

	lines  chan []byte
	queue  []jsonrpc.Message // of a batch, not returned yet
	out    chan []byte
	denied chan []byte // answers to requests with an invalid id
	closed chan struct{}
	atEnd  chan struct{} // closed when nothing is read any more
	once   sync.Once
	wg     sync.WaitGroup

	mu     sync.Mutex
	failed error       // why reading has ended
	ended  chan error  // receives failed once
	timer  *time.Timer // of the probe
	probed string      // its id; "": answered, or never sent
}

func newLineConn(t *tap, r io.Reader, w io.WriteCloser, limit int, probe time.Duration) *lineConn {
	c := &lineConn{
		tap: t, max: limit, probe: probe, lines: make(chan []byte), out: make(chan []byte, 16), denied: make(chan []byte, maxDenied),
		closed: make(chan struct{}), atEnd: make(chan struct{}), ended: make(chan error, 1),
	}
	t.refuseID = c.refuse
	c.wg.Add(2)
	go func() { defer c.wg.Done(); defer close(c.atEnd); c.read(r) }()
	go func() { defer c.wg.Done(); c.write(w) }()
	return c
}

// read passes lines on until the input ends. Lines after Close, or after a line
// that is not a message, are read and dropped, so that the peer is not blocked
// while it exits.
func (c *lineConn) read(r io.Reader) {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(b, c.max)
		if line = bytes.TrimSpace(line); err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
			if len(line) == 0 {
				continue
			}
			if !json.Valid(line) {
				err = &errNotJSON{escape.ClipBytes(string(line), 10*maxWords)}
			}
		}
		if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
			select {
			case c.lines <- line:
			case <-c.closed:
			}
		}
		if err != nil {
			c.ended <- c.fail(err)
			if !errors.Is(err, io.EOF) {
				_, _ = io.Copy(io.Discard, b)
			}
			return
		}
	}
}

// readLine reads to the next line break or the end of the input. It keeps at most
// limit bytes.
func readLine(b *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errTooLarge
		}
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(line), len(part))) // doubled, because a line may have megabytes
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// write sends everything that Write has accepted, and then closes w.
func (c *lineConn) write(w io.WriteCloser) {
	defer w.Close() //nolint:errcheck // the peer reads the end either way
	for {
		var message []byte
		select {
		case message = <-c.out:
		case message = <-c.denied:
		case <-c.closed:
			select {
			case message = <-c.out:
			case message = <-c.denied:
			default:
				return
			}
		}
		if _, err := w.Write(message); err != nil { // the reader reports the reason
			<-c.closed
			return
		}
	}
}

// Read implements the SDK's connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		var line []byte
		select {
		case line = <-c.lines:
		case err := <-c.ended:
			c.ended <- err
			return nil, err
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		messages, err := split(c.tap.received(line))
		if err != nil {
			return nil, c.fail(&errNotJSON{escape.ClipBytes(string(line), 10*maxWords)})
		}
		c.queue = messages
	}
	next := c.queue[0]
	c.queue = c.queue[1:]
	if r, ok := next.(*jsonrpc.Response); ok {
		c.answered(fmt.Sprint(r.ID.Raw()))
	}
	return next, nil
}

// fail records why reading has ended, and returns the reason. An earlier error
// takes precedence over the end of the input.
func (c *lineConn) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil || errors.Is(c.failed, io.EOF) {
		c.failed = err
	}
	return err
}

// failure returns why reading has ended, or nil while it has not.
func (c *lineConn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// split decodes a message, or a batch of messages as in protocols up to
// 2025-03-26.
func split(line []byte) ([]jsonrpc.Message, error) {
	texts := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &texts); err != nil || len(texts) == 0 {
			return nil, errors.New("an empty batch")
		}
	}
	messages := make([]jsonrpc.Message, 0, len(texts))
	for _, text := range texts {
		m, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// Write implements the SDK's connection. It does not wait for the peer to read,
// unless many messages are queued.
func (c *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	id, method := c.tap.sent(ctx, text)
	if method == "server/discover" {
		c.awaitAnswer(id)
	}
	select {
	case c.out <- append(text, '\n'):
		c.tap.delivered(method)
		return nil
	case <-c.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxDenied is the number of answers of refuse that may wait for the server to read, and
// deniedTime is the time that one more waits.
const (
	maxDenied  = 64
	deniedTime = time.Second
)

// refuse answers a request of the server whose id cannot be used. It does not wait for the
// server to read. With maxDenied answers pending it ends the connection, unless one is
// written within deniedTime.
func (c *lineConn) refuse() {
	answer := encode(envelope{
		Version: []byte(`"2.0"`), ID: []byte("null"),
		Error: encode(map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": "the id must be a string, or an integer of at most 2^53-1"}),
	})
	select {
	case c.denied <- append(answer, '\n'):
	case <-c.closed:
	case <-time.After(deniedTime):
		_ = c.fail(errNotRead)
		_ = c.Close()
	}
}

// awaitAnswer answers server/discover on behalf of a server that takes too long:
// servers that predate the method may ignore it. The SDK then continues as with
// an old server.
func (c *lineConn) awaitAnswer(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = id
	c.timer = time.AfterFunc(c.probe, func() {
		c.mu.Lock()
		late := c.probed == id
		c.mu.Unlock()
		if !late {
			return
		}
		c.tap.probeLate()
		select {
		case c.lines <- encode(envelope{
			Version: []byte(`"2.0"`), ID: []byte(id),
			Error: encode(map[string]any{"code": jsonrpc.CodeMethodNotFound, "message": "no answer"}),
		}):
		case <-c.closed:
		case err := <-c.ended:
			c.ended <- err
		}
	})
}

func (c *lineConn) answered(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probed == id {
		c.probed = ""
		c.timer.Stop()
	}
}

// Close implements the SDK's connection: reading stops, and the output is closed
// once everything is written.
func (c *lineConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.timer != nil {
			c.timer.Stop()
		}
	})
	return nil
}

// SessionID implements the SDK's connection.
func (c *lineConn) SessionID() string { return "" }

// finish waits for the goroutines. It is called after Close, when both streams
// are closed.
func (c *lineConn) finish() { c.wg.Wait() }
