package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errTooLong reports a line beyond the limit.
var errTooLong = errors.New("the line is too long")

// lines is a connection with one JSON-RPC message per line, or one batch in the
// revisions that have batches. A malformed message is answered as JSON-RPC
// specifies and has no other effect.
type lines struct {
	out    io.Writer
	limit  int
	linger time.Duration

	revision func() string // negotiated with the client; "": none yet
	method   string        // of direct calls; "": there are none

	in     chan line // read, not processed yet
	queue  []jsonrpc.Message
	last   chan struct{} // closed when the last refusal so far was written; used by Read only
	places chan struct{} // of the replies that are not written yet
	writes chan write
	ended  chan struct{} // closed when nothing is written any more
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	begin   *beginning           // an initialize without an answer; nil: none
	open    map[jsonrpc.ID]*call // without an answer
	pending int                  // of those, the ones whose answers drain waits for
	sending int                  // answers that are being written
	drained chan struct{}        // closed when there are neither after the input has ended; nil before
	encoded map[string][]byte    // responses to direct calls that are not written yet, by their directResult
	keys    uint64               // of encoded so far
}

// line is a line of the input; tooLong marks one that was dropped.
type line struct {
	text    []byte
	tooLong bool
}

// write is a line to be written; done receives the outcome.
type write struct {
	text []byte
	done chan error
}

// beginning is an initialize request. Its answer determines whether batches are
// allowed.
type beginning struct {
	id       jsonrpc.ID
	answered chan struct{} // closed when it has been answered
}

// call is a call without an answer.
type call struct {
	batch *batch // nil: not in a batch
	lasts bool   // it ends with the connection, so that drain does not wait for it
}

// batch is a set of calls that are answered together with the refusals of its
// malformed members.
type batch struct {
	left    int
	answers []json.RawMessage
}

// text returns the line of a batch whose calls are all answered.
func (b *batch) text() ([]byte, error) { return json.Marshal(b.answers) }

// newLines returns a connection that reads in and writes out until it is closed.
// Its reader ends when in does, which may be later.
func newLines(in io.Reader, out io.Writer, limit int, linger time.Duration, revision func() string) *lines {
	c := &lines{
		out: out, limit: limit, linger: linger, revision: revision,
		in: make(chan line), writes: make(chan write), ended: make(chan struct{}), closed: make(chan struct{}),
		open: map[jsonrpc.ID]*call{}, encoded: map[string][]byte{}, last: make(chan struct{}), places: make(chan struct{}, maxReplies),
	}
	close(c.last)
	go c.read(bufio.NewReaderSize(in, 64<<10))
	go c.write()
	return c
}

var (
	_ sdk.Transport  = (*lines)(nil)
	_ sdk.Connection = (*lines)(nil)
)

// Connect returns the connection itself.
func (c *lines) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID returns "": the connection is the session.
func (c *lines) SessionID() string { return "" }

// read passes lines on until the input ends.
func (c *lines) read(r *bufio.Reader) {
	defer close(c.in)
	for {
		text, err := readLine(r, c.limit)
		l := line{text: text, tooLong: errors.Is(err, errTooLong)}
		if len(bytes.TrimSpace(text)) > 0 || l.tooLong {
			select {
			case c.in <- l:
				// Let the receiver run now. Otherwise it may wait until the next read blocks.
				runtime.Gosched()
			case <-c.closed:
				return
			}
		}
		if err != nil && !l.tooLong {
			return
		}
	}
}

// readLine returns the next line without its line break. It skips a line of more
// than limit bytes and returns errTooLong.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(text)+len(bytes.TrimRight(part, "\r\n")) > limit {
			text, long = nil, true
		}
		if !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return text, err
		case long:
			return nil, errTooLong
		default:
			return bytes.TrimRight(text, "\r\n"), nil
		}
	}
}

// write writes the messages on a goroutine of its own, because a Write of out may
// block.
func (c *lines) write() {
	defer close(c.ended)
	for {
		select {
		case w := <-c.writes:
			_, err := c.out.Write(w.text)
			w.done <- err
			if err != nil {
				c.shut() // the client is gone
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Read returns the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		select {
		case l, ok := <-c.in:
			if !ok {
				c.drain(ctx)
				c.shut() // a client that does not read cannot block the end
				return nil, io.EOF
			}
			c.accept(ctx, l)
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	next := c.queue[0]
	c.queue = c.queue[1:]
	return next, nil
}

// drain waits, for a bounded time, until all calls are answered.
func (c *lines) drain(ctx context.Context) {
	if c.linger < 0 {
		return
	}
	c.mu.Lock()
	c.drained = make(chan struct{})
	if c.idle() {
		close(c.drained)
	}
	drained := c.drained
	c.mu.Unlock()
	t := time.NewTimer(c.linger)
	defer t.Stop()
	select {
	case <-drained:
	case <-t.C:
	case <-c.closed:
	case <-ctx.Done():
	}
}

// Write writes a message.
func (c *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if ok {
		r = coded(r)
		m = r
	}
	text, err := c.encode(m)
	if err != nil {
		return err
	}
	if !ok {
		return c.send(ctx, text)
	}
	defer c.answered()
	c.mu.Lock()
	b := c.take(r.ID)
	if c.begin != nil && c.begin.id == r.ID {
		defer c.begun() // once the answer is sent, which the refusal of a batch must not overtake
	}
	complete := true
	if b != nil {
		b.answers = append(b.answers, text)
		b.left--
		complete = b.left == 0
	}
	c.mu.Unlock()
	if !complete {
		return nil
	}
	if b != nil {
		if text, err = b.text(); err != nil {
			return err
		}
	}
	return c.send(ctx, text)
}

// take removes a call that is about to be answered: its client may use the ID again as
// soon as it has the answer. It returns the call's batch. It requires c.mu.
func (c *lines) take(id jsonrpc.ID) *batch {
	c.sending++
	one := c.open[id]
	if one == nil {
		return nil
	}
	delete(c.open, id)
	if !one.lasts {
		c.pending--
	}
	return one.batch
}

// idle reports whether no answer is awaited. It requires c.mu.
func (c *lines) idle() bool { return c.pending == 0 && c.sending == 0 }

// begun ends the negotiation of the revision.
func (c *lines) begun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begin != nil {
		close(c.begin.answered)
		c.begin = nil
	}
}

// coded returns a response whose error has a code: errors that the SDK returns
// before any middleware runs, for example before initialize, have none.
func coded(r *jsonrpc.Response) *jsonrpc.Response {
	if w := (*jsonrpc.Error)(nil); r.Error == nil || errors.As(r.Error, &w) && w.Code != 0 {
		return r
	}
	return &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}}
}

// answered records that an answer was written, and ends drain when no call is open any more.
func (c *lines) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending--
	if c.drained != nil && c.idle() {
		select {
		case <-c.drained:
		default:
			close(c.drained)
		}
	}
}

// send writes a line.
func (c *lines) send(ctx context.Context, text []byte) error {
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	default:
	}
	w := write{append(text, '\n'), make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.done:
		return err
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

func (c *lines) shut() { c.once.Do(func() { close(c.closed) }) }

// Close ends the connection: Read and Write return.
func (c *lines) Close() error {
	c.shut()
	return nil
}
