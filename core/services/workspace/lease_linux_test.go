package workspace

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// leaseVariable names the file for the write lease of TestLeaseHolder.
const leaseVariable = "FETTLE_TEST_LEASE"

// TestLeaseHolder is the other program of TestLease, not a test of its own: it holds a write lease
// until another process opens the file, or until its input ends.
func TestLeaseHolder(t *testing.T) {
	name := os.Getenv(leaseVariable)
	if name == "" {
		t.Skip("run by TestLease")
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, unix.SIGIO)
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("held")
	if os.Getenv(leaseVariable+"_KEEP") == "" {
		<-broken
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		require.NoError(t, err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A file leased by another program is read as soon as the lease is released; otherwise the error
// names the lease, not the path.
func TestLease(t *testing.T) {
	for name, openDirectory := range map[string]func(string) (directory, error){"openat2": openDirectory, "os.Root": openRootDirectory} {
		for _, keep := range []string{"", "1"} {
			t.Run(name+"/keep="+keep, func(t *testing.T) {
				top := tree(t, "file text")
				w, err := open(openDirectory, []string{top})
				require.NoError(t, err)
				defer w.Close()

				holder := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestLeaseHolder$")
				holder.Env = append(os.Environ(), leaseVariable+"="+top+"/file", leaseVariable+"_KEEP="+keep)
				input, err := holder.StdinPipe()
				require.NoError(t, err)
				output, err := holder.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, holder.Start())
				defer func() {
					_ = input.Close()
					_, _ = io.Copy(io.Discard, output)
					require.NoError(t, holder.Wait())
				}()
				line, err := bufio.NewReader(output).ReadString('\n')
				require.NoError(t, err)
				if line != "held\n" {
					t.Skip("no lease on this file system: ", line)
				}

				p, err := w.Resolve("file")
				require.NoError(t, err)
				f, err := w.OpenRead(p)
				if keep == "" {
					require.NoError(t, err)
					require.NoError(t, f.Close())
					return
				}
				requireCode(t, err, fault.ReadContentFailure)
				require.ErrorIs(t, err, syscall.EAGAIN)
				require.Contains(t, fault.As(err).Message, "in use by another program")
				require.Contains(t, fault.As(err).Remedy, "Try again")
			})
		}
	}
}

// An error without a class contains the text of the system error.
func TestOtherFailuresNameTheirCause(t *testing.T) {
	err := pathError("test", "/a", &os.PathError{Op: "openat", Path: "b", Err: syscall.EIO})
	requireCode(t, err, fault.ReadContentFailure)
	require.Equal(t, "The file cannot be accessed: /a ("+syscall.EIO.Error()+").", fault.As(err).Message)
	err = pathError("test", "/a", io.ErrUnexpectedEOF)
	require.Contains(t, fault.As(err).Message, io.ErrUnexpectedEOF.Error())
}
