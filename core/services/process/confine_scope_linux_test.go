package process_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/services/process"
)

// TestDialAbstract is not a test: TestScopes runs it confined.
func TestDialAbstract(t *testing.T) {
	name := os.Getenv("FETTLE_TEST_ABSTRACT")
	if name == "" {
		t.Skip("it is run by TestScopes")
	}
	own, err := net.Listen("unix", name+"-own")
	require.NoError(t, err)
	for _, address := range []string{name + "-own", name} {
		c, err := net.Dial("unix", address)
		if err == nil {
			_ = c.Close()
		}
		fmt.Println("dialled", err == nil)
	}
	require.NoError(t, own.Close())
}

// A confined command cannot signal processes outside of the session or connect to their abstract
// Unix sockets; within the session it can.
func TestScopes(t *testing.T) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(nil)), 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 6 {
		t.Skipf("this kernel's landlock has version %d (%v), and scopes take 6", int(abi), errno)
	}
	s, ws, out := confinedService(t, process.Options{})
	outside := exec.Command("sleep", "600")
	require.NoError(t, outside.Start())
	defer func() {
		require.NoError(t, outside.Process.Kill())
		require.Error(t, outside.Wait())
	}()
	pid := strconv.Itoa(outside.Process.Pid)
	r := runIn(t, s, ws, out, "kill -TERM "+pid+" || echo refused; kill -0 "+pid+" || echo refused; kill -0 $PPID || echo refused")
	require.Equal(t, 3, strings.Count(r.Text, "refused"), r.Text)
	require.NoError(t, outside.Process.Signal(syscall.Signal(0)), "it still runs")
	r = runIn(t, s, ws, out, "sleep 600 & kill -TERM $! && wait $!; echo ended $?; (kill -0 $$ && echo sent)")
	require.Contains(t, r.Text, "ended 143")
	require.Contains(t, r.Text, "sent")

	name := "@fettle-test-" + strconv.Itoa(os.Getpid())
	l, err := net.Listen("unix", name)
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing was written
	r = runIn(t, s, ws, out, "FETTLE_TEST_ABSTRACT="+name+" '"+os.Args[0]+"' -test.run '^TestDialAbstract$' -test.v")
	require.Contains(t, r.Text, "dialled true\ndialled false\n")

	plain := newService(t, process.Options{})
	r = runIn(t, plain, ws, out, "kill -0 "+pid+" && echo sent; FETTLE_TEST_ABSTRACT="+name+" '"+os.Args[0]+"' -test.run '^TestDialAbstract$' -test.v")
	require.Contains(t, r.Text, "sent")
	require.Contains(t, r.Text, "dialled true\ndialled true\n")
}
