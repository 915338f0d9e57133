//go:build unix

package search_test

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// Pipes, sockets and devices are not searched or opened. A call that names one is refused without waiting for it.
func TestSpecialFiles(t *testing.T) {
	w := newWorld(t, map[string]string{"f": "needle\n"})
	require.NoError(t, unix.Mkfifo(w.path("pipe"), 0o644))
	special := []string{"pipe"}
	t.Chdir(w.dir) // the path of a socket is limited
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "socket")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // a test
	if err := unix.Mknod(w.path("zero"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))); err == nil {
		special = append(special, "zero")
	}
	require.NoError(t, os.Symlink("pipe", w.path("link")))
	got, _ := w.shown(search.Glob, args{"pattern": "*"})
	require.Equal(t, []string{"f"}, got)
	got, a := w.shown(search.SearchFileContent, args{"pattern": ".*"})
	require.Equal(t, []string{"f:1:needle"}, got)
	require.Zero(t, a.Failed)
	for _, name := range append(special, "link", "socket") {
		result := w.run(t.Context(), search.SearchFileContent, args{"pattern": "x", "dir_path": name})
		require.Equal(t, fault.NotARegularFile, result.Error.Code, name)
		result = w.run(t.Context(), search.Glob, args{"pattern": "x", "dir_path": name})
		require.Equal(t, fault.PathIsNotADirectory, result.Error.Code, name)
	}
}
