package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// The accesses follow the Landlock version of the kernel.
func TestAttributes(t *testing.T) {
	const oldest = writing
	for abi, want := range map[int]unix.LandlockRulesetAttr{
		1: {Handled_access_fs: oldest},
		2: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER},
		3: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		4: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		5: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		6: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
			Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
		99: {Handled_access_fs: oldest | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
			Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		require.Equal(t, want, attributes(abi, false), "version %d", abi)
		if abi >= 4 {
			want.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
		require.Equal(t, want, attributes(abi, true), "version %d", abi)
		require.Zero(t, want.Handled_access_fs&(unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR|unix.LANDLOCK_ACCESS_FS_EXECUTE))
	}
}

// A missing kernel feature is an error with a remedy.
func TestJudgeLandlock(t *testing.T) {
	for name, tt := range map[string]struct {
		abi   int
		err   error
		noTCP bool
		want  string // "": supported
	}{
		"none":             {0, unix.ENOSYS, false, "has no landlock"},
		"turned off":       {0, unix.EOPNOTSUPP, false, "is turned off"},
		"forbidden":        {0, unix.EPERM, false, "operation not permitted"},
		"the first":        {1, nil, false, "does not restrict truncating files; that takes version 3"},
		"before cutting":   {2, nil, true, "does not restrict truncating files"},
		"with cutting":     {3, nil, false, ""},
		"before TCP":       {3, nil, true, "TCP connections cannot be refused: this kernel's landlock, of version 3"},
		"with TCP":         {4, nil, true, ""},
		"one not heard of": {99, nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if architectures[runtime.GOARCH] == 0 && tt.noTCP {
				t.Skip("TCP cannot be refused on " + runtime.GOARCH)
			}
			err := judgeLandlock(tt.abi, tt.err, tt.noTCP)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, tt.want)
			require.NotEmpty(t, fault.As(err).Remedy)
		})
	}
}

// A confined thread is not the process's first one, which would not end, and ends with its
// function.
func TestApart(t *testing.T) {
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			var tid int
			apart(func() { tid = unix.Gettid() })
			if tid == 0 || tid == unix.Getpid() {
				t.Errorf("thread %d of process %d", tid, unix.Getpid())
			}
		})
	}
	wg.Wait()
}

// If the kernel refuses, nothing is started.
func TestRefused(t *testing.T) {
	var err error
	apart(func() { err = restrict(-1) })
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.True(t, errors.Is(err, unix.EBADF))

	if err := supportsLandlock(false); err != nil {
		t.Skip(err)
	}
	// The kernel limits the number of nested confinements.
	apart(func() {
		for range 100 {
			var ruleset int
			if ruleset, err = newRuleset([]string{"/"}, "/dev", false); err != nil {
				return
			}
			err = restrict(ruleset)
			_ = unix.Close(ruleset)
			if err != nil {
				return
			}
		}
	})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.True(t, errors.Is(err, unix.E2BIG))
}

// Devices may be links to other devices, and to files that are not devices.
func TestDevicesByLink(t *testing.T) {
	if err := supportsLandlock(false); err != nil {
		t.Skip(err)
	}
	top := t.TempDir()
	dev, outside := filepath.Join(top, "dev"), filepath.Join(top, "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(dev, "pts"), 0o700))
	for _, path := range []string{outside, dev + "/urandom", dev + "/disk", dev + "/pts/ptmx", dev + "/pts/0"} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "random": dev + "/urandom", "null": "../outside", "zero": "nowhere", "full": "full", "tty": ".",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dev, name)))
	}
	require.NoError(t, os.Symlink("dev", filepath.Join(top, "link")))
	for _, by := range []string{dev, filepath.Join(top, "link")} {
		var writable []string
		var err error
		apart(func() {
			var ruleset int
			if ruleset, err = newRuleset(nil, by, false); err != nil {
				return
			}
			defer unix.Close(ruleset) //nolint:errcheck // a test
			if err = restrict(ruleset); err != nil {
				return
			}
			for _, name := range []string{"ptmx", "pts/ptmx", "random", "urandom", "null", "zero", "full", "disk", "pts/0"} {
				if f, err := os.OpenFile(filepath.Join(by, name), os.O_WRONLY, 0); err == nil {
					writable = append(writable, name)
					_ = f.Close()
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, []string{"ptmx", "pts/ptmx", "random", "urandom"}, writable)
	}
}

// The filter allows unrelated system calls, and ends processes that make system calls of another
// architecture.
func TestTCPFilter(t *testing.T) {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		t.Skip("there is no filter for " + runtime.GOARCH)
	}
	var data = func(arch, number uint32, arguments ...uint32) [64]byte {
		var d [64]byte
		put := func(at int, v uint32) {
			for i := range 4 {
				d[at+i] = byte(v >> (8 * i))
			}
		}
		put(0, number)
		put(4, arch)
		for i, a := range arguments {
			put(16+8*i, a)
		}
		return d
	}
	const allow = unix.SECCOMP_RET_ALLOW
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	for name, tt := range map[string]struct {
		data [64]byte
		want uint32
	}{
		"read":                 {data(arch, unix.SYS_READ, 0, 0, unix.IPPROTO_MPTCP), allow},
		"a TCP socket":         {data(arch, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), errno(unix.EACCES)},
		"a TCP socket, IPv6":   {data(arch, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, 0), errno(unix.EACCES)},
		"one with flags":       {data(arch, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0), errno(unix.EACCES)},
		"a multipath socket":   {data(arch, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), errno(unix.EACCES)},
		"a socket of SMC":      {data(arch, unix.SYS_SOCKET, unix.AF_SMC, unix.SOCK_STREAM, 1), errno(unix.EACCES)},
		"a socket of RDS":      {data(arch, unix.SYS_SOCKET, unix.AF_RDS, unix.SOCK_SEQPACKET, 0), errno(unix.EACCES)},
		"a UDP socket":         {data(arch, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0), allow},
		"a UDP socket, IPv6":   {data(arch, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP), allow},
		"a Unix socket":        {data(arch, unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0), allow},
		"a pair":               {data(arch, unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0), allow},
		"of the kernel":        {data(arch, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0), allow},
		"sendto":               {data(arch, unix.SYS_SENDTO, 0, 0, 0, unix.MSG_NOSIGNAL), allow},
		"sendto, connecting":   {data(arch, unix.SYS_SENDTO, 0, 0, 0, unix.MSG_NOSIGNAL|unix.MSG_FASTOPEN), errno(unix.EOPNOTSUPP)},
		"sendmsg":              {data(arch, unix.SYS_SENDMSG, 0, 0, 0, unix.MSG_FASTOPEN), allow},
		"sendmsg, connecting":  {data(arch, unix.SYS_SENDMSG, 0, 0, unix.MSG_FASTOPEN), errno(unix.EOPNOTSUPP)},
		"sendmmsg, connecting": {data(arch, unix.SYS_SENDMMSG, 0, 0, 0, unix.MSG_FASTOPEN), errno(unix.EOPNOTSUPP)},
		"io_uring":             {data(arch, unix.SYS_IO_URING_SETUP), errno(unix.ENOSYS)},
		"x32":                  {data(arch, 0x40000000|unix.SYS_SOCKET), errno(unix.ENOSYS)},
		"no call":              {data(arch, 0xffffffff), errno(unix.ENOSYS)},
		"another architecture": {data(arch+1, unix.SYS_READ), unix.SECCOMP_RET_KILL_PROCESS},
	} {
		require.Equal(t, tt.want, evaluate(t, tcpFilter(arch), tt.data), name)
	}
	const power = unix.AUDIT_ARCH_PPC64LE // socketcall stands for all calls about sockets
	require.Equal(t, errno(unix.ENOSYS), evaluate(t, tcpFilter(power), data(power, 102, 1)))
	require.Equal(t, errno(unix.EACCES), evaluate(t, tcpFilter(power), data(power, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM)))
}

// evaluate runs a filter as the kernel does.
func evaluate(t *testing.T, filter []unix.SockFilter, data [64]byte) uint32 {
	t.Helper()
	var a uint32
	for i := 0; ; i++ {
		f := filter[i]
		holds := false
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = uint32(data[f.K]) | uint32(data[f.K+1])<<8 | uint32(data[f.K+2])<<16 | uint32(data[f.K+3])<<24
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= f.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == f.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= f.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&f.K != 0
		default:
			t.Fatalf("instruction %d: code %d", i, f.Code)
		}
		if holds {
			i += int(f.Jt)
		} else {
			i += int(f.Jf)
		}
	}
}

// Starting a confined command fails in the same cases as a plain one.
func TestBeginFails(t *testing.T) {
	if err := supportsLandlock(false); err != nil {
		t.Skip(err)
	}
	s := New(Options{Confinement: Confinement{Kind: Landlock}})
	defer s.Close() //nolint:errcheck // a test
	cmd := exec.Command("/no/such/program")
	require.ErrorIs(t, s.starter(t.Context(), ConfineDefault).begin(cmd), unix.ENOENT)
}
