package fork_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-07: a fork that ends with unmerged changes stays, and can be opened; one without them is dropped.
func TestEnd(t *testing.T) {
	for _, mode := range []fork.Mode{fork.Overlay, fork.Copy} {
		p := newProject(t, map[string]string{"a": ten})
		p.options.Mode = mode
		p.mode = ""
		changed, idle := p.create("changed"), p.create("idle")
		require.Equal(t, mode, idle.Mode, "it is that of the store")
		p.change(changed, map[string]string{"a": first(ten)})
		require.NoError(t, os.MkdirAll(filepath.Join(idle.DataDir(), "checkpoints"), 0o700))
		require.NoError(t, idle.End(t.Context(), nil))
		require.NoError(t, changed.End(t.Context(), nil))
		all, err := p.store().List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.False(t, all[0].InUse)
		again, err := p.store().Open("changed", "")
		require.NoError(t, err)
		require.NoError(t, again.Close())
		require.NoDirExists(t, idle.DataDir())
	}
}
