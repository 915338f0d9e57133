//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

// AR-03: Close ends running hooks, and none begins after it.
func TestCloseEndsHooks(t *testing.T) {
	home, target := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".fettle"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "hooks.toml"),
		[]byte("[hooks.SessionEnd]\nhooks = [{command = 'echo >> ran; echo > ready; exec sleep 600'}]\n"), 0o600))
	require.NoError(t, unix.Mkfifo(filepath.Join(target, "ready"), 0o600))
	c, err := New(Parameters{TargetDir: target, Environment: Environment{HomeDir: home}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	s, err := c.own("test")
	require.NoError(t, err)
	require.Empty(t, c.shared.processes.opened)
	ended := make(chan hookresult.Effect)
	fire := func() { ended <- s.hooks.Try(t.Context(), hooks.Input{Event: hooks.SessionEnd, Reason: "exit"}) }
	go fire()
	_, err = os.ReadFile(filepath.Join(target, "ready")) // the hook runs
	require.NoError(t, err)
	c.shared.processes.mu.Lock() // the hook's goroutine wrote it
	opened := len(c.shared.processes.opened)
	c.shared.processes.mu.Unlock()
	require.Equal(t, 1, opened)
	require.NoError(t, c.Close())
	during := <-ended
	require.Len(t, during.Ran, 1)
	require.Contains(t, strings.Join(during.Ran[0].Warnings, "\n"), "was ended by SIGTERM")
	go fire()
	after := <-ended
	require.Len(t, after.Ran, 1)
	require.Contains(t, strings.Join(after.Ran[0].Warnings, "\n"), "The session has ended")
	ran, err := os.ReadFile(filepath.Join(target, "ran"))
	require.NoError(t, err)
	require.Equal(t, "\n", string(ran))
}
