package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// CF-03: an embedder creates the tracker of each session, from the options of the session's own.
func TestTrackerOfAnEmbedder(t *testing.T) {
	var given []tracker.Options
	var created []*tracker.FileTracker
	s := configtest.New(t, func(p *config.Parameters) {
		p.Session.Tracker = func(o tracker.Options) *tracker.FileTracker {
			given = append(given, o)
			if len(given) == 3 {
				return nil
			}
			created = append(created, tracker.New(o))
			return created[len(created)-1]
		}
	})
	child, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer func() { require.NoError(t, child.Close()) }()
	other, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	for i, c := range []*config.Config{s.Config, child} {
		own, err := c.FileTracker()
		require.NoError(t, err)
		require.Same(t, created[i], own)
		state, err := c.FileState()
		require.NoError(t, err)
		require.Same(t, state, given[i].State)
		require.NotNil(t, given[i].Instructions)
	}
	own, err := other.FileTracker()
	require.NoError(t, err)
	require.NotNil(t, own, "the default one")
	require.Len(t, given, 3)

	configtest.New(t, func(p *config.Parameters) {
		p.Policy.Trust = trust.Untrusted
		p.Session.Tracker = func(o tracker.Options) *tracker.FileTracker {
			require.Nil(t, o.Instructions)
			return tracker.New(o)
		}
	})
}
