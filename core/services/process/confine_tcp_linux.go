package process

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the processors that [tcpFilter] supports, by the kernel's names. All are
// little-endian, so the lower half of a number comes first.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64, "ppc64le": unix.AUDIT_ARCH_PPC64LE,
}

// tcpFilter is the seccomp program that denies every socket that can carry TCP, including multipath
// TCP and the families that the kernel itself carries over TCP (SMC, RDS). Landlock alone would
// allow listening on an unbound socket. For sockets that another process created, which Landlock
// controls, the filter denies connecting with the first data, which Landlock may not see. It also
// denies ways past the filter: system calls that the kernel makes for a process, the multiplexed
// socketcall, and system calls of another architecture, for which the process is ended.
func tcpFilter(arch uint32) []unix.SockFilter {
	const (
		number, architecture, arguments = 0, 4, 16 // offsets in struct seccomp_data

		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		has   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		mask  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K

		x32        = 0x40000000 // marks the system calls of another architecture that has the same name
		socketcall = 102        // of ppc64le; its arguments are in memory, where no filter can read them
		kinds      = 0xf        // bits of a socket's type; the others are flags
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
	if arch == unix.AUDIT_ARCH_PPC64LE {
		filter = append(filter, unix.SockFilter{Code: equal, K: socketcall, Jf: 1}, fails(unix.ENOSYS))
	}
	filter = append(filter,
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jf: 10},
		unix.SockFilter{Code: load, K: arguments}, // the family
		unix.SockFilter{Code: equal, K: unix.AF_SMC, Jt: 7},
		unix.SockFilter{Code: equal, K: unix.AF_RDS, Jt: 6},
		unix.SockFilter{Code: equal, K: unix.AF_INET, Jt: 1},
		unix.SockFilter{Code: equal, K: unix.AF_INET6, Jf: 3},
		unix.SockFilter{Code: load, K: arguments + 8}, // the type
		unix.SockFilter{Code: mask, K: kinds},
		unix.SockFilter{Code: equal, K: unix.SOCK_STREAM, Jt: 1},
		allow,
		fails(unix.EACCES),
	)
	for _, call := range []struct {
		number, argument uint32 // the argument that contains the flags
	}{
		{unix.SYS_SENDTO, 3},
		{unix.SYS_SENDMSG, 2},
		{unix.SYS_SENDMMSG, 3},
	} {
		filter = append(filter,
			unix.SockFilter{Code: equal, K: call.number, Jf: 4},
			unix.SockFilter{Code: load, K: arguments + 8*call.argument},
			unix.SockFilter{Code: has, K: unix.MSG_FASTOPEN, Jf: 1},
			fails(unix.EOPNOTSUPP),
			allow,
		)
	}
	return append(filter, allow)
}

// refuseTCP installs the filter on the calling thread permanently.
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
