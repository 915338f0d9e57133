package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Options are the parts of a [Manager]. Dialer is required.
type Options struct {
	Dialer Dialer
	// Servers are those to connect to. Of two of one name the first counts.
	Servers []Configured
	// Elicit asks the person what a server wants to know. nil: nobody can be asked,
	// and servers are told so. Of one server it is called only while that is connected,
	// and not again before it has returned. ctx ends after ten minutes; the text is of
	// 4 KiB at most, the schema of 64. Meanwhile the time of the requests that ran
	// before stands still, half an hour at most.
	Elicit func(ctx context.Context, server string, e tools.Elicitation) (tools.Elicited, error)
	Roots  func() []string // the session's directories; nil: servers are not told
	// Changed is told which server's tools, resources, prompts or status are
	// others now. Calls follow one another; it must not wait for the Manager.
	Changed func(server string)
	Logger  *slog.Logger // nil: nothing is logged

	// MaxText and MaxData are how much of one answer of a server a model gets: so
	// many bytes of text, and so many of images and other data. Zero: 256 KiB and
	// 10 MiB. What is left out is told.
	MaxText, MaxData int
}

func (o Options) withDefaults() Options {
	o.MaxText = cmp.Or(o.MaxText, 256<<10)
	o.MaxData = cmp.Or(o.MaxData, 10<<20)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Configured is a server of the settings. One with Blocked or Disabled is listed
// and not started.
type Configured struct {
	ServerSpec
	Blocked error // why it may not start; nil: it may
	// Disabled says that it is not to start by itself, as a person wants it; for
	// embedders, and sessions that let people choose. [Manager.Restart] starts it.
	Disabled bool
}

// Manager keeps a session's servers connected and makes tools, resources and
// prompts of what they offer (EX-16). It is safe for concurrent use. Close it at
// the end.
//
// A connection that is lost is made again, however often: after about a second,
// and after twice as long each time that it does not last, up to a minute. A
// server that was never connected is tried four times. What only a person can
// mend is not tried again: a sign-in that is due, or before the first connection a
// program that there is not. [Manager.Restart] begins anew.
type Manager struct {
	o Options

	known   sync.RWMutex       // protects what follows; taken after mu
	servers map[string]*server // by name
	names   []string           // of servers, sorted

	telling sync.Mutex // held while Options.Changed runs

	mu      sync.Mutex
	started map[string]bool // the servers that Start has begun to connect
	closed  bool
	ctx     context.Context    // of all goroutines; nil before Start
	cancel  context.CancelFunc // ends it; nil before Start
	running sync.WaitGroup     // all goroutines
}

// NewManager returns a Manager. It starts nothing.
func NewManager(o Options) *Manager {
	m := &Manager{o: o.withDefaults(), servers: make(map[string]*server, len(o.Servers)), started: make(map[string]bool)}
	m.Add(o.Servers...)
	return m
}

// all returns the servers, by name.
func (m *Manager) all() []*server {
	m.known.RLock()
	defer m.known.RUnlock()
	list := make([]*server, len(m.names))
	for i, name := range m.names {
		list[i] = m.servers[name]
	}
	return list
}

// Start begins to connect the named servers, or all where none is named, side by
// side, and returns at once; those that it has begun with before, and names of none,
// it passes over. The ctx of the first call ends what all of them started, as Close
// does.
func (m *Manager) Start(ctx context.Context, names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	if m.ctx == nil {
		m.ctx, m.cancel = context.WithCancel(ctx)
	}
	for _, s := range m.chosen(names) {
		if s.never == nil && !m.started[s.Name] {
			m.started[s.Name] = true
			life, end := context.WithCancel(m.ctx)
			s.cancel = end
			m.running.Go(func() { defer end(); s.supervise(life) })
		}
	}
}

// Settled waits until each of the named servers, or of all where none is named,
// is connected or has failed once, or ctx ends, and reports which it was.
// Options.Changed has been told by then. A server that was not started is waited
// for too.
func (m *Manager) Settled(ctx context.Context, names ...string) bool {
	for _, s := range m.chosen(names) {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// chosen returns the named servers, or all for none.
func (m *Manager) chosen(names []string) []*server {
	if len(names) == 0 {
		return m.all()
	}
	var list []*server
	for _, name := range names {
		if s := m.named(name); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// Status tells how all servers are, by name.
func (m *Manager) Status() []Status {
	all := m.all()
	list := make([]Status, len(all))
	for i, s := range all {
		list[i] = s.snapshot()
	}
	return list
}

// Tools returns a server's tools, in the server's order, under the names that
// [tools.QualifiedName] gives them. They stay usable: one whose server is gone for
// the moment waits for its return, half a minute at most, or refuses with the code
// mcp_server_unavailable. Two minutes after a server was lost it has none.
func (m *Manager) Tools(server string) []tools.DeclarativeTool {
	s := m.named(server)
	if s == nil {
		return nil
	}
	return slices.Clone(s.offered().tools)
}

// Restart ends a server's connection and makes a new one, also of a server that
// is given up or disabled. It returns when that is connected or has failed. The
// error is of code invalid_config for a server that there is not or that may not
// start, not_initialized before Start of it and after Close, cancelled, or why the
// server is not connected. It is for whoever lets a person choose among servers, as
// embedders do: fettle's commands do not call it.
func (m *Manager) Restart(ctx context.Context, server string) error {
	err := m.command(ctx.Done(), server, command{})
	if err != nil && ctx.Err() != nil {
		return cancelled(ctx)
	}
	return err
}

// Disable ends a server's connection, until Restart, and waits for its end. Its
// tools are gone then. The errors are those of Restart. It is for a person's choice,
// as Restart is.
func (m *Manager) Disable(server string) error {
	return m.command(nil, server, command{disable: true})
}

// command has a server do something, and waits for it until enough is closed.
func (m *Manager) command(enough <-chan struct{}, name string, c command) error {
	s, err := m.server(name)
	if err != nil {
		return err
	}
	if s.never != nil {
		return s.never
	}
	m.mu.Lock()
	runs := m.started[name] && !m.closed
	m.mu.Unlock()
	if !runs {
		return s.stopped()
	}
	c.reply = make(chan error, 1)
	select {
	case s.commands <- c:
	case <-s.gone:
		return s.stopped()
	case <-enough:
		return errLate
	}
	select {
	case err := <-c.reply:
		return err
	case <-s.gone: // the reply may be there none the less
		select {
		case err := <-c.reply:
			return err
		default:
			return s.stopped()
		}
	case <-enough:
		return errLate
	}
}

// server returns the server of a name.
func (m *Manager) server(name string) (*server, error) {
	if s := m.named(name); s != nil {
		return s, nil
	}
	remedy := "No MCP server is configured."
	if names := m.serverNames(); len(names) > 0 {
		remedy = "There are " + strings.Join(names, ", ") + "."
	}
	return nil, fault.New(fault.InvalidConfig, "mcp.server", fmt.Sprintf("There is no MCP server %s.", quoted(name)), remedy)
}

// Has reports whether there is a server of that name (@server:uri).
func (m *Manager) Has(server string) bool { return m.named(server) != nil }

// RootsChanged tells the servers that Options.Roots gives others now. It does not
// wait for them. Whoever changes the directories of a session calls it; fettle's own
// sessions keep theirs.
func (m *Manager) RootsChanged() {
	for _, s := range m.all() {
		if l := s.connection(); l != nil {
			l.poke(dueRoots)
		}
	}
}

// tell says that something of a server has changed.
func (m *Manager) tell(server string) {
	if m.o.Changed == nil {
		return
	}
	m.telling.Lock()
	defer m.telling.Unlock()
	if err := tools.Protect("", "tell what changed", func() error { m.o.Changed(server); return nil }); err != nil {
		m.o.Logger.Error("what takes note of changes of MCP servers failed", "server", server, "error", err)
	}
}

// closeLimit is how long Close waits for what should long have ended.
const closeLimit = 20 * time.Second

// Close ends all connections, with the processes behind them, and waits for
// them. Calls that run fail. It is idempotent. The error, of code
// execution_failed, says that something did not end, which is then left behind.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	cancel := m.cancel
	m.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	for _, s := range m.all() {
		s.settle()
	}
	ended := make(chan struct{})
	go func() {
		m.running.Wait()
		close(ended)
	}()
	late := time.NewTimer(closeLimit)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
		return fault.New(fault.ExecutionFailed, "mcp.close",
			fmt.Sprintf("A connection to an MCP server has not ended %v after it was told to.", closeLimit),
			"Look for processes of MCP servers that are left over, and end them.")
	}
}
