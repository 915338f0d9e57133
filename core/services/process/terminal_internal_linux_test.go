package process

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// keyTerminal returns a terminal whose program reads keys, at least least of them in a read, and the descriptor of the
// program.
func keyTerminal(t *testing.T, least uint8) (term *terminal, fd int) {
	t.Helper()
	term, err := openTerminal(80, 24)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = term.master.Close()
		_ = term.tty.Close()
	})
	fd = int(term.tty.Fd())
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	require.NoError(t, err)
	state.Lflag &^= unix.ICANON | unix.ECHO
	state.Cc[unix.VMIN], state.Cc[unix.VTIME] = least, 0
	require.NoError(t, unix.IoctlSetTermios(fd, unix.TCSETS, state))
	return term, fd
}

func unread(t *testing.T, fd int) int {
	t.Helper()
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	require.NoError(t, err)
	return n
}

// TO-17: a key that no program reads is removed again.
func TestKeyIsRemoved(t *testing.T) {
	t.Parallel()
	for _, least := range []uint8{1, 8} {
		term, fd := keyTerminal(t, least)
		term.keys = 1
		require.False(t, term.offerEnd(false))
		require.Equal(t, 1, term.keys)
		require.Zero(t, unread(t, fd))
	}
}

// TO-17: input that a program has not read yet remains.
func TestInputRemains(t *testing.T) {
	t.Parallel()
	term, _ := keyTerminal(t, 8)
	_, err := io.WriteString(term.master, "abc")
	require.NoError(t, err)
	term.keys = 1
	require.True(t, term.offerEnd(false))
	require.Zero(t, term.keys)
	got := make([]byte, 8)
	_, err = io.WriteString(term.master, "rest")
	require.NoError(t, err)
	n, err := term.tty.Read(got)
	require.NoError(t, err)
	require.Equal(t, "abc"+endOfInput+"rest", string(got[:n]))
}

// TO-17: each key that a program has read is counted, also if it reads while the key is removed.
func TestKeysAreCounted(t *testing.T) {
	t.Parallel()
	term, fd := keyTerminal(t, 1)
	require.NoError(t, unix.SetNonblock(fd, true))
	const rounds = 200
	for i := range rounds {
		stop, read := make(chan struct{}), make(chan int)
		go func() {
			key, n := make([]byte, 1), 0
			defer func() { read <- n }()
			for {
				if waiting, _ := unix.IoctlGetInt(fd, unix.TIOCINQ); waiting > 0 {
					break
				}
				select {
				case <-stop:
					return
				default:
				}
			}
			// About when the offer ends.
			for until := time.Now().Add(5*time.Millisecond + time.Duration(i-rounds/2)*2*time.Microsecond); time.Now().Before(until); {
			}
			if n, _ = unix.Read(fd, key); n < 0 {
				n = 0
			}
		}()
		term.keys = 1
		taken := term.offerEnd(false)
		close(stop)
		n := <-read
		require.Equal(t, n == 1, taken)
		require.Equal(t, 1-n, term.keys)
		require.Zero(t, unread(t, fd))
	}
}
