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
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Options configure a [Manager]. Dialer is required.
type Options struct {
	Dialer Dialer
	// Servers are the servers to connect to. If two have the same name, the first
	// one counts.
	Servers []Configured
	// Elicit asks the user a question of a server. nil: elicitation is not
	// supported, and servers are informed of that. For one server it is called
	// only while the server is connected, and not concurrently. ctx ends after
	// ten minutes; the text has at most 4 KiB, the schema at most 64. The
	// timeouts of the requests that were already running are suspended meanwhile,
	// for half an hour at most.
	Elicit func(ctx context.Context, server string, e host.Elicitation) (host.Elicited, error)
	Roots  func() []string // the session's directories; nil: roots are not supported
	// Changed is called with the name of a server whose tools, resources, prompts
	// or status have changed. Calls are sequential. It must not wait for the
	// Manager.
	Changed func(server string)
	Logger  *slog.Logger // nil: nothing is logged

	maxText int // as maxText; 0: that
}

// Bounds of the bytes of text, and of images and other data, that the model receives
// of one answer. A note reports omitted content.
const (
	maxText = 256 << 10
	maxData = 10 << 20
)

func (o Options) withDefaults() Options {
	o.maxText = cmp.Or(o.maxText, maxText)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Configured is a server from the settings. A server with Blocked or Disabled set
// is listed but not started.
type Configured struct {
	ServerSpec
	Blocked error // why it may not start; nil: it may
	// Disabled prevents the automatic start, at the user's choice. It is for
	// embedders, and for sessions that let the user choose. [Manager.Restart]
	// starts the server.
	Disabled bool
}

// Manager keeps a session's servers connected and turns their features into
// tools, resources and prompts. It is safe for concurrent use. The caller must
// call Close at the end.
//
// A lost connection is restored, however often it is lost: after about a second,
// and after twice the previous delay each time that the connection does not last,
// up to a minute. A server that was never connected is tried four times. Failures
// that only the user can repair are not retried: a required sign-in or, before
// the first connection, a missing program. [Manager.Restart] starts over.
type Manager struct {
	o Options

	known   sync.RWMutex       // protects the following fields; acquired after mu
	servers map[string]*server // by name
	names   []string           // of servers, sorted

	notifying sync.Mutex // held while Options.Changed runs

	mu      sync.Mutex
	started map[string]bool // servers that Start has begun to connect
	closed  bool
	ctx     context.Context    // of all goroutines; nil before Start
	cancel  context.CancelFunc // ends ctx; nil before Start
	running sync.WaitGroup     // all goroutines
}

// NewManager returns a Manager. It does not start any server.
func NewManager(o Options) *Manager {
	m := &Manager{o: o.withDefaults(), servers: make(map[string]*server, len(o.Servers)), started: make(map[string]bool)}
	m.Add(o.Servers...)
	return m
}

// all returns the servers, sorted by name.
func (m *Manager) all() []*server {
	m.known.RLock()
	defer m.known.RUnlock()
	list := make([]*server, len(m.names))
	for i, name := range m.names {
		list[i] = m.servers[name]
	}
	return list
}

// Start begins to connect the named servers, or all if no name is given,
// concurrently, and returns at once. Servers that were started before and unknown
// names are ignored. The ctx of the first call bounds everything that all calls
// start, as Close does.
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

// Settled waits until each of the named servers, or of all servers if no name is
// given, is connected or has failed once. It reports false if ctx ends first.
// Options.Changed has been called by then. Settled also waits for servers that
// were not started.
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

// chosen returns the named servers, or all if no name is given.
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

// Status returns the status of all servers, sorted by name.
func (m *Manager) Status() []Status {
	all := m.all()
	list := make([]Status, len(all))
	for i, s := range all {
		list[i] = s.snapshot()
	}
	return list
}

// Tools returns a server's tools, in the server's order, under the names given by
// [tools.QualifiedName]. The tools remain valid: while their server is
// disconnected, a call waits at most half a minute for it to reconnect and then
// fails with code mcp_server_unavailable. Two minutes after a server was lost,
// Tools returns none.
func (m *Manager) Tools(server string) []tools.DeclarativeTool {
	s := m.named(server)
	if s == nil {
		return nil
	}
	return slices.Clone(s.offered().tools)
}

// Restart closes a server's connection and opens a new one. It also starts a
// server that was given up or is disabled. It returns when the server is
// connected or has failed. The error has code invalid_config for an unknown
// server or one that may not start, not_initialized before the server was started
// and after Close, or cancelled; otherwise it is the reason why the server is not
// connected. Restart is for embedders that let the user choose among servers:
// fettle's commands do not call it.
func (m *Manager) Restart(ctx context.Context, server string) error {
	err := m.command(ctx.Done(), server, command{})
	if err != nil && ctx.Err() != nil {
		return cancelled(ctx)
	}
	return err
}

// Disable closes a server's connection until Restart, and waits for its end. The
// server's tools are removed. The errors are those of Restart. Like Restart, it
// is for a choice of the user.
func (m *Manager) Disable(server string) error {
	return m.command(nil, server, command{disable: true})
}

// command sends a command to a server and waits for the reply, or until enough is
// closed.
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
		return s.notMaintained()
	}
	c.reply = make(chan error, 1)
	select {
	case s.commands <- c:
	case <-s.stopped:
		return s.notMaintained()
	case <-enough:
		return errLate
	}
	select {
	case err := <-c.reply:
		return err
	case <-s.stopped: // the reply may have arrived all the same
		select {
		case err := <-c.reply:
			return err
		default:
			return s.notMaintained()
		}
	case <-enough:
		return errLate
	}
}

// server returns the server with the given name.
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

// Has reports whether a server of that name exists (@server:uri).
func (m *Manager) Has(server string) bool { return m.named(server) != nil }

// RootsChanged notifies the servers that the result of Options.Roots has changed.
// It does not wait for them. Code that changes a session's directories calls it;
// fettle's own sessions keep theirs.
func (m *Manager) RootsChanged() {
	for _, s := range m.all() {
		if l := s.connection(); l != nil {
			l.notify(rootsChanged)
		}
	}
}

// notifyChange reports a change of a server through Options.Changed.
func (m *Manager) notifyChange(server string) {
	if m.o.Changed == nil {
		return
	}
	m.notifying.Lock()
	defer m.notifying.Unlock()
	if err := tools.Protect("", "report a change", func() error { m.o.Changed(server); return nil }); err != nil {
		m.o.Logger.Error("the handler for changes of MCP servers failed", "server", server, "error", err)
	}
}

// closeLimit is how long Close waits for connections that should already have
// ended.
const closeLimit = 20 * time.Second

// Close closes all connections, terminates the servers' processes, and waits for
// both. Running calls fail. It is idempotent. An error has code execution_failed
// and reports that a connection or process did not end and was left behind.
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
			fmt.Sprintf("A connection to an MCP server has not ended %v after Close.", closeLimit),
			"End remaining processes of MCP servers.")
	}
}
