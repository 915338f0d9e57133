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
	writes chan write
	ended  chan struct{} // closed when nothing is written any more
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	begin   *beginning            // an initialize without an answer; nil: none
	open    map[jsonrpc.ID]*calls // without an answer
	sending int                   // answers that are being written
	drained chan struct{}         // closed when there are neither after the input has ended; nil before
	encoded map[string][]byte     // responses to direct calls that are not written yet, by their directResult
	keys    uint64                // of encoded so far
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

// calls are the calls with one ID. There is one, unless a client repeats the ID of a
// running call: the SDK refuses the second one.
type calls struct {
	n     int
	batch *batch // nil: not in a batch
}

// batch is a set of calls that are answered together.
type batch struct {
	left    int
	answers []json.RawMessage
}

// newLines returns a connection that reads in and writes out until it is closed.
// Its reader ends when in does, which may be later.
func newLines(in io.Reader, out io.Writer, limit int, linger time.Duration, revision func() string) *lines {
	c := &lines{
		out: out, limit: limit, linger: linger, revision: revision,
		in: make(chan line), writes: make(chan write), ended: make(chan struct{}), closed: make(chan struct{}),
		open: map[jsonrpc.ID]*calls{}, encoded: map[string][]byte{},
	}
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

// accept queues the messages of a line, or answers a malformed one.
func (c *lines) accept(ctx context.Context, l line) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.tooLong:
		c.refuse(ctx, jsonrpc.CodeInvalidRequest, "The message is too long.")
	case !json.Valid(text):
		c.refuse(ctx, jsonrpc.CodeParseError, "The line is not valid JSON.")
	case text[0] == '[':
		c.acceptBatch(ctx, text)
	default:
		if m, ok := c.decode(ctx, text); ok {
			c.register(m, nil)
		}
	}
}

// acceptBatch queues the messages of a batch, to be answered together.
func (c *lines) acceptBatch(ctx context.Context, text []byte) {
	if !c.settle(ctx) {
		return
	}
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 || !c.batches() {
		c.refuse(ctx, jsonrpc.CodeInvalidRequest, "Batches are not supported by this revision of the protocol, and no batch may be empty.")
		return
	}
	b := &batch{}
	var messages []jsonrpc.Message
	for _, one := range all {
		m, ok := c.decode(ctx, one)
		if !ok {
			continue
		}
		messages = append(messages, m)
	}
	for _, m := range messages {
		c.register(m, b)
	}
}

// settle waits for the end of a running negotiation of the revision. It reports
// false if the connection ends.
func (c *lines) settle(ctx context.Context) bool {
	c.mu.Lock()
	begin := c.begin
	c.mu.Unlock()
	if begin == nil {
		return true
	}
	select {
	case <-begin.answered:
		return true
	case <-c.closed:
		return false
	case <-ctx.Done():
		return false
	}
}

// batches reports whether the client's revision has batches.
func (c *lines) batches() bool {
	r := c.revision()
	return r != "" && r < "2025-06-18"
}

// decode decodes valid JSON as a message, or answers that it is not a message.
func (c *lines) decode(ctx context.Context, text []byte) (jsonrpc.Message, bool) {
	m, err := decodeMessage(text)
	if err != nil {
		c.refuse(ctx, jsonrpc.CodeInvalidRequest, "The line is not a JSON-RPC message.")
		return nil, false
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		c.direct(r)
	}
	return m, true
}

// register queues a message and records a call.
func (c *lines) register(m jsonrpc.Message, b *batch) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" {
		c.mu.Lock()
		same := c.open[r.ID]
		if same == nil {
			same = &calls{batch: b}
			c.open[r.ID] = same
		}
		same.n++
		if same.batch != nil {
			same.batch.left++
		}
		if r.Method == "initialize" && c.begin == nil {
			c.begin = &beginning{r.ID, make(chan struct{})}
		}
		c.mu.Unlock()
	}
	c.queue = append(c.queue, m)
}

// refuse answers a message without a usable id.
func (c *lines) refuse(ctx context.Context, code int64, message string) {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": &jsonrpc.Error{Code: code, Message: message},
	})
	if err == nil {
		_ = c.send(ctx, text)
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
		if text, err = json.Marshal(b.answers); err != nil {
			return err
		}
	}
	return c.send(ctx, text)
}

// take removes a call that is about to be answered: its client may use the ID again as
// soon as it has the answer. It returns the call's batch. It requires c.mu.
func (c *lines) take(id jsonrpc.ID) *batch {
	c.sending++
	same := c.open[id]
	if same == nil {
		return nil
	}
	if same.n--; same.n == 0 {
		delete(c.open, id)
	}
	return same.batch
}

// idle reports whether no call is open. It requires c.mu.
func (c *lines) idle() bool { return len(c.open) == 0 && c.sending == 0 }

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
