package sessionhooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// The process service of hooks is created once, by the first that runs; after the
// end of the session it runs nothing.
func TestServiceOfHooksIsLazy(t *testing.T) {
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, ws.Close()) }()
	opened := 0
	s := New(Options{Workspace: ws, Process: func() process.Options { return process.Options{} }, Open: func(o process.Options) *process.Service { opened++; return process.New(o) }, End: (*process.Service).Close})
	require.Zero(t, opened)
	own := s.service(false)
	require.Same(t, own, s.service(false))
	require.Equal(t, 1, opened)
	s.Close()
	require.Same(t, own, s.service(false))
	for _, limited := range []bool{false, true} {
		_, err := s.service(limited).Program(t.Context(), process.Program{Line: "true"})
		require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	}
}
