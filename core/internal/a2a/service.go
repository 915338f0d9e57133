// Package a2a calls remote agents over the A2A protocol, version 0.3: JSON-RPC and server-sent
// events over HTTP.
package a2a

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Options configures a [Service]. A zero field is its default.
type Options struct {
	// Getenv resolves $NAME in authentication. nil: no variable is set.
	Getenv func(name string) string
	// Run returns the output of a command, for "!COMMAND" in authentication; a final line break is
	// dropped. nil: commands are not allowed. It is called only for the user's own agents.
	Run func(ctx context.Context, command string) (string, error)
	// Private reports whether an agent may have a private or loopback address, or one of the local
	// network. nil: agents of the user and of the embedder may, since they are added knowingly;
	// those of a project or an extension may not.
	Private func(d *subagent.Definition) bool
	// Proxy is the proxy for agents that may have private addresses. Other agents are called
	// without a proxy, because their addresses could not be checked. nil: that of the environment.
	Proxy func(*http.Request) (*url.URL, error)

	Bus       *bus.MessageBus // receives the activities of agents; nil: none
	Timeout   time.Duration   // of one call; 0: 30 min
	Poll      time.Duration   // first delay between polls of a task; 0: 1 s, growing to 10 s
	MaxReport int             // limit of an answer in bytes; 0: 64 KiB
	Logger    *slog.Logger    // nil: nothing is logged
}

// Service calls remote agents. It caches the card of each agent. It is safe for concurrent use. The
// owner must close it.
type Service struct {
	o             Options
	open, guarded *http.Transport

	mu     sync.Mutex
	agents map[string]*remote // by name
}

// New returns a service.
func New(o Options) *Service {
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Minute)
	o.Poll = cmp.Or(max(o.Poll, 0), time.Second)
	o.MaxReport = cmp.Or(max(o.MaxReport, 0), 64<<10)
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Private == nil {
		o.Private = func(d *subagent.Definition) bool {
			return d.Source.Scope != subagent.ScopeProject && d.Source.Scope != subagent.ScopeExtension
		}
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Service{o: o, open: newTransport(o.Proxy, false), guarded: newTransport(nil, true), agents: make(map[string]*remote)}
}

// Close closes idle connections. Running calls continue.
func (s *Service) Close() error {
	s.open.CloseIdleConnections()
	s.guarded.CloseIdleConnections()
	return nil
}

// Tool returns the tool that calls a remote agent. Its description is that of the definition,
// followed by that of the agent's card if the card is known: it is part of the definition, or
// [Service.Card] was called. The kind of the tool requires approval. The error is of code
// invalid_config. Tool does no I/O.
//
// Each tool has its own thread with the agent. A call continues the thread of the previous call, so
// the calls of a tool run one after the other; give each session its own tool. conversation returns
// the ID of the current conversation; when it changes, the tool begins a new thread. nil: it never
// changes.
func (s *Service) Tool(d subagent.Definition, conversation func() string) (subagent.AgentTool, error) {
	r, err := s.remote(d)
	if err != nil {
		return nil, err
	}
	if conversation == nil {
		conversation = func() string { return "" }
	}
	return newTool(&party{remote: r, conversation: conversation, turn: make(chan struct{}, 1)})
}

// Card fetches an agent's card, once, and returns the description of the agent and of its skills.
// It sends authentication if the server requires it.
func (s *Service) Card(ctx context.Context, d subagent.Definition) (string, error) {
	r, err := s.remote(d)
	if err != nil {
		return "", err
	}
	if _, err := r.fetchCard(ctx); err != nil {
		return "", err
	}
	return r.described(), nil
}

// remote returns the agent of a definition; equal definitions share one.
func (s *Service) remote(d subagent.Definition) (*remote, error) {
	fresh, err := newRemote(s, d)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.agents[d.Name]; known != nil && reflect.DeepEqual(known.d, fresh.d) {
		return known, nil
	}
	s.agents[d.Name] = fresh
	return fresh, nil
}

// remote is one agent, shared by all tools that call it.
type remote struct {
	service *Service
	d       subagent.Definition
	private bool

	mu   sync.Mutex
	card *card // nil: not fetched yet
}

// party is a tool's side of the thread with an agent.
type party struct {
	*remote
	conversation func() string
	turn         chan struct{} // holds one token; its owner may call the agent and guards the fields below

	in     string // the conversation of the thread
	thread thread
}

// thread is the position in the thread with an agent.
type thread struct {
	context string // "": none yet
	task    string // "": no open task
}

func newRemote(s *Service, d subagent.Definition) (*remote, error) {
	r := &remote{service: s, d: d, private: s.o.Private(&d)}
	switch {
	case !d.IsRemote() || d.Remote == nil:
		return nil, invalidDefinition(d, "it is not remote")
	case (d.Remote.CardURL == "") == (d.Remote.CardJSON == ""):
		return nil, invalidDefinition(d, "it needs either the URL of a card or a card")
	case d.Remote.CardURL != "":
		if _, err := parseURL(d.Remote.CardURL); err != nil {
			return nil, invalidDefinition(d, "the URL of its card "+err.Error())
		}
	default:
		c, err := readCard([]byte(d.Remote.CardJSON))
		if err == nil {
			_, err = c.endpoint(nil)
		}
		if err != nil {
			return nil, invalidDefinition(d, "its card "+err.Error())
		}
		r.card = c
	}
	return r, nil
}

func invalidDefinition(d subagent.Definition, because string) *fault.Error {
	return fault.New(fault.InvalidConfig, "a2a.define", fmt.Sprintf("The remote agent %s cannot be used: %s.", escape.Quote(escape.Clip(escape.OneLine(d.Name), 60)), because),
		"Correct the agent's definition.")
}

func (r *remote) known() *card {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.card
}

// begin waits for the token and returns a function that releases it. It starts a new thread if the
// conversation has changed.
func (p *party) begin(ctx context.Context) (func(), error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if in := p.conversation(); in != p.in {
		p.in, p.thread = in, thread{}
	}
	return func() { <-p.turn }, nil
}

// fail returns the error of a call of the agent.
func (r *remote) fail(message, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.AgentFailed, "a2a.call", fmt.Sprintf("The remote agent %s %s.", r.d.Name, message), remedy, cause)
}
