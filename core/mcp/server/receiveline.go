package server

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// accept queues the messages of a line, or answers a malformed one.
func (c *lines) accept(ctx context.Context, l line) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.tooLong:
		c.refuse(ctx, nil, nil, jsonrpc.CodeInvalidRequest, "The message is too long.")
	case !json.Valid(text):
		c.refuse(ctx, nil, nil, jsonrpc.CodeParseError, "The line is not valid JSON.")
	case text[0] == '[':
		c.acceptBatch(ctx, text)
	default:
		c.register(ctx, text, nil)
	}
}

// acceptBatch queues the messages of a batch, to be answered together.
func (c *lines) acceptBatch(ctx context.Context, text []byte) {
	if !c.settle(ctx) {
		return
	}
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 || !c.batches() {
		c.refuse(ctx, nil, nil, jsonrpc.CodeInvalidRequest, "Batches are not supported by this revision of the protocol, and no batch may be empty.")
		return
	}
	b := &batch{}
	for _, one := range all {
		c.register(ctx, one, b)
	}
	if b.left > 0 || len(b.answers) == 0 {
		return
	}
	if text, err := b.text(); err == nil {
		c.reply(ctx, text)
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

// register queues the message in valid JSON and records a call. It answers what is
// not a message, and a call with the ID of a running one, which the SDK would drop.
// b is nil for a message that is not in a batch.
func (c *lines) register(ctx context.Context, text []byte, b *batch) {
	m, err := decodeMessage(text)
	if err != nil {
		c.refuse(ctx, b, readableID(text), jsonrpc.CodeInvalidRequest, refusalOf(err))
		return
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		c.direct(r)
		if r.IsCall() && !c.begins(r, b) {
			c.refuse(ctx, b, readableID(text), jsonrpc.CodeInvalidRequest, "The ID is that of a request that is still running.")
			return
		}
	}
	c.queue = append(c.queue, m)
}

// begins records a call. It reports false if a call with its ID is running.
func (c *lines) begins(r *jsonrpc.Request, b *batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[r.ID] != nil {
		return false
	}
	if r.Method == "subscriptions/listen" {
		c.open[r.ID] = &call{lasts: true}
		return true
	}
	c.open[r.ID] = &call{batch: b}
	c.pending++
	if b != nil {
		b.left++
	}
	if r.Method == "initialize" && c.begin == nil {
		c.begin = &beginning{r.ID, make(chan struct{})}
	}
	return true
}

// refuse answers a message that is not passed on. id is its ID in JSON, nil if it has
// no usable one. In a batch the answer is one of the batch.
func (c *lines) refuse(ctx context.Context, b *batch, id json.RawMessage, code int64, message string) {
	text, err := refusal(id, code, message)
	switch {
	case err != nil:
	case b != nil:
		b.answers = append(b.answers, text) // its calls are not passed on yet
	default:
		c.reply(ctx, text)
	}
}

// refusal returns an answer with an error. id is in JSON; nil: null.
func refusal(id json.RawMessage, code int64, message string) ([]byte, error) {
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: message}})
}

// maxReplies is the number of replies that may wait for the client to read, and
// replyTime is the time that one more waits for a place.
const (
	maxReplies = 1000
	replyTime  = time.Second
)

// reply writes an answer of the connection itself, after earlier ones. It does not
// wait for the client to read, so that the end of the input is noticed. With
// maxReplies pending it ends the connection, unless one is written within replyTime.
func (c *lines) reply(ctx context.Context, text []byte) {
	select {
	case c.places <- struct{}{}:
	case <-time.After(replyTime):
		c.shut()
		return
	case <-c.closed:
		return
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	c.sending++
	c.mu.Unlock()
	before, done := c.last, make(chan struct{})
	c.last = done
	go func() {
		defer c.answered()
		defer close(done)
		defer func() { <-c.places }()
		<-before
		_ = c.send(ctx, text)
	}()
}
