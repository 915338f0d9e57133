package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
)

// Add takes more servers on, as those of an extension that is enabled (AR-32);
// one of a name that is there already is passed over. Start connects them.
func (m *Manager) Add(servers ...Configured) {
	m.known.Lock()
	defer m.known.Unlock()
	for _, c := range servers {
		if m.servers[c.Name] == nil {
			m.servers[c.Name] = newServer(m, c)
		}
	}
	m.names = slices.Sorted(maps.Keys(m.servers))
}

// Remove forgets a server: ends its connection, with the process behind it, waits
// for that, and tells that its tools are gone (Options.Changed). Calls of it that
// run fail. A server that there is not is none to remove. The error, of code
// cancelled where ctx ends first, is of what has not ended yet; the server is
// forgotten all the same, and Close waits for it.
func (m *Manager) Remove(ctx context.Context, name string) error {
	s, started := m.forget(name)
	if s == nil {
		return nil
	}
	s.settle()
	var late error
	if started {
		select {
		case <-s.gone:
		case <-ctx.Done():
			late = fault.Wrap(fault.Cancelled, "mcp.remove", fmt.Sprintf("Waiting for the end of the MCP server %s was cancelled.", quoted(name)), "", ctx.Err())
		}
	}
	m.tell(name)
	return late
}

// forget takes a server out and begins to end it.
func (m *Manager) forget(name string) (s *server, started bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Lock()
	defer m.known.Unlock()
	if s = m.servers[name]; s == nil {
		return nil, false
	}
	delete(m.servers, name)
	m.names = slices.Sorted(maps.Keys(m.servers))
	started = m.started[name]
	delete(m.started, name)
	if s.cancel != nil {
		s.cancel()
	}
	return s, started
}

// named returns the server of a name, nil where there is none.
func (m *Manager) named(name string) *server {
	m.known.RLock()
	defer m.known.RUnlock()
	return m.servers[name]
}

// serverNames are those of all servers, sorted.
func (m *Manager) serverNames() []string {
	m.known.RLock()
	defer m.known.RUnlock()
	return m.names // replaced as a whole
}

// Servers returns the servers that there are, by name, as they are configured.
func (m *Manager) Servers() []Configured {
	var list []Configured
	for _, s := range m.all() {
		list = append(list, s.Configured)
	}
	return list
}

// Running reports whether Start has been called, and Close has not.
func (m *Manager) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ctx != nil && !m.closed
}
