package chat

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// UI-04: the price with the longest matching name applies. Cached tokens have a price of
// their own, thoughts that of the answer.
func TestCost(t *testing.T) {
	prices := map[string]settings.Price{
		"big":      {Input: 1, Output: 1},
		"big-fast": {Input: 2, Output: 10, CachedInput: 0.5},
		"small":    {Input: 0.1, Output: 0.4},
		"free":     {},
	}
	tokens := conversation.TokenStatistics{Input: 900_000, Tool: 100_000, Cached: 1_000_000, Candidates: 150_000, Thoughts: 50_000}
	for name, want := range map[string]string{
		"big-fast-2":   "cost 4.50",
		"big-2":        "cost 2.20",
		"small":        "cost 0.2800",
		"free":         "cost 0",
		"other":        "no price is set (setting model.prices)",
		"vendor/small": "no price is set (setting model.prices)",
	} {
		require.Equal(t, want, costOf(prices, name, tokens), name)
	}
	require.Equal(t, "cost below 0.0001", costOf(prices, "small", conversation.TokenStatistics{Input: 1}))
	require.Equal(t, "cost 1.00", costOf(map[string]settings.Price{"": {Input: 1}}, "any", conversation.TokenStatistics{Input: 1_000_000}))
}

// UI-04: /stats shows the cost of each model with a price in the user's settings, and
// names the setting for one without.
func TestStatsShowCosts(t *testing.T) {
	const turns = `{"turns": [{"text": "Hello.", "usage": {"input": 1000000, "output": 2000000}}]}`
	stats := func(ctx context.Context, c *chat, _ string) {
		submit(ctx, c, "Say hello.")
		for _, command := range []string{"/stats", "/stats model"} {
			shown := textsOf(submit(ctx, c, command), interactive.EventMessage)
			if set, err := c.config.Settings().Current(); err == nil && set.Model.Prices != nil {
				require.Contains(t, shown, "; cost 7.00")
			} else {
				require.Contains(t, shown, "; no price is set (setting model.prices)")
			}
		}
	}
	chatting(t, turns, stats)
	chatting(t, turns, stats, func(home string) {
		require.NoError(t, os.Mkdir(filepath.Join(home, ".fettle"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "settings.json"), []byte(`{"model": {"prices": {"": {"input": 1, "output": 3}}}}`), 0o600))
	})
}
