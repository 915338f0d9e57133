package extensionstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// overrides returns the stored rules of an extension.
func (s *shelf) overrides(name string) []string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.o.Dir, extensionstore.EnablementFile))
	require.NoError(s.t, err)
	var all map[string]struct{ Overrides []string }
	require.NoError(s.t, json.Unmarshal(data, &all))
	return all[name].Overrides
}

func TestSetEnabled(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", `{"name": "x", "version": "1"}`)
	set := func(scope extensions.Scope, on bool) {
		t.Helper()
		require.NoError(t, extensionstore.Open(s.o).SetEnabled(t.Context(), "x", scope, on))
	}
	set(extensions.ScopeWorkspace, false)
	require.Equal(t, []string{"!" + s.o.Workspace + "/*"}, s.overrides("x"))
	require.False(t, s.one().Active)
	work := s.o.Workspace
	s.o.Workspace = t.TempDir()
	require.True(t, s.one().Active, "elsewhere it is")
	s.o.Workspace = filepath.Join(work, "below")
	require.False(t, s.one().Active)
	set(extensions.ScopeWorkspace, true)
	require.True(t, s.one().Active)
	require.Len(t, s.overrides("x"), 2)
	s.o.Workspace = work
	set(extensions.ScopeWorkspace, true)
	require.Equal(t, []string{work + "/*"}, s.overrides("x"), "what was said of directories below goes")

	// The home directory means everywhere, even for a workspace outside of it.
	set(extensions.ScopeUser, false)
	require.Equal(t, []string{"!" + s.o.Home + "/*"}, s.overrides("x"))
	require.False(t, s.one().Active)
	set(extensions.ScopeUser, true)
	require.True(t, s.one().Active)

	require.NoError(t, extensionstore.Open(s.o).ForgetEnablement(t.Context(), "x"))
	require.Empty(t, s.overrides("x"))
	err := extensionstore.Open(s.o).SetEnabled(t.Context(), "x", "galaxy", true)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// An invalid file is not overwritten.
func TestSetEnabledBroken(t *testing.T) {
	s := newShelf(t)
	path := s.put(extensionstore.EnablementFile, `{"x": `)
	err := extensionstore.Open(s.o).SetEnabled(t.Context(), "x", extensions.ScopeUser, false)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `{"x": `, string(text))
}

func TestSetEnabledAtOnce(t *testing.T) {
	s := newShelf(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := extensionstore.Open(s.o).SetEnabled(t.Context(), fmt.Sprint("x", i), extensions.ScopeUser, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		require.Len(t, s.overrides(fmt.Sprint("x", i)), 1)
	}
}
