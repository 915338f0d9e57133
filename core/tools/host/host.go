// Package host connects a running tool to the requester of its call, such as an MCP client: for progress, log messages
// and questions.
package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Host is the requester of a call, such as an MCP client, as far as a tool can reach it while the call runs. A tool gets
// it with [FromContext]; the caller sets it with [NewContext]. It is safe for concurrent use until Execute has returned.
type Host interface {
	// Progress reports the progress of the call. It never blocks for long.
	Progress(p Progress)
	// Log sends a log message to the host.
	Log(e LogEntry)
	// Ask sends questions to the host and waits for all replies, which are in the order of the questions. The error is a
	// *fault.Error with code nobody_to_ask if the host cannot answer a question, denied_by_user if a reply is invalid
	// and therefore no consent, or cancelled.
	Ask(ctx context.Context, questions ...Question) ([]Reply, error)
}

// DisconnectingHost is a [Host] that can disconnect while a call runs and reconnect for the result, such as an HTTP client that
// should not keep a connection open.
type DisconnectingHost interface {
	Host
	// Disconnect ends the connection of the response and asks the host to reconnect after the given time. The call continues.
	// It reports false if the host cannot reconnect.
	Disconnect(after time.Duration) bool
}

// Progress is the progress of a call.
type Progress struct {
	Done    float64 `json:"progress"`          // increases with each report
	Total   float64 `json:"total,omitempty"`   // final value of Done; 0: unknown
	Message string  `json:"message,omitempty"` // current step, for the user
}

// LogEntry is a log message.
type LogEntry struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitempty"` // name of the logger
	Data   json.RawMessage `json:"data"`             // any JSON
}

// LogLevel is a level of RFC 5424.
type LogLevel string

// The levels, in ascending order.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

// Question is a question to the host: exactly one of Elicit, Sample and Roots is set.
type Question struct {
	// Key identifies the question, so that a host can match a repeated question to its reply; unique within a call of
	// Ask. "": generated.
	Key string
	// Fresh requires a reply that was given after the question was asked. A reply that the host sent along with the call
	// is not accepted, because it may answer an earlier question. Consent requires it.
	Fresh bool

	Elicit *Elicitation   // input from the user
	Sample *Sampling      // a completion from the host's model
	Roots  *RootsQuestion // the directories of the host
}

// Reply is the reply to a [Question]: the field of the same name is set.
type Reply struct {
	Elicit *Elicited
	Sample *Sampled
	Roots  []Root
}

// Elicitation requests input from the user.
type Elicitation struct {
	Message string `json:"message"`
	// Schema is a JSON schema of type object in MCP's restricted form: its properties are strings, numbers, booleans or
	// choices (enum, oneOf, or an array of these). Its defaults apply to omitted values. nil: only approval is
	// requested.
	Schema json.RawMessage `json:"requestedSchema,omitempty"`
	// URL is a page that the user should visit instead; Schema is then nil. "": none.
	URL string `json:"url,omitempty"`
	ID  string `json:"elicitationId,omitempty"` // of a URL; unique
}

// Elicited is the user's input.
type Elicited struct {
	Action  ElicitAction    `json:"action"`
	Content json.RawMessage `json:"content,omitempty"` // an object that matches the schema; nil unless accepted
}

// ElicitAction is the user's reaction.
type ElicitAction string

// The actions.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // the user declined
	ElicitCancel  ElicitAction = "cancel"  // the user dismissed it
)

// Sampling requests a completion of a conversation from the host's model.
type Sampling struct {
	SystemPrompt string
	Messages     []Message
	MaxTokens    int // required
}

// Message is one message of a conversation.
type Message struct {
	Role    Role          `json:"role"`
	Content tools.Content `json:"content"`
}

// Role is the author of a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Sampled is a completion by the host's model.
type Sampled struct {
	Message
	Model      string
	StopReason string // such as "endTurn"; "" if unknown
}

// RootsQuestion requests the root directories of the host.
type RootsQuestion struct{}

// Root is a root directory of the host.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

type hostKey struct{}

// NewContext returns a ctx whose calls have h as their host; nil: none.
func NewContext(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// FromContext returns the host of the call that ctx belongs to. It is never nil: without a host it returns one that discards
// progress and log messages and whose Ask fails with code nobody_to_ask.
func FromContext(ctx context.Context) Host {
	if h, ok := ctx.Value(hostKey{}).(Host); ok && h != nil {
		return h
	}
	return noHost{}
}

// Detachable returns a ctx with the host of ctx, and a function that detaches it. After end, progress and log messages
// are discarded, and Ask fails with code cancelled; open questions end in the same way. end waits for progress and log
// messages in flight, not for questions. It may be called more than once. The scheduler uses it to keep late messages
// from a host.
func Detachable(ctx context.Context) (within context.Context, end func()) {
	h, ok := ctx.Value(hostKey{}).(Host)
	if !ok || h == nil {
		return ctx, func() {}
	}
	g := &guarded{host: h, pending: make(map[int]context.CancelFunc)}
	return NewContext(ctx, g), g.close
}

// guarded is a host that can be detached.
type guarded struct {
	host Host

	mu      sync.RWMutex // read-locked while a message is sent to the host
	over    bool
	asked   int                        // number of questions so far
	pending map[int]context.CancelFunc // cancels each open question
}

func (g *guarded) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	for _, cancel := range g.pending {
		cancel()
	}
}

// attached calls f unless the host is detached.
func (g *guarded) attached(f func()) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.over {
		f()
	}
}

func (g *guarded) Progress(p Progress) { g.attached(func() { g.host.Progress(p) }) }

func (g *guarded) Log(e LogEntry) { g.attached(func() { g.host.Log(e) }) }

// Disconnect disconnects the host if it supports that.
func (g *guarded) Disconnect(after time.Duration) (disconnected bool) {
	g.attached(func() {
		if h, ok := g.host.(DisconnectingHost); ok {
			disconnected = h.Disconnect(after)
		}
	})
	return disconnected
}

func (g *guarded) Ask(ctx context.Context, questions ...Question) ([]Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		return nil, askedLate()
	}
	id := g.asked
	g.asked++
	g.pending[id] = cancel
	g.mu.Unlock()
	replies, err := g.host.Ask(ctx, questions...)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, id)
	if g.over {
		return nil, askedLate()
	}
	return replies, err
}

func askedLate() *fault.Error {
	return fault.New(fault.Cancelled, "tools.ask", "The call has ended, so its questions cannot be answered.",
		"Ask before the tool returns.")
}

// noHost is the host of calls without one.
type noHost struct{}

func (noHost) Progress(Progress) {}

func (noHost) Log(LogEntry) {}

func (noHost) Ask(context.Context, ...Question) ([]Reply, error) {
	return nil, fault.New(fault.NoApprover, "tools.ask", "The call has no host that can answer questions.", "Continue without an answer, or call the tool from a client that can answer.")
}
