//go:build unix

package transcript

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// KH-13: a closed session can be resumed and deleted immediately, even while a child process that
// is being started still has its descriptor.
func TestLockEndsAtClose(t *testing.T) {
	s := New(Options{Dir: t.TempDir(), Now: time.Now})
	w, err := s.Create(t.Context(), Header{ID: "one"})
	require.NoError(t, err)
	require.NoError(t, w.Append(t.Context(), Turn{Content: json.RawMessage(`{"role":"user","parts":[{"text":"a"}]}`)}))
	inherit := func(w *Writer) {
		child, err := unix.Dup(int(w.f.Fd()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(child) })
	}
	inherit(w)
	require.NoError(t, w.Close())
	w, _, err = s.Open(t.Context(), "one")
	require.NoError(t, err)
	inherit(w)
	require.NoError(t, w.Close())
	require.NoError(t, s.Delete(t.Context(), "one"))
}
