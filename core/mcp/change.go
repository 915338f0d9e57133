package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
)

// Add registers more servers, for example those of an extension that was enabled.
// A server whose name is already registered is ignored. Start connects the new
// servers.
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

// Remove unregisters a server: it closes the connection, terminates the server's
// process, waits for both, and reports through Options.Changed that the tools are
// gone. Running calls to the server fail. Removing an unknown server is a no-op.
// If ctx ends first, the error has code cancelled; the server is unregistered all
// the same, and Close waits for it.
func (m *Manager) Remove(ctx context.Context, name string) error {
	s, started := m.forget(name)
	if s == nil {
		return nil
	}
	s.settle()
	var late error
	if started {
		select {
		case <-s.stopped:
		case <-ctx.Done():
			late = fault.Wrap(fault.Cancelled, "mcp.remove", fmt.Sprintf("Waiting for the end of the MCP server %s was cancelled.", quoted(name)), "", ctx.Err())
		}
	}
	m.notifyChange(name)
	return late
}

// forget unregisters a server and starts to shut it down.
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

// named returns the server with the given name, or nil.
func (m *Manager) named(name string) *server {
	m.known.RLock()
	defer m.known.RUnlock()
	return m.servers[name]
}

// serverNames returns the sorted names of all servers.
func (m *Manager) serverNames() []string {
	m.known.RLock()
	defer m.known.RUnlock()
	return m.names // the slice is replaced as a whole
}

// Servers returns the configuration of all servers, sorted by name.
func (m *Manager) Servers() []Configured {
	var list []Configured
	for _, s := range m.all() {
		list = append(list, s.Configured)
	}
	return list
}

// Running reports whether Start has been called and Close has not.
func (m *Manager) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ctx != nil && !m.closed
}
