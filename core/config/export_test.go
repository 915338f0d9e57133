package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/config/internal/history"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// For the tests of package config_test.

const (
	RestatedKind             = history.Kind
	DefaultClientResultBytes = defaultClientResultBytes
)

type (
	Place          = toolrules.Place
	RestateOptions = history.RestateOptions
)

// RestateWith is Restate with limits of its own.
func RestateWith(ctx context.Context, c *Config, o RestateOptions) ([]model.Part, error) {
	s, err := c.own("Restate")
	if err != nil {
		return nil, err
	}
	return s.history.Restate(ctx, o)
}

func ClientResultBytes(client string) int { return clientResultBytes(client) }

// EachClientLimit calls f with the rows of the table of clients.
func EachClientLimit(f func(client string, bytes int)) {
	for _, row := range clientLimits() {
		f(row.client, row.bytes)
	}
}

// SetPlaces sets the positions of list entries, as settings do.
func (p *Parameters) SetPlaces(allowed, excluded map[string]Place) {
	p.Policy.allowedFrom, p.Tools.excludedFrom = allowed, excluded
}

// OnReload sets a function that is called after each reload by WatchSettings.
func (p *Parameters) OnReload(f func()) { p.Calls.reload = f }

// OnCheckpoint sets a function that is called at each step of keeping files.
func (p *Parameters) OnCheckpoint(f func(checkpoint.Step) error) { p.Calls.checkpoint = f }

// CopyForks lets forks be copies, as the setting does.
func (p *Parameters) CopyForks() { p.Session.copyForks = true }

// OpenServices returns the number of open process services of a Config and those derived from it.
func OpenServices(c *Config) int {
	p := &c.shared.processes
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.opened)
}
