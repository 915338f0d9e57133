package filestate

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// RC-31, PR-11: files that mode bits forbid to read, and their recovery.
func TestUnreadableFile(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.WriteFile(top+"/private", []byte("x"), 0o600))
		require.NoError(t, os.Mkdir(top+"/closed", 0o700))
		require.NoError(t, os.WriteFile(top+"/closed/file", []byte("x"), 0o644))
	})
	if !ok {
		return
	}
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	s := New(Options{Files: w})
	for _, name := range []string{"private", "closed/file"} {
		p, err := w.Resolve(name)
		require.NoError(t, err)
		_, err = s.Read(t.Context(), ReadRequest{Path: p})
		require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), name)
	}
	p, err := w.Resolve("closed/file")
	require.NoError(t, err)
	refusal := s.Decide(Check{Path: p, Verb: editing})
	require.Equal(t, fault.PriorReadVerificationFailed, refusal.Code)
	require.Contains(t, refusal.Message, "EACCES")
	require.Equal(t, int64(1), s.Cache.counts().statFailures)
	require.Zero(t, s.Versions.Current())
}
