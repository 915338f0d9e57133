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

var errTooLarge = errors.New("a message is larger than the limit")

// errNotJSON is that a line of the server's, of which the beginning is kept, is no
// message.
type errNotJSON struct{ line string }

func (e *errNotJSON) Error() string { return "a line is no JSON message" }

// lineConn speaks JSON-RPC with a peer, a message a line. It owns a goroutine
// that reads, to the end of what is read, and one that writes; finish waits for
// both.
type lineConn struct {
	tap   *tap
	max   int
	probe time.Duration // how long server/discover may go without an answer

	lines  chan []byte
	queue  []jsonrpc.Message // of a batch, not given out yet
	out    chan []byte
	closed chan struct{}
	atEnd  chan struct{} // closed when nothing is read any more
	once   sync.Once
	wg     sync.WaitGroup

	mu     sync.Mutex
	failed error       // why there is no more to read
	ended  chan error  // holds failed once
	timer  *time.Timer // of the probe
	probed string      // its id; "": it is answered, or was not made
}

func newLineConn(t *tap, r io.Reader, w io.WriteCloser, limit int, probe time.Duration) *lineConn {
	c := &lineConn{
		tap: t, max: limit, probe: probe, lines: make(chan []byte), out: make(chan []byte, 16),
		closed: make(chan struct{}), atEnd: make(chan struct{}), ended: make(chan error, 1),
	}
	c.wg.Add(2)
	go func() { defer c.wg.Done(); defer close(c.atEnd); c.read(r) }()
	go func() { defer c.wg.Done(); c.write(w) }()
	return c
}

// read passes lines on until there are no more. What comes after Close, or after
// what is no message, is read and dropped, so that the peer is not held up while
// it ends.
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

// readLine reads to the next line break, or to the end. It keeps no more than
// limit bytes.
func readLine(b *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errTooLarge
		}
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(line), len(part))) // doubled, as a line may have megabytes
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// write sends what Write has taken, to the last, and closes w.
func (c *lineConn) write(w io.WriteCloser) {
	defer w.Close() //nolint:errcheck // the peer reads the end either way
	for {
		var message []byte
		select {
		case message = <-c.out:
		case <-c.closed:
			select {
			case message = <-c.out:
			default:
				return
			}
		}
		if _, err := w.Write(message); err != nil { // reading tells why
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

// fail takes note why there is no more to read, and returns it. The end of what is
// read says less than what was wrong before.
func (c *lineConn) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil || errors.Is(c.failed, io.EOF) {
		c.failed = err
	}
	return err
}

// failure returns why there is no more to read; nil as long as there may be.
func (c *lineConn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// split decodes a message, or a batch of them as protocols up to 2025-03-26 have
// it.
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

// Write implements the SDK's connection. It waits for no reader, unless many
// messages are not read yet.
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

// awaitAnswer answers server/discover in the server's place where that takes too
// long: servers that are older than the method may say nothing to what they do
// not know. The SDK then goes on as with these.
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

// Close implements the SDK's connection: nothing is read any more, and the peer
// is told so when all is written.
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

// finish waits for the goroutines, after Close and when both streams are closed.
func (c *lineConn) finish() { c.wg.Wait() }
