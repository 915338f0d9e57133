package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

// UI-03: the spinner of the library moves while a turn runs, by the session's timer, and no
// timer remains when nothing moves.
func TestSpinnerMoves(t *testing.T) {
	hold := make(chan struct{})
	s := newFake()
	s.work = holding(hold)
	r := newRig(t, s, func(o *Options) { o.NoAnimation = false })
	r.pass(tickEvery)
	require.Empty(t, r.timers)
	r.enter("go")
	seen := map[string]bool{}
	for range 20 {
		r.pass(tickEvery)
		frame, _, found := strings.Cut(strings.TrimLeft(r.text()[strings.Index(r.text(), " Working")-4:], "\n "), " ")
		require.True(t, found)
		require.Equal(t, 1, ansi.StringWidth(frame))
		seen[frame] = true
	}
	require.Len(t, seen, 10)
	close(hold)
	r.until(func() bool { return r.m.turn == nil })
	r.pass(tickEvery)
	require.Empty(t, r.timers)
}

// UI-03: the status line of a wide terminal has a bar of the used context. The free part is
// marked when little is left. The bar has no colours of its own.
func TestContextBar(t *testing.T) {
	look := styles()
	for _, tt := range []struct {
		tokens, columns int
		want            string
		style           func(string) string
	}{
		{12_345, barFrom - 1, " · 87% left · ", nil},
		{12_345, barFrom, " · █░░░░░░░ 87% left · ", nil},
		{0, barFrom, " · ░░░░░░░░ 100% left", nil},
		{50_000, barFrom, " · ████░░░░ 50% left · ", look.Dim.Render},
		{80_000, barFrom, " · ██████░░ 20% left · ", look.Warning.Render},
		{95_000, barFrom, " · ████████ 5% left · ", look.Error.Render},
		{200_000, barFrom, " · ████████ 0% left · ", look.Error.Render},
	} {
		s := newFake()
		s.status.Tokens = tt.tokens
		r := newRig(t, s)
		r.size(tt.columns, 24)
		require.Contains(t, r.text(), tt.want)
		require.NotContains(t, r.m.View().Content, "\x1b")
		if tt.style == nil {
			continue
		}
		r.m.look = &look
		require.Contains(t, r.m.View().Content, tt.style(strings.Trim(tt.want, " ·")))
	}
}
