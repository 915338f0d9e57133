package natsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fettle-dev/fettle/core/bus"
)

// WatchOptions configure [Watch]. The functions are called one at a time for each kind of message,
// and may be nil.
type WatchOptions struct {
	Prefix  string // of all subjects; "": [DefaultPrefix]
	Session string // the session to watch; "": all
	// Actor is the name of this front end in answers. A server with permissions accepts only the
	// user's own. "": this front end cannot answer.
	Actor    string
	Event    func(Event)
	Question func(*Question) // once for each question
	Settled  func(Settled)   // once for each end of a question that was shown
	// Queue is the maximum number of events that wait for Event; later ones are dropped and
	// counted. 0: 4096.
	Queue int
}

// Event is an event of a session.
type Event struct {
	Session string
	Seq     uint64 // number of the event in its session
	Missed  uint64 // number of events of the session that were lost just before this one
	Message bus.Message
}

// Settled is the end of a question.
type Settled struct {
	Session, ID string
	Actor       string // who answered; "": a front end of the session's own process, or no answer
	Err         error  // such as [bus.ErrAnswered]
}

// Question is an open question as it was received.
type Question struct {
	Session, ID string
	Digest      string      // see [Digest]
	Expires     time.Time   // zero: it has no limit
	Message     bus.Message // a [bus.ToolConfirmationRequest] or a [bus.AskUserRequest]
	viewer      *Viewer
}

// Answer sends an answer, and returns once the session has accepted or refused it. The error is
// [bus.ErrAnswered], [bus.ErrWithdrawn], [bus.ErrUnknownQuestion], [ErrDigest], [ErrOutcome], [ErrRefused],
// [ErrVersion], [ErrGone] or that of ctx.
func (q *Question) Answer(ctx context.Context, a bus.Answer) error {
	v := q.viewer
	if v.o.Actor == "" {
		return fmt.Errorf("%w: this front end has no Actor", bus.ErrInvalid)
	}
	return SendAnswer(ctx, v.nc, v.o.Prefix, v.o.Actor, q.Session, q.Digest, a)
}

// SendAnswer sends an answer to the question with a digest, as [Question.Answer] does.
func SendAnswer(ctx context.Context, nc *nats.Conn, prefix, actor, session, digest string, a bus.Answer) error {
	if err := errors.Join(CheckToken(actor), CheckSession(session)); err != nil {
		return err
	}
	data, err := bus.Marshal(a)
	if err != nil {
		return err
	}
	m := message(cmp.Or(prefix, DefaultPrefix)+".answer."+session+"."+actor, session, data)
	m.Header.Set(headerDigest, digest)
	reply, err := nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return ErrGone
	case err != nil:
		return fmt.Errorf("natsbus: send the answer: %w", err)
	case reply.Header.Get(headerVersion) != Version:
		return ErrVersion
	}
	if code := reply.Header.Get(headerError); code != "" {
		return errorOf(code)
	}
	return nil
}

// Viewer is a front end's connection to sessions. It is safe for concurrent use.
type Viewer struct {
	nc      *nats.Conn
	o       WatchOptions
	subs    []*nats.Subscription
	stop    context.CancelFunc
	waiting sync.WaitGroup

	mu      sync.Mutex
	seqs    map[string]uint64           // last number by session
	shown   map[string]map[string]asked // open questions, by session and id
	missed  uint64
	refused uint64
}

// asked is a question that was shown.
type asked struct {
	digest  string
	expires time.Time
}

// rememberedSessions is the number of sessions beyond which the gap before the next event of each
// is not counted, and questions whose time is over are forgotten.
const rememberedSessions = 50_000

// Watch receives the events and questions of sessions until [Viewer.Close] or the end of ctx. The
// open questions are received first. The connection remains the caller's.
func Watch(ctx context.Context, nc *nats.Conn, o WatchOptions) (*Viewer, error) {
	o.Prefix, o.Queue = cmp.Or(o.Prefix, DefaultPrefix), cmp.Or(o.Queue, 4096)
	session := ">"
	if o.Session != "" {
		if err := CheckSession(o.Session); err != nil {
			return nil, err
		}
		session = o.Session
	}
	ctx, cancel := context.WithCancel(ctx)
	v := &Viewer{nc: nc, o: o, stop: cancel, seqs: map[string]uint64{}, shown: map[string]map[string]asked{}}
	handlers := map[string]nats.MsgHandler{}
	if o.Event != nil {
		handlers["event"] = v.event
	}
	if o.Question != nil || o.Settled != nil {
		handlers["ask"] = v.ask
	}
	for kind, handle := range handlers {
		sub, err := nc.Subscribe(o.Prefix+"."+kind+"."+session, handle)
		if err == nil && kind == "event" {
			err = sub.SetPendingLimits(o.Queue, -1)
		}
		if err != nil {
			cancel()
			return nil, errors.Join(err, v.unsubscribe())
		}
		v.subs = append(v.subs, sub)
	}
	v.hello()
	v.waiting.Go(func() { onReconnect(ctx, nc, v.hello) })
	return v, nil
}

// hello asks the sessions for their open questions.
func (v *Viewer) hello() { _ = v.nc.PublishMsg(message(v.o.Prefix+".hello", "", nil)) }

// Close ends the viewer. It does not wait for a running function of the options.
func (v *Viewer) Close() error {
	v.stop()
	v.waiting.Wait()
	return v.unsubscribe()
}

func (v *Viewer) unsubscribe() error { return (&Bridge{subs: v.subs}).unsubscribe() }

// Missed returns the number of events that this front end lost: those that a session could not
// send, and those that arrived faster than Event returned.
func (v *Viewer) Missed() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.missed
}

// Refused returns the number of messages that were ignored because they have another version or an
// invalid form.
func (v *Viewer) Refused() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.refused
}

func (v *Viewer) refuse() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refused++
}

// sessionOf returns the session of a message. The subject decides: it is what the server checks.
func (v *Viewer) sessionOf(m *nats.Msg) (string, bool) {
	_, session, _ := strings.Cut(strings.TrimPrefix(m.Subject, v.o.Prefix+"."), ".") // after event or ask
	return session, m.Header.Get(headerVersion) == Version && m.Header.Get(headerSession) == session && !fromStream(m)
}

func (v *Viewer) event(m *nats.Msg) {
	session, ok := v.sessionOf(m)
	seq, err := strconv.ParseUint(m.Header.Get(headerSeq), 10, 64)
	decoded, notDecoded := bus.Unmarshal(m.Data)
	if !ok || err != nil || notDecoded != nil {
		v.refuse()
		return
	}
	e := Event{Session: session, Seq: seq, Message: decoded}
	v.mu.Lock()
	if last := v.seqs[session]; last > 0 && seq > last+1 {
		e.Missed = seq - last - 1
		v.missed += e.Missed
	}
	if len(v.seqs) >= rememberedSessions {
		clear(v.seqs)
	}
	v.seqs[session] = seq
	v.mu.Unlock()
	v.o.Event(e)
}

func (v *Viewer) ask(m *nats.Msg) {
	session, ok := v.sessionOf(m)
	id, kind := m.Header.Get(headerID), m.Header.Get(headerKind)
	if !ok || id == "" && kind != kindStarted {
		v.refuse()
		return
	}
	switch kind {
	case kindStarted:
		v.mu.Lock()
		gone := v.shown[session]
		delete(v.shown, session)
		v.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(gone)) {
			if v.o.Settled != nil {
				v.o.Settled(Settled{Session: session, ID: id, Err: ErrGone})
			}
		}
	case kindSettled:
		v.mu.Lock()
		_, known := v.shown[session][id]
		delete(v.shown[session], id)
		if len(v.shown[session]) == 0 {
			delete(v.shown, session)
		}
		v.mu.Unlock()
		if known && v.o.Settled != nil {
			v.o.Settled(Settled{Session: session, ID: id, Actor: m.Header.Get(headerActor), Err: errorOf(m.Header.Get(headerReason))})
		}
	case kindQuestion:
		decoded, err := bus.Unmarshal(m.Data)
		if err != nil || correlation(decoded) != id {
			v.refuse()
			return
		}
		digest := Digest(session, m.Data)
		expires, _ := time.Parse(time.RFC3339, m.Header.Get(headerExpires)) // zero without a limit
		if v.knows(session, id, asked{digest, expires}) || v.o.Question == nil {
			return
		}
		v.o.Question(&Question{Session: session, ID: id, Digest: digest, Expires: expires, Message: decoded, viewer: v})
	default:
		v.refuse()
	}
}

// knows reports whether a question was shown, and remembers it.
func (v *Viewer) knows(session, id string, q asked) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown[session] == nil {
		if len(v.shown) >= rememberedSessions {
			v.forget(time.Now())
		}
		v.shown[session] = map[string]asked{}
	}
	known := v.shown[session][id].digest == q.digest
	v.shown[session][id] = q
	return known
}

// forget removes the questions whose time is over: their sessions have ended without a message.
// v.mu is held.
func (v *Viewer) forget(now time.Time) {
	for session, all := range v.shown {
		maps.DeleteFunc(all, func(_ string, q asked) bool { return !q.expires.IsZero() && now.After(q.expires) })
		if len(all) == 0 {
			delete(v.shown, session)
		}
	}
}

// correlation returns the id of a question; "" for another message.
func correlation(m bus.Message) string {
	if q, ok := m.(interface{ Correlation() string }); ok {
		return q.Correlation()
	}
	return ""
}
