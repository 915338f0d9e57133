package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unenforced runs a program for which the kernel has neither user namespaces nor Landlock: a seccomp
// filter refuses the system calls, as on a kernel that was built without them and in many containers.
func unenforced() {
	runtime.LockOSThread() // the filter is that of the thread that executes the program
	const load, equal, has, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{{Code: load, K: 0}} // the number of the system call
	refuse := func(call uint32, errno unix.Errno) {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	refuse(unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP)
	refuse(unix.SYS_CLONE3, unix.ENOSYS)
	refuse(unix.SYS_SETNS, unix.EPERM)
	for _, call := range []uint32{unix.SYS_UNSHARE, unix.SYS_CLONE} {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jf: 4}, unix.SockFilter{Code: load, K: 16}, // the flags
			unix.SockFilter{Code: has, K: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Jf: 1}, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	}
	filter = append(filter, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	program, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		f := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a few dozen
		if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f))); errno != 0 {
			err = errno
		}
	}
	if err == nil {
		err = unix.Exec(program, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(125)
}
