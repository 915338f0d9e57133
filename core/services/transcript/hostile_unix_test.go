//go:build unix

package transcript_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// A file of another type in the place of a recording is not waited for, followed or removed.
func TestNoRegularFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type":"session","version":1,"id":"one"}`+"\n"), 0o600))
	for name, put := range map[string]func(path string) error{
		"pipe":    func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"link":    func(path string) error { return os.Symlink(secret, path) },
		"to none": func(path string) error { return os.Symlink("/nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := store(t)
			recorded(t, s, "two", "good")
			path := filepath.Join(dir, "session-2026-01-01T00-00-one.jsonl")
			require.NoError(t, put(path))
			_, err := s.Load(t.Context(), "one")
			require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, "not a regular file")
			_, _, err = s.Open(t.Context(), "one")
			require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
			require.Equal(t, fault.SessionUnreadable, fault.CodeOf(s.Delete(t.Context(), "one")))
			_, err = s.Create(t.Context(), transcript.Header{ID: "one"})
			require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
			list, problems, err := s.List(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"two"}, ids(list))
			require.Len(t, problems, 1)
			_, err = s.Cleanup(t.Context(), transcript.Retention{MaxAge: 1})
			require.NoError(t, err)
			_, err = os.Lstat(path)
			require.NoError(t, err)
			require.FileExists(t, secret)
		})
	}
}

// A link in the place of a session's file directory is removed, but not its target.
func TestSideDirIsALink(t *testing.T) {
	s, _ := store(t)
	recorded(t, s, "one", "x")
	elsewhere := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, os.WriteFile(elsewhere, nil, 0o600))
	side, err := s.SideDir("one")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Dir(elsewhere), side))
	require.NoError(t, s.Delete(t.Context(), "one"))
	require.FileExists(t, elsewhere)
	require.NoFileExists(t, side)
}

// A full disk ends the recording with an error, and the file keeps its previous content.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	s, _ := store(t)
	w := create(t, s, "one")
	say(t, w, "kept")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	w.WriteTo(full)
	err = w.Append(context.Background(), transcript.Turn{Content: user("lost")})
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
	require.ErrorIs(t, err, unix.ENOSPC)
	require.Contains(t, fault.As(err).Message, "no space left on device")
	require.NotEmpty(t, fault.As(err).Remedy)
	require.Equal(t, err, w.Append(context.Background(), transcript.Turn{Content: user("lost too")}))
	require.Equal(t, []string{"kept"}, texts(t, load(t, s, "one").History()))
}
