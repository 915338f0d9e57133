package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// code: host
// host runs the prompts of one session for any number of connected clients. A client sends {"token":…} first, then
// {"type":"prompt","text":…}, {"type":"cancel"}, or the JSON of a bus.ToolConfirmationResponse. It receives the events
// of prompts, the questions, and {"type":"closed","correlationId":…,"reason":…} for each question that has ended.
type host struct {
	ctx    context.Context // ends all prompts
	bus    *bus.MessageBus
	client *agent.Client
	token  string

	mu     sync.Mutex
	queues map[chan []byte]context.CancelFunc // of the connected clients
	stop   context.CancelFunc                 // of the current prompt; nil: none
}

func newHost(ctx context.Context, session *config.Config, token string) (*host, error) {
	client, err := session.Client()
	if err != nil {
		return nil, err
	}
	b := session.MessageBus()
	// A question stays open while a subscriber could answer it: this one keeps it open for clients that reconnect.
	bus.Subscribe(ctx, b, func(context.Context, bus.ToolConfirmationRequest) {})
	return &host{ctx: ctx, bus: b, client: client, token: token, queues: map[chan []byte]context.CancelFunc{}}, nil
}

// ServeHTTP serves one client. Accept refuses web pages of other origins.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	if !h.knows(r.Context(), conn) {
		conn.Close(websocket.StatusPolicyViolation, "wrong token")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	queue := make(chan []byte, 256)
	h.mu.Lock()
	h.queues[queue] = cancel
	h.mu.Unlock()
	defer func() { h.mu.Lock(); delete(h.queues, queue); h.mu.Unlock() }()
	go write(ctx, cancel, conn, queue)

	// The bus delivers the questions that are already open first.
	bus.Subscribe(ctx, h.bus, func(asked context.Context, q bus.ToolConfirmationRequest) {
		text, err := bus.Marshal(q)
		if err != nil {
			return
		}
		h.send(text, queue)
		context.AfterFunc(asked, func() { h.send(closed(q, context.Cause(asked)), queue) })
	})
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if err := h.receive(text); err != nil {
			h.send(failure(err), queue)
		}
	}
}

// knows reports whether the first message of a client has the token.
func (h *host) knows(ctx context.Context, conn *websocket.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var hello struct{ Token string }
	_, text, err := conn.Read(ctx)
	return err == nil && json.Unmarshal(text, &hello) == nil && subtle.ConstantTimeCompare([]byte(hello.Token), []byte(h.token)) == 1
}

// write sends a client's messages. A client that takes none for ten seconds is disconnected.
func write(ctx context.Context, cancel context.CancelFunc, conn *websocket.Conn, queue <-chan []byte) {
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-queue:
			wctx, done := context.WithTimeout(ctx, 10*time.Second)
			err := conn.Write(wctx, websocket.MessageText, text)
			done()
			if err != nil {
				return
			}
		}
	}
}

// send queues a message for clients, and disconnects one that is too slow, so that no client delays the session.
func (h *host) send(text []byte, to ...chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for queue, disconnect := range h.queues {
		if len(to) > 0 && !slices.Contains(to, queue) {
			continue
		}
		select {
		case queue <- text:
		default:
			disconnect()
		}
	}
}

// receive acts on a message of a client.
func (h *host) receive(text []byte) error {
	var m struct{ Type, Text string }
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	switch m.Type {
	case "prompt":
		return h.prompt(m.Text)
	case "cancel":
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.stop != nil {
			h.stop()
		}
		return nil
	}
	answer, err := bus.Unmarshal(text)
	if err != nil {
		return err
	}
	if _, ok := answer.(bus.ToolConfirmationResponse); !ok {
		return errors.New("only answers are accepted")
	}
	return h.bus.Publish(answer) // an error for a question that another client has answered
}

// prompt starts a prompt, whose events go to all clients. It continues if its client leaves.
func (h *host) prompt(text string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil {
		return errors.New("a prompt is running")
	}
	ctx, stop := context.WithCancel(h.ctx)
	h.stop = stop
	go func() {
		for e := range h.client.Run(ctx, model.TextPart(text)) {
			if e.Type.Ends() {
				stop()
				h.mu.Lock()
				h.stop = nil
				h.mu.Unlock()
			}
			e.Time = time.Now()
			if line, err := json.Marshal(e); err == nil {
				h.send(line)
			}
		}
	}()
	return nil
}

// closed is the message that a question has ended: it was answered, or its call has ended.
func closed(q bus.ToolConfirmationRequest, cause error) []byte {
	text, _ := json.Marshal(map[string]string{"type": "closed", "correlationId": q.CorrelationID, "reason": cause.Error()})
	return text
}

// failure is the form of errors in the events of a prompt.
func failure(err error) []byte {
	e := agent.Event{Type: agent.EventWarning, Time: time.Now(), Text: fault.Line(err)}
	text, _ := json.Marshal(e)
	return text
}

// code: end
