package natsbus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fettle-dev/fettle/core/bus"
)

// defaultWithin is the time for an answer if [Options] set none.
const defaultWithin = 10 * time.Minute

// Options configure [Attach]. Session is required.
type Options struct {
	Session string // id of the session: see [CheckSession]
	Prefix  string // of all subjects; "": [DefaultPrefix]
	// AnswerWithin is the time for an answer. Afterwards the bridge declines the question; a
	// front end of the same process can still answer it. 0: 10 minutes; negative: no limit.
	AnswerWithin time.Duration
	// Mask replaces the secrets in a text. It is applied to each text of each message that is
	// sent. nil: messages are sent as they are.
	Mask func(text string) string
	// Answered is called for each accepted answer before the session receives it, with the actor
	// of its subject; its error refuses the answer. nil: it is not called. It may be called from
	// several goroutines.
	Answered func(actor string, question bus.Message, answer bus.Answer) error
}

// Bridge connects one bus to NATS. It is safe for concurrent use.
type Bridge struct {
	nc      *nats.Conn
	bus     *bus.MessageBus
	o       Options
	events  *bus.Subscription
	asks    []*bus.Subscription
	subs    []*nats.Subscription
	stop    func()
	ready   chan struct{}  // closed once asks is set
	waiting sync.WaitGroup // goroutines of questions and of reconnects

	mu     sync.Mutex
	open   map[string]*shown // by correlation id
	ended  []ended           // the last ones
	seq    uint64
	failed uint64 // events that could not be sent
}

// remembered is the number of ended questions whose late answers are told apart from answers to
// unknown ones.
const remembered = 1024

// ended is a question that has ended.
type ended struct{ id, reason string }

// shown is an open question that was sent.
type shown struct {
	question bus.Message
	outcomes []bus.Outcome // that it offers; nil: it takes none
	digest   string
	m        *nats.Msg
	actor    string // of the accepted answer
}

// Attach connects b to nc until [Bridge.Close]. ctx ends the bridge too. The connection remains
// the caller's: it should reconnect without limit (nats.MaxReconnects(-1)), and is not closed.
func Attach(ctx context.Context, nc *nats.Conn, b *bus.MessageBus, o Options) (*Bridge, error) {
	if err := CheckSession(o.Session); err != nil {
		return nil, err
	}
	o.Prefix = cmp.Or(o.Prefix, DefaultPrefix)
	o.AnswerWithin = cmp.Or(o.AnswerWithin, defaultWithin)
	ctx, cancel := context.WithCancel(ctx)
	g := &Bridge{nc: nc, bus: b, o: o, stop: cancel, open: map[string]*shown{}, ready: make(chan struct{})}
	for subject, handle := range map[string]nats.MsgHandler{
		o.Prefix + ".answer." + o.Session + ".*": g.answer,
		o.Prefix + ".hello":                      func(*nats.Msg) { g.announce() },
	} {
		sub, err := nc.Subscribe(subject, handle)
		if err != nil {
			cancel()
			return nil, errors.Join(err, g.unsubscribe())
		}
		g.subs = append(g.subs, sub)
	}
	// A question must not precede the subscription to its answers. A flush that the loss of the
	// connection interrupts fails, and the reconnect then sends the subscriptions first.
	if err := nc.Flush(); err != nil && (nc.IsClosed() || errors.Is(err, nats.ErrTimeout)) {
		cancel()
		return nil, errors.Join(err, g.unsubscribe())
	}
	started := message(o.Prefix+".ask."+o.Session, o.Session, nil)
	started.Header.Set(headerKind, kindStarted)
	_ = g.send(started) // a process that was killed has not ended its questions
	g.waiting.Go(func() { onReconnect(ctx, nc, g.announce) })
	g.events = bus.Observe(ctx, b, g.event)
	g.asks = []*bus.Subscription{
		bus.Subscribe(ctx, b, func(ctx context.Context, q bus.ToolConfirmationRequest) {
			g.ask(ctx, q.CorrelationID, q, append([]bus.Outcome{"", bus.Cancel}, q.Outcomes...), 0)
		}),
		bus.Subscribe(ctx, b, func(ctx context.Context, q bus.AskUserRequest) { g.ask(ctx, q.CorrelationID, q, nil, 1) }),
	}
	close(g.ready)
	return g, nil
}

// onReconnect calls f after each reconnect until ctx ends.
func onReconnect(ctx context.Context, nc *nats.Conn, f func()) {
	changes := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(changes)
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-changes:
			if !ok {
				return
			}
			f()
		}
	}
}

// Close declines the open questions and ends the bridge. It returns once nothing of it runs.
func (g *Bridge) Close() error {
	g.stop()
	for _, s := range append(slices.Clone(g.asks), g.events) {
		s.Unsubscribe()
		<-s.Done()
	}
	g.waiting.Wait()
	return g.unsubscribe()
}

func (g *Bridge) unsubscribe() error {
	var all error
	for _, s := range g.subs {
		if err := s.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// flushTime is the maximum time of a flush.
const flushTime = time.Minute

// Flush waits until the events published on the bus so far were sent. It reports false if ctx ends
// first, or after a minute.
func (g *Bridge) Flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, flushTime) // FlushWithContext requires a deadline
	defer cancel()
	return g.events.Flush(ctx) && g.nc.FlushWithContext(ctx) == nil
}

// Dropped returns the number of events that no front end received because the bridge could not
// send them in time.
func (g *Bridge) Dropped() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed + uint64(max(0, g.events.Dropped()))
}

// event sends an event. Questions are sent by ask.
func (g *Bridge) event(_ context.Context, m bus.Message) {
	switch m.(type) {
	case bus.ToolConfirmationRequest, bus.AskUserRequest, bus.ToolConfirmationResponse, bus.AskUserResponse:
		return // an answer may contain what only its question's caller may see
	}
	data, err := g.encode(m)
	g.mu.Lock()
	g.seq++
	seq, failed := g.seq, g.failed
	g.mu.Unlock()
	dropped := uint64(max(0, g.events.Dropped()))
	msg := message(g.o.Prefix+".event."+g.o.Session, g.o.Session, data)
	msg.Header.Set(headerSeq, strconv.FormatUint(seq+dropped, 10))
	msg.Header.Set(headerDropped, strconv.FormatUint(failed+dropped, 10))
	if err == nil {
		err = g.send(msg)
	}
	if err != nil {
		g.mu.Lock()
		g.failed++
		g.mu.Unlock()
	}
}

// send publishes a message that is small enough for the server.
func (g *Bridge) send(m *nats.Msg) error {
	if limit := g.nc.MaxPayload(); limit > 0 && int64(m.Size()) > limit {
		return nats.ErrMaxPayload
	}
	return g.nc.PublishMsg(m)
}

// encode returns the JSON of a message without secrets.
func (g *Bridge) encode(m bus.Message) ([]byte, error) {
	data, err := bus.Marshal(m)
	if err != nil || g.o.Mask == nil {
		return data, err
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(masked(v, g.o.Mask)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// masked returns v with masked texts.
func masked(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = masked(v[i], mask)
		}
	case map[string]any:
		for key := range v {
			v[key] = masked(v[key], mask)
		}
	}
	return v
}

// ask sends a question, and its end. of is the index of the subscription in asks.
func (g *Bridge) ask(ctx context.Context, id string, q bus.Message, outcomes []bus.Outcome, of int) {
	data, err := g.encode(q)
	msg := message(g.o.Prefix+".ask."+g.o.Session, g.o.Session, data)
	msg.Header.Set(headerKind, kindQuestion)
	msg.Header.Set(headerID, id)
	if g.o.AnswerWithin > 0 {
		msg.Header.Set(headerExpires, time.Now().Add(g.o.AnswerWithin).UTC().Format(time.RFC3339))
	}
	one := &shown{question: q, outcomes: outcomes, digest: Digest(g.o.Session, data), m: msg}
	g.mu.Lock()
	g.open[id] = one
	g.mu.Unlock()
	if err == nil {
		err = g.send(msg)
	}
	g.waiting.Go(func() {
		reason := g.wait(ctx, id, of, err)
		g.mu.Lock()
		delete(g.open, id)
		if len(g.ended) == remembered {
			g.ended = slices.Delete(g.ended, 0, 1)
		}
		g.ended = append(g.ended, ended{id, reason})
		actor := one.actor
		g.mu.Unlock()
		end := message(g.o.Prefix+".ask."+g.o.Session, g.o.Session, nil)
		end.Header.Set(headerKind, kindSettled)
		end.Header.Set(headerID, id)
		end.Header.Set(headerReason, reason)
		if actor != "" {
			end.Header.Set(headerActor, actor)
		}
		_ = g.send(end) // a front end that misses it learns of it with its answer
	})
}

// wait waits for the end of a question, and returns the reason. sent is the error of sending it.
func (g *Bridge) wait(ctx context.Context, id string, of int, sent error) string {
	var late <-chan time.Time
	if g.o.AnswerWithin > 0 {
		timer := time.NewTimer(g.o.AnswerWithin)
		defer timer.Stop()
		late = timer.C
	}
	if sent == nil {
		select {
		case <-ctx.Done():
			return codeOf(context.Cause(ctx))
		case <-late:
		}
	}
	<-g.ready
	g.asks[of].Decline(id)
	return codeOf(bus.ErrNoApprover)
}

// announce sends the open questions again, for front ends that have not seen them.
func (g *Bridge) announce() {
	g.mu.Lock()
	var all []*nats.Msg
	for _, one := range g.open {
		if one.actor == "" {
			all = append(all, one.m)
		}
	}
	g.mu.Unlock()
	for _, m := range all {
		_ = g.send(m)
	}
}

// answer handles an answer of a front end.
func (g *Bridge) answer(m *nats.Msg) {
	reply := message(m.Reply, g.o.Session, nil)
	if err := g.accept(m); err != nil {
		reply.Header.Set(headerError, codeOf(err))
	}
	if strings.HasPrefix(m.Reply, inboxes) {
		_ = g.nc.PublishMsg(reply)
	}
}

func (g *Bridge) accept(m *nats.Msg) error {
	if m.Header.Get(headerVersion) != Version {
		return ErrVersion
	}
	if fromStream(m) {
		return bus.ErrInvalid
	}
	decoded, err := bus.Unmarshal(m.Data)
	if err != nil {
		return bus.ErrInvalid
	}
	var id string
	var outcome bus.Outcome
	switch a := decoded.(type) {
	case bus.ToolConfirmationResponse:
		if a.RequiresUserConfirmation { // it would end the question of others
			return bus.ErrInvalid
		}
		id, outcome = a.CorrelationID, a.Outcome
	case bus.AskUserResponse:
		id = a.CorrelationID
	default:
		return bus.ErrInvalid
	}
	actor := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	g.mu.Lock()
	one := g.open[id]
	switch {
	case one == nil:
		defer g.mu.Unlock()
		if i := slices.IndexFunc(g.ended, func(e ended) bool { return e.id == id }); i >= 0 {
			return errorOf(g.ended[i].reason)
		}
		return bus.ErrUnknownQuestion
	case one.digest != m.Header.Get(headerDigest):
		g.mu.Unlock()
		return ErrDigest
	case (one.outcomes == nil) != isForm(decoded):
		g.mu.Unlock()
		return bus.ErrInvalid
	case one.outcomes != nil && !slices.Contains(one.outcomes, outcome):
		g.mu.Unlock()
		return ErrOutcome
	case one.actor != "":
		g.mu.Unlock()
		return bus.ErrAnswered
	}
	one.actor = actor
	g.mu.Unlock()
	err = nil
	if g.o.Answered != nil {
		if g.o.Answered(actor, one.question, decoded.(bus.Answer)) != nil {
			err = ErrRefused
		}
	}
	if err == nil {
		err = g.bus.Publish(decoded)
	}
	if err != nil {
		g.mu.Lock()
		one.actor = ""
		g.mu.Unlock()
	}
	return err
}

func isForm(answer bus.Message) bool {
	_, ok := answer.(bus.AskUserResponse)
	return ok
}
