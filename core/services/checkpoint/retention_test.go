package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// objects counts the stored objects, and makes them old.
func (p *project) objects() int {
	n := 0
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(p.t, filepath.WalkDir(filepath.Join(p.store.Dir(), "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
			return os.Chtimes(path, old, old)
		}
		return err
	}))
	return n
}

// CM-15: contents that no session needs are removed with it, and no others.
func TestCleanup(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "0")
	p.edit("f", "1")
	require.NoError(t, p.r.Close())
	p.r = p.session("two")
	p.edit("f", "2")
	require.Equal(t, 3, p.objects())

	none := checkpoint.Retention{Keep: func(string, time.Time) bool { return false }}
	require.NoError(t, p.store.Cleanup(t.Context(), none))
	require.Equal(t, 3, p.objects(), "as long as a session is in use, nothing goes that it may need")
	sessions, err := p.store.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 1)
	require.Equal(t, "two", sessions[0].Session)

	require.NoError(t, p.r.Close())
	require.NoError(t, os.Remove(filepath.Join(p.store.Dir(), "sessions", "two.lock")))
	p.r = p.session("three")
	require.NoError(t, p.store.Cleanup(t.Context(), checkpoint.Retention{Keep: func(id string, _ time.Time) bool { return id == "two" }}))
	require.Equal(t, 2, p.objects(), "the first content is nobody's")
	p.undo("1")
	require.Equal(t, "1", p.read("f"))

	require.NoError(t, p.r.Close())
	p.r = p.session("four")
	p.edit("g", "4")
	require.NoError(t, p.r.Close())
	require.NoError(t, p.store.Cleanup(t.Context(), checkpoint.Retention{MaxBytes: 1}))
	sessions, err = p.store.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 1, "the oldest go where there is too much")
	require.Equal(t, "four", sessions[0].Session)
}
