// Package a2a calls agents at other servers by the A2A protocol, version 0.3:
// JSON-RPC and server-sent events over HTTP.
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

// Options are the parts of a [Service]. A zero field is its default.
type Options struct {
	// Getenv resolves $NAME in authentication. nil: there are no variables.
	Getenv func(name string) string
	// Run returns what a command prints, for "!COMMAND" in authentication, of
	// which a line break at its end is dropped. nil: there are no commands. It is
	// called for the user's own agents alone.
	Run func(ctx context.Context, command string) (string, error)
	// Private reports whether an agent may be at a private or loopback address,
	// or one of the local network. nil: those of the user and of the embedder may,
	// as they were written knowingly; those of a project or an extension may not.
	Private func(d *subagent.Definition) bool
	// Proxy is that of agents that may be at private addresses; the others are
	// reached without, as their addresses could not be told. nil: that of the
	// environment.
	Proxy func(*http.Request) (*url.URL, error)

	Bus       *bus.MessageBus // is told what agents do; nil: nobody is
	Timeout   time.Duration   // of one call; 0: 30 min
	Poll      time.Duration   // first wait where a task has to be asked for; 0: 1 s, growing to 10 s
	MaxReport int             // bytes of an answer that the caller is told; 0: 64 KiB
	Logger    *slog.Logger    // nil: nothing is logged
}

// Service calls remote agents. It keeps each agent's card. It is safe for
// concurrent use. Close it at the end.
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

// Close frees the connections that are kept. Calls that are under way go on.
func (s *Service) Close() error {
	s.open.CloseIdleConnections()
	s.guarded.CloseIdleConnections()
	return nil
}

// Tool returns the tool that calls a remote agent. Its description is that of
// the definition, with what the agent's card says where that is known: it is
// part of the definition, or [Service.Card] has been called. The tool's kind is
// one that is asked about. The error is of code invalid_config. It does no I/O.
//
// Each tool talks with the agent in a thread of its own, in which a call goes on
// where the one before has ended, so that its calls follow one another; give each
// session its own tool. conversation names the conversation that a call is part
// of: where that is another than before, the tool begins a new thread. nil: it is
// always the same.
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

// Card fetches an agent's card, once, and returns what it says of the agent: its
// description and its skills. It sends authentication if the server asks for it.
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

// remote returns the agent of a definition, the same for each that is equal.
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

// remote is one agent, as all tools that call it share it.
type remote struct {
	service *Service
	d       subagent.Definition
	private bool

	mu   sync.Mutex
	card *card // nil: not fetched yet
}

// party is who talks with an agent.
type party struct {
	*remote
	conversation func() string
	turn         chan struct{} // holds one: who has it may call the agent, and has what follows

	in     string // the conversation that the thread belongs to
	thread thread
}

// thread is where the conversation with an agent stands.
type thread struct {
	context string // "": none yet
	task    string // "": none that is open
}

func newRemote(s *Service, d subagent.Definition) (*remote, error) {
	r := &remote{service: s, d: d, private: s.o.Private(&d)}
	switch {
	case !d.IsRemote() || d.Remote == nil:
		return nil, unusable(d, "it is not remote")
	case (d.Remote.CardURL == "") == (d.Remote.CardJSON == ""):
		return nil, unusable(d, "it needs either the URL of a card or a card")
	case d.Remote.CardURL != "":
		if _, err := parseURL(d.Remote.CardURL); err != nil {
			return nil, unusable(d, "the URL of its card "+err.Error())
		}
	default:
		c, err := readCard([]byte(d.Remote.CardJSON))
		if err == nil {
			_, err = c.endpoint(nil)
		}
		if err != nil {
			return nil, unusable(d, "its card "+err.Error())
		}
		r.card = c
	}
	return r, nil
}

func unusable(d subagent.Definition, because string) *fault.Error {
	return fault.New(fault.InvalidConfig, "a2a.define", fmt.Sprintf("The remote agent %s cannot be used: %s.", escape.Quote(escape.Clip(escape.OneLine(d.Name), 60)), because),
		"Correct the agent's definition.")
}

func (r *remote) known() *card {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.card
}

// begin waits for the turn to call the agent, and takes up the thread of the
// conversation; the function that it returns gives the turn back.
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

// fail is an error about a call of the agent.
func (r *remote) fail(message, remedy string, cause error) *fault.Error {
	return fault.Wrap(fault.AgentFailed, "a2a.call", fmt.Sprintf("The remote agent %s %s.", r.d.Name, message), remedy, cause)
}
