package server

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errState refuses a request with an invalid state. It does not tell an unknown
// state from one of another client.
var errState = errInvalid("The requestState does not belong to a request that waits for these answers: it was changed, used before, or has expired. Send the request again without requestState and inputResponses.")

// signer signs request states, so that a client cannot forge one. The key lives
// as long as the process, as the waiting runs do.
type signer struct{ key [32]byte }

// A state consists of ticket, expiry and signature.
type ticket [16]byte

const stateSize = 16 + 8 + sha256.Size

// sign returns the state of a ticket.
func (s *signer) sign(t ticket, expiry time.Time, x *exchange) string {
	b := make([]byte, 0, stateSize)
	b = append(b, t[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(expiry.UnixMilli())) //nolint:gosec // times are after 1970
	return base64.RawURLEncoding.EncodeToString(append(b, s.mac(b, x)...))
}

// verify returns the ticket of a state that was signed for the same request and
// has not expired.
func (s *signer) verify(state string, x *exchange) (ticket, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(b) != stateSize {
		return ticket{}, false
	}
	signed, mac := b[:stateSize-sha256.Size], b[stateSize-sha256.Size:]
	if !hmac.Equal(mac, s.mac(signed, x)) {
		return ticket{}, false
	}
	expiry := time.UnixMilli(int64(binary.BigEndian.Uint64(signed[16:]))) //nolint:gosec // it is signed
	return ticket(signed[:16]), time.Now().Before(expiry)
}

// mac binds a state to its session, holder, method, name and arguments.
func (s *signer) mac(signed []byte, x *exchange) []byte {
	h := hmac.New(sha256.New, s.key[:])
	session := x.s.id
	if x.s.stateless {
		session = ""
	}
	for _, part := range [][]byte{signed, []byte(session), []byte(x.s.holder), []byte(x.method), []byte(x.name), canonical(x.args)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}

// canonical returns JSON with sorted keys and without blanks; numbers keep their
// spelling.
func canonical(j json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return j
	}
	b, err := json.Marshal(v)
	if err != nil {
		return j
	}
	return b
}

// waitList holds the runs whose clients have been asked by a result. A run that is not
// resumed in time is cancelled.
type waitList struct {
	most, each int // limits on waiting runs, in total and per client
	limit      time.Duration

	mu      sync.Mutex
	waiting map[ticket]*waiting
	clients map[string]int // number of waiting runs of each client
}

// waiting is a run and the questions it waits for.
type waiting struct {
	r     *run
	q     *inquiry
	timer *time.Timer
}

func (l *waitList) init(most, each int, limit time.Duration) {
	l.most, l.each, l.limit, l.waiting, l.clients = most, each, limit, map[ticket]*waiting{}, map[string]int{}
}

// client returns the client for which a waiting run counts.
func (w *waiting) client() string {
	if w.r.s.client == "" {
		return w.r.s.id
	}
	return w.r.s.client
}

// put adds a run. It reports false if there are too many, in total or of its
// client, or if its session has ended.
func (l *waitList) put(r *run, q *inquiry) (ticket, bool) {
	var t ticket
	_, _ = rand.Read(t[:]) // it never fails
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiting{r: r, q: q}
	if len(l.waiting) >= l.most || l.clients[w.client()] >= l.each || r.s.ctx.Err() != nil {
		return t, false
	}
	l.clients[w.client()]++
	w.timer = time.AfterFunc(l.limit, func() { l.give(t) })
	l.waiting[t] = w
	return t, true
}

// take removes and returns a waiting run.
func (l *waitList) take(t ticket) *waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[t]
	if w != nil {
		l.drop(t, w)
	}
	return w
}

// drop removes a run. The caller holds the lock.
func (l *waitList) drop(t ticket, w *waiting) {
	w.timer.Stop()
	delete(l.waiting, t)
	if l.clients[w.client()]--; l.clients[w.client()] == 0 {
		delete(l.clients, w.client())
	}
}

// give cancels a run that is still waiting, and waits for its end.
func (l *waitList) give(t ticket) {
	w := l.take(t)
	if w == nil {
		return
	}
	w.r.cancel()
	<-w.r.done
	w.r.s.release()
}

// clear cancels the waiting runs of a session that ends; the session waits for
// them.
func (l *waitList) clear(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t, w := range l.waiting {
		if w.r.s == s {
			l.drop(t, w)
			w.r.cancel()
		}
	}
}

// wait answers a request with questions. The run continues with the next request,
// which brings their answers.
func (r *run) wait(x *exchange, q *inquiry) (sdk.Result, error) {
	r.host.leave()
	srv := r.s.srv
	t, ok := srv.waiting.put(r, q)
	if !ok {
		r.host.meet(x)
		q.refuse(fault.New(fault.NoApprover, "server.ask", "Too many calls wait for answers of this client, or of all clients.", "Answer those, or continue without an answer."))
		return r.await(x)
	}
	if x.ctx.Err() != nil { // the client will not receive the questions
		srv.waiting.give(t)
		return nil, errCancelled
	}
	state, open := srv.states.sign(t, time.Now().Add(srv.waiting.limit), x), q.open()
	switch x.method {
	case "resources/read":
		res := fresh[sdk.ReadResourceResult](true, true)
		res.InputRequests, res.RequestState, res.CacheScope = open, state, "private"
		return res, nil
	case "prompts/get":
		res := fresh[sdk.GetPromptResult](true, true)
		res.InputRequests, res.RequestState = open, state
		return res, nil
	}
	res := fresh[sdk.CallToolResult](true, true)
	res.Content = []sdk.Content{} // not null
	res.InputRequests, res.RequestState = open, state
	return res, nil
}

// resume continues the run that a request has answers for.
func (s *session) resume(x *exchange) (sdk.Result, error) {
	t, ok := s.srv.states.verify(x.state, x)
	if !ok {
		return nil, errState
	}
	w := s.srv.waiting.take(t)
	if w == nil {
		return nil, errState
	}
	w.q.answer(x.given)
	if !w.q.complete() {
		return w.r.wait(x, w.q)
	}
	w.r.host.meet(x)
	w.q.settled <- nil
	return w.r.await(x)
}
