//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// refusedCalls are the system calls that fail with EPERM.
var refusedCalls = [...]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, openTreeAttr, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_QUOTACTL, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// openTreeAttr is the system call open_tree_attr.
const openTreeAttr = 467

// missingCalls are the system calls that fail with ENOSYS: programs then use an older one, which
// can be filtered.
var missingCalls = [...]uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// families are the address families of sockets that commands may create. Of AF_NETLINK only the
// protocol for network interfaces and routes is allowed. Commands that only read create no AF_UNIX
// sockets, except for connected pairs: a connection can have effects outside.
var families = [...]uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// signalCalls are the system calls that send signals, and the argument that is the signal. SIGSTOP
// is refused: a process could stop the child of another command before it executes a program, which
// this process waits for.
var signalCalls = [...]struct{ number, argument uint32 }{
	{unix.SYS_KILL, 1}, {unix.SYS_TKILL, 1}, {unix.SYS_TGKILL, 2}, {unix.SYS_RT_SIGQUEUEINFO, 1}, {unix.SYS_RT_TGSIGQUEUEINFO, 2}, {unix.SYS_PIDFD_SEND_SIGNAL, 1},
}

// seccompFilter returns the filter of commands. It refuses CLONE_PARENT, because a child of this
// process would not be found among the processes that ended commands have left running. Programs of
// another architecture are ended, because their system calls have other numbers.
func seccompFilter(readOnly bool) []unix.SockFilter {
	const (
		number, architecture, arguments = 0, 4, 16 // offsets in struct seccomp_data

		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		has   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K

		newest   = 471 // the first system call that this filter does not know; those of the architecture x32 have higher numbers
		newSpace = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	)
	fail := func(errno uint32) unix.SockFilter {
		return unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | errno}
	}
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	filter := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: equal, K: arch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: number},
		{Code: least, K: newest, Jf: 1},
		fail(uint32(unix.ENOSYS)),
	}
	for _, call := range missingCalls {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jf: 1}, fail(uint32(unix.ENOSYS)))
	}
	for _, call := range refusedCalls {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jf: 1}, fail(uint32(unix.EPERM)))
	}
	for _, call := range []struct{ number, flags uint32 }{
		{unix.SYS_CLONE, newSpace | unix.CLONE_PARENT}, {unix.SYS_UNSHARE, newSpace | unix.CLONE_NEWTIME},
	} {
		filter = append(filter, unix.SockFilter{Code: equal, K: call.number, Jf: 4},
			unix.SockFilter{Code: load, K: arguments}, unix.SockFilter{Code: has, K: call.flags, Jf: 1}, fail(uint32(unix.EPERM)), allow)
	}
	for _, call := range signalCalls {
		filter = append(filter, unix.SockFilter{Code: equal, K: call.number, Jf: 4},
			unix.SockFilter{Code: load, K: arguments + 8*call.argument}, unix.SockFilter{Code: equal, K: uint32(unix.SIGSTOP), Jf: 1}, fail(uint32(unix.EPERM)), allow)
	}
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_FCNTL, Jf: 6},
		unix.SockFilter{Code: load, K: arguments + 8}, unix.SockFilter{Code: equal, K: unix.F_SETSIG, Jf: 3},
		unix.SockFilter{Code: load, K: arguments + 16}, unix.SockFilter{Code: equal, K: uint32(unix.SIGSTOP), Jf: 1}, fail(uint32(unix.EPERM)), allow)
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_IOCTL, Jf: 5},
		unix.SockFilter{Code: load, K: arguments + 8},
		unix.SockFilter{Code: equal, K: unix.TIOCSTI, Jt: 1}, unix.SockFilter{Code: equal, K: unix.TIOCLINUX, Jf: 1}, fail(uint32(unix.EPERM)), allow)
	filter = append(filter, unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jt: 1}, allow, unix.SockFilter{Code: load, K: arguments})
	for _, family := range families {
		if readOnly && family == unix.AF_UNIX {
			continue
		}
		filter = append(filter, unix.SockFilter{Code: equal, K: family, Jf: 1}, allow)
	}
	return append(filter, unix.SockFilter{Code: equal, K: unix.AF_NETLINK, Jf: 3},
		unix.SockFilter{Code: load, K: arguments + 16}, unix.SockFilter{Code: equal, K: unix.NETLINK_ROUTE, Jf: 1}, allow,
		fail(uint32(unix.EAFNOSUPPORT)))
}
