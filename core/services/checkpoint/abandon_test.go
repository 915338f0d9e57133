package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// ST-05: an abandoned call has changed nothing. A change meanwhile is that of another process, and restoring the turn
// keeps it.
func TestAbandon(t *testing.T) {
	for name, paths := range map[string][]string{"a file": {"a"}, "everything": nil} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, checkpoint.Options{})
			p.write("a", "1\n")
			c := checkpoint.Call{ID: "c1", Tool: "safe_patch"}
			for _, name := range paths {
				c.Paths = append(c.Paths, p.path(name))
			}
			begin := func() *checkpoint.ActiveCall {
				taken, err := p.r.Begin(t.Context(), c)
				require.NoError(t, err)
				return taken
			}
			begin().Abandon(t.Context())
			taken := begin()
			p.write("a", "1\n2\n")
			taken.Abandon(t.Context())
			taken = begin()
			p.write("a", "0\n1\n2\n")
			require.Empty(t, taken.End(t.Context()))

			h, err := p.store.History(t.Context(), "")
			require.NoError(t, err)
			require.Len(t, h.Turns, 1)
			entries := h.Turns[0].Entries
			require.Len(t, entries, 2)
			require.Equal(t, checkpoint.KindBetween, entries[0].Kind)
			require.Empty(t, entries[0].CallID+entries[0].Tool)
			require.Len(t, entries[0].Files, 1)
			require.Equal(t, checkpoint.KindCall, entries[1].Kind)
			plan := p.plan(checkpoint.Selection{Call: "c1"})
			require.Empty(t, plan.Refused)
			p.undo("1")
			require.Equal(t, "1\n2\n", p.read("a"))
		})
	}
}
