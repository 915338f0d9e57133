package workspace

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// With a sandbox or an old kernel that refuses openat2, a workspace still works. The test runs
// itself again under a system call filter.
func TestWithoutOpenat2(t *testing.T) {
	const variable = "FETTLE_TEST_NO_OPENAT2"
	errnos := map[string]unix.Errno{"ENOSYS": unix.ENOSYS, "EPERM": unix.EPERM}
	if name := os.Getenv(variable); name != "" {
		if err := refuse(unix.SYS_OPENAT2, errnos[name]); err != nil {
			t.Skip("no system call filter: ", err)
		}
		top := leadsTree(t)
		w, err := Open(top+"/ws", top+"/ws2")
		require.NoError(t, err)
		checkLeads(t, w, top)
		require.IsType(t, rootDirectory{}, w.roots[0].dir)
		require.NoError(t, w.Close())
		return
	}
	for name := range errnos {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"="+name)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		t.Logf("%s: %s", name, out)
	}
}

// refuse makes a system call fail in all threads of the process.
func refuse(call uint32, errno unix.Errno) error {
	const setModeFilter, allThreads, retErrno, retAllow = 1, 1, 0x00050000, 0x7fff0000
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: retErrno | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: retAllow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, allThreads, uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return e
	}
	return nil
}
