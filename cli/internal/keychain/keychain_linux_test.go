package keychain

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// UI-05: a bus that does not answer ends no session: the call returns with its context.
func TestSilentBus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+path)
	k := System()
	require.NotNil(t, k)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = k.Get(ctx, "groq")
	require.ErrorIs(t, err, errSlow)
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, k.Set(ctx, "groq", "x"), context.Canceled)
	require.NoError(t, (<-accepted).Close()) // ends the abandoned calls
	require.NoError(t, l.Close())
}

// No bus is started, and an empty variable disables the keychain.
func TestNotOffered(t *testing.T) {
	for _, address := range []string{"", "autolaunch:", "disabled:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		require.Nil(t, System(), address)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	_, err := System().Get(t.Context(), "groq")
	require.Error(t, err)
}
