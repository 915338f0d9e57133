package tools

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Host is who a call is made for, as far as a tool may turn to him while it
// runs. A tool gets it by [HostOf]; whoever makes calls puts it in by
// [WithHost]. It is safe for concurrent use, until Execute has returned.
type Host interface {
	// Progress tells how far the call is. It never blocks for long.
	Progress(p Progress)
	// Log sends a message for people who look into what goes on.
	Log(e LogEntry)
	// Ask puts questions to the host, all at once, and waits for all answers,
	// which are in the order of the questions. The error is a *fault.Error of code
	// nobody_to_ask where the host cannot answer one of them, denied_by_user where
	// its answer cannot be used, which is no consent, or cancelled.
	Ask(ctx context.Context, questions ...Question) ([]Reply, error)
}

// Parting is a [Host] that may be sent away while a call runs, and comes back
// for its result: a client over HTTP that is not to keep a connection open.
type Parting interface {
	Host
	// Part ends the connection that the answer would come over, and asks the host to
	// come back after that time. The call goes on. It reports whether that was
	// possible: not where the host could not take the connection up again.
	Part(after time.Duration) bool
}

// Progress is how far a call is.
type Progress struct {
	Done    float64 `json:"progress"`          // grows from one to the next
	Total   float64 `json:"total,omitempty"`   // what Done will be in the end; 0: unknown
	Message string  `json:"message,omitempty"` // what is being done, for people
}

// LogEntry is one message of a log.
type LogEntry struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitempty"` // the part that speaks
	Data   json.RawMessage `json:"data"`             // any JSON
}

// LogLevel is a level of RFC 5424.
type LogLevel string

// The levels, from the least.
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

// Question is one thing that a tool asks of its host: exactly one of the fields
// is set.
type Question struct {
	// Key names the question, so that a host which is asked again can tell that it
	// has answered; unique among those that are put at once. "": any name.
	Key string
	// Fresh says that an answer counts only if it was given after the question was
	// put: not one that a host sends along with its call, as it may have given it
	// to an earlier one. Consent is asked for so.
	Fresh bool

	Elicit *Elicitation   // something of the person
	Sample *Sampling      // something of the host's model
	Roots  *RootsQuestion // which directories are worked in
}

// Reply answers a [Question]: the field of the same name is set.
type Reply struct {
	Elicit *Elicited
	Sample *Sampled
	Roots  []Root
}

// Elicitation asks the person for input.
type Elicitation struct {
	Message string `json:"message"`
	// Schema is a JSON schema of type object with properties that are strings,
	// numbers, booleans or choices (enum, oneOf, or an array of these), of MCP's
	// restricted kind. Its defaults stand for what the person leaves out. nil: only
	// a yes or no is wanted.
	Schema json.RawMessage `json:"requestedSchema,omitempty"`
	// URL, where it is not "", is a page that the person is to visit instead; there
	// is no Schema then.
	URL string `json:"url,omitempty"`
	ID  string `json:"elicitationId,omitempty"` // of a URL; unique
}

// Elicited is the person's input.
type Elicited struct {
	Action  ElicitAction    `json:"action"`
	Content json.RawMessage `json:"content,omitempty"` // an object that fits the schema; nil unless accepted
}

// ElicitAction says what the person did.
type ElicitAction string

// The actions.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // no was said
	ElicitCancel  ElicitAction = "cancel"  // it was left unanswered
)

// Sampling asks the host's model to go on with a conversation.
type Sampling struct {
	SystemPrompt string
	Messages     []Message
	MaxTokens    int // required
}

// Message is one message of a conversation.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// Role is who speaks.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Sampled is what the model said.
type Sampled struct {
	Message
	Model      string
	StopReason string // as "endTurn"; "" if unknown
}

// RootsQuestion asks which directories the host works in.
type RootsQuestion struct{}

// Root is one of the host's directories.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

type hostKey struct{}

// WithHost returns a ctx whose calls have h as their host; nil: nobody.
func WithHost(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// HostOf returns the host of the call that ctx belongs to. It is never nil:
// where nobody has put one in it drops what it is told, and Ask is refused with
// the code nobody_to_ask.
func HostOf(ctx context.Context) Host {
	if h, ok := ctx.Value(hostKey{}).(Host); ok && h != nil {
		return h
	}
	return nobody{}
}

// HostUntil returns a ctx with the host of ctx, which serves until end is called:
// what it is told after that is dropped, and what it is asked refused with the code
// cancelled. A question that is still open then is given up in the same way. end
// waits for what the host is being told, not for questions. It may be called more
// than once. Whoever runs tools keeps late calls from a host by it.
func HostUntil(ctx context.Context) (within context.Context, end func()) {
	h, ok := ctx.Value(hostKey{}).(Host)
	if !ok || h == nil {
		return ctx, func() {}
	}
	g := &guarded{host: h, asking: make(map[int]context.CancelFunc)}
	return WithHost(ctx, g), g.close
}

// guarded is a host that serves for a time.
type guarded struct {
	host Host

	mu     sync.RWMutex // held to read while the host is told something
	over   bool
	asked  int                        // how often it was asked
	asking map[int]context.CancelFunc // what gives up each question that is open
}

func (g *guarded) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	for _, giveUp := range g.asking {
		giveUp()
	}
}

// tell tells the host something, unless it is too late.
func (g *guarded) tell(something func()) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.over {
		something()
	}
}

func (g *guarded) Progress(p Progress) { g.tell(func() { g.host.Progress(p) }) }

func (g *guarded) Log(e LogEntry) { g.tell(func() { g.host.Log(e) }) }

// Part sends the host away, where it can be.
func (g *guarded) Part(after time.Duration) (gone bool) {
	g.tell(func() {
		if h, ok := g.host.(Parting); ok {
			gone = h.Part(after)
		}
	})
	return gone
}

func (g *guarded) Ask(ctx context.Context, questions ...Question) ([]Reply, error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		return nil, askedLate()
	}
	id := g.asked
	g.asked++
	g.asking[id] = giveUp
	g.mu.Unlock()
	replies, err := g.host.Ask(ctx, questions...)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asking, id)
	if g.over {
		return nil, askedLate()
	}
	return replies, err
}

func askedLate() *fault.Error {
	return fault.New(fault.Cancelled, "tools.ask", "The call has ended, so nobody answers its questions any more.",
		"Ask before the tool returns.")
}

// nobody is the host of calls that have none.
type nobody struct{}

func (nobody) Progress(Progress) {}

func (nobody) Log(LogEntry) {}

func (nobody) Ask(context.Context, ...Question) ([]Reply, error) {
	return nil, fault.New(fault.NoApprover, "tools.ask", "The call is made for nobody who could answer questions.", "Go on without an answer, or call the tool where somebody can give one.")
}
