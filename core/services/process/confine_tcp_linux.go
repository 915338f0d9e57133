package process

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the processors that [tcpFilter] is written for, as the
// kernel calls them. All keep the lower half of a number first.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64, "ppc64le": unix.AUDIT_ARCH_PPC64LE,
}

// tcpFilter is the program that refuses the ways to a TCP connection that
// landlock does not watch: multipath TCP, which falls back to the plain one,
// and connecting with the first data. For both programs go on without. It also
// refuses what leads past the filter: system calls that are made by the kernel
// for a process, and those of another architecture, for which the process is
// ended.
func tcpFilter(arch uint32) []unix.SockFilter {
	const (
		number, architecture, arguments = 0, 4, 16 // offsets in what the kernel shows of a system call

		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		has   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K

		x32 = 0x40000000 // in the numbers of another architecture that has the name of this one
	)
	fails := func(errno syscall.Errno) unix.SockFilter {
		return unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	filter := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: equal, K: arch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: number},
		{Code: least, K: x32, Jf: 1},
		fails(unix.ENOSYS),
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jf: 1},
		fails(unix.ENOSYS),
	}
	for _, call := range []struct {
		number, argument uint32
		test             uint16
		value            uint32
		errno            syscall.Errno
	}{
		{unix.SYS_SOCKET, 2, equal, unix.IPPROTO_MPTCP, unix.EPROTONOSUPPORT},
		{unix.SYS_SENDTO, 3, has, unix.MSG_FASTOPEN, unix.EOPNOTSUPP},
		{unix.SYS_SENDMSG, 2, has, unix.MSG_FASTOPEN, unix.EOPNOTSUPP},
		{unix.SYS_SENDMMSG, 3, has, unix.MSG_FASTOPEN, unix.EOPNOTSUPP},
	} {
		filter = append(filter,
			unix.SockFilter{Code: equal, K: call.number, Jf: 4},
			unix.SockFilter{Code: load, K: arguments + 8*call.argument},
			unix.SockFilter{Code: call.test, K: call.value, Jf: 1},
			fails(call.errno),
			allow,
		)
	}
	return append(filter, allow)
}

// refuseTCP installs the filter on the calling thread for good.
func refuseTCP() error {
	filter := tcpFilter(architectures[runtime.GOARCH])
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a few dozen
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return refused("seccomp", errno)
	}
	return nil
}
