package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/host"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxQueued is the maximum number of queued notifications of a run for a client
// that reads slowly; further ones are dropped.
const maxQueued = 256

// clientHost is the client of a run as tools see it. Notifications are sent in order on
// a goroutine of their own, so that no tool waits for a slow client.
type clientHost struct {
	r     *run
	ended <-chan struct{} // closed when the work is cancelled or done

	mu        sync.Mutex
	x         *exchange // the request that receives notifications; nil: none at the moment
	met       *exchange // the last such request
	out       chan func()
	sent      chan struct{}        // closed when everything in out has been sent
	last      float64              // of progress
	started   bool                 // progress was reported
	early     sdk.InputResponseMap // answers sent with the call, before any question
	questions int                  // requests to the client without an answer
}

var _ host.DisconnectingHost = (*clientHost)(nil)

func newHost(r *run, x *exchange, ended <-chan struct{}) *clientHost {
	h := &clientHost{r: r, ended: ended}
	if x.modern {
		h.early = x.given
	}
	h.meet(x)
	return h
}

// meet makes x the request that receives notifications.
func (h *clientHost) meet(x *exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.x, h.met = x, x
}

// leave drops further notifications, and waits until the queued ones are sent or
// the client has disconnected.
func (h *clientHost) leave() {
	h.mu.Lock()
	x, out, sent := h.x, h.out, h.sent
	h.x, h.out, h.sent = nil, nil, nil
	if out != nil {
		close(out)
	}
	h.mu.Unlock()
	if out == nil {
		return
	}
	select {
	case <-sent:
	case <-x.ctx.Done():
	case <-x.s.ctx.Done():
	case <-x.s.gone:
	}
}

// tell queues a notification. It reports false if the notification is dropped
// because no request receives it. The caller holds the lock.
func (h *clientHost) tell(send func(x *exchange)) bool {
	x := h.x
	if x == nil {
		return false
	}
	if h.out == nil {
		if !x.s.engage() {
			return false // no request receives it any more
		}
		out, sent := make(chan func(), maxQueued), make(chan struct{})
		h.out, h.sent = out, sent
		go func() {
			defer x.s.work.Done()
			defer close(sent)
			for f := range out {
				if x.ctx.Err() == nil && x.s.ctx.Err() == nil {
					f()
				}
			}
		}()
	}
	select {
	case h.out <- func() { send(x) }:
		return true
	default: // the client reads too slowly
		return false
	}
}

// Progress sends progress to a client that has requested it; each value is
// greater than the previous one.
func (h *clientHost) Progress(p host.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.x == nil || h.x.token == nil || (h.started && p.Done <= h.last) {
		return
	}
	h.started, h.last = true, p.Done
	h.tell(func(x *exchange) {
		_ = x.conn.NotifyProgress(x.ctx, &sdk.ProgressNotificationParams{
			ProgressToken: x.token, Progress: p.Done, Total: p.Total, Message: valid(p.Message),
		})
	})
}

// Log sends a log message to a client that has requested its level.
func (h *clientHost) Log(e host.LogEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell(func(x *exchange) {
		//lint:ignore SA1019 older revisions have it, and so has 2026-07-28 for requests that ask for it
		_ = x.conn.Log(x.ctx, &sdk.LoggingMessageParams{Level: sdk.LoggingLevel(e.Level), Logger: e.Logger, Data: e.Data})
	})
}

// Disconnect ends the stream over which the answer would be sent.
func (h *clientHost) Disconnect(after time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.x
	if x == nil || !x.parts || x.part == nil || x.s.stateless || !x.s.resumable {
		return false
	}
	return h.tell(func(x *exchange) { x.part(sdk.CloseSSEStreamArgs{RetryAfter: after}) })
}

// Ask asks the client: by requests to it or, in revision 2026-07-28, by a result
// that the client answers with its next request.
func (h *clientHost) Ask(ctx context.Context, questions ...host.Question) ([]host.Reply, error) {
	h.mu.Lock()
	x := h.met
	h.mu.Unlock()
	if err := able(x, questions); err != nil {
		return nil, err
	}
	if !x.modern {
		h.asks(1)
		defer h.asks(-1)
		return askNow(ctx, x, questions)
	}
	return h.askLater(ctx, questions)
}

// asks counts the open questions to the client. A run with open questions can
// continue only if the client answers.
func (h *clientHost) asks(more int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.questions
	if h.questions += more; before == 0 {
		h.r.s.stalled.Add(1)
	} else if h.questions == 0 {
		h.r.s.stalled.Add(-1)
	}
}

// able returns an error for questions that the client cannot answer.
func able(x *exchange, questions []host.Question) error {
	if !x.modern && x.s.stateless {
		return fault.New(fault.NoApprover, "server.ask", "The client has no session, which questions require.",
			"Use a session, or revision "+revision2026+" of the protocol; or continue without an answer.")
	}
	for _, q := range questions {
		capability, ok := answerable(x.caps, q)
		if ok {
			continue
		}
		if capability == "" {
			return fault.New(fault.NoApprover, "server.ask", "A question has no field set.", "Set exactly one of its fields.")
		}
		return fault.Wrap(fault.NoApprover, "server.ask", "The client cannot answer questions: it does not offer "+capability+".",
			"Use a client that does, or continue without an answer.", lacking(capability))
	}
	return nil
}

// lacking is the cause of an error for questions that the client cannot answer:
// the missing capability.
type lacking string

func (l lacking) Error() string { return "no " + string(l) }

// askNow asks by requests to the client, one after the other.
func askNow(ctx context.Context, x *exchange, questions []host.Question) ([]host.Reply, error) {
	// The requests belong to the client's request and end with either ctx.
	merged, cancel := context.WithCancel(x.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer context.AfterFunc(x.s.ctx, cancel)()
	replies := make([]host.Reply, len(questions))
	for i, q := range questions {
		given, err := request(merged, x.conn, q)
		if merged.Err() != nil {
			return nil, cancelled(ctx)
		}
		if fault.CodeOf(err) == fault.DeniedByUser {
			return nil, err
		}
		if err != nil {
			return nil, fault.Wrap(fault.NoApprover, "server.ask", "The client has not answered: "+clip(err.Error())+".", "Continue without an answer.", err)
		}
		reply, problem := read(q, given)
		if problem != "" {
			return nil, invalidAnswer(problem)
		}
		replies[i] = reply
	}
	return replies, nil
}

// askLater passes the questions to the goroutine that answers the client's
// request, and waits for the client's next request.
func (h *clientHost) askLater(ctx context.Context, questions []host.Question) ([]host.Reply, error) {
	q := newInquiry(questions)
	h.mu.Lock()
	q.take(h.early)
	h.mu.Unlock()
	if q.complete() {
		return q.replies, nil
	}
	select {
	case h.r.asked <- q:
	case <-ctx.Done():
		return nil, cancelled(ctx)
	case <-h.ended:
		return nil, cancelled(ctx)
	}
	select {
	case err := <-q.settled:
		if err != nil {
			return nil, err
		}
		return q.replies, nil
	case <-ctx.Done():
	case <-h.ended:
	}
	return nil, cancelled(ctx)
}

// cancelled is the error of Ask when the call has ended.
func cancelled(ctx context.Context) error {
	cause := ctx.Err()
	if cause == nil {
		cause = errors.New("the call has ended")
	}
	return fault.Wrap(fault.Cancelled, "server.ask", "The call has ended before its question was answered.", "", cause)
}
