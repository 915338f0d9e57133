package process_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/services/process"
)

// TestConfinedNetworkHelper is not a test: the commands below run it.
func TestConfinedNetworkHelper(t *testing.T) {
	address := os.Getenv("FETTLE_TEST_ADDRESS")
	var err error
	switch way := os.Getenv("FETTLE_TEST_WAY"); way {
	case "":
		t.Skip("it is for the commands of another test")
	case "listen":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			err = l.Close()
		}
	case "listen unbound", "listen unbound, IPv6":
		err = listenUnbound(way)
	case "SMC":
		var fd int
		if fd, err = unix.Socket(unix.AF_SMC, unix.SOCK_STREAM, 0); err == nil {
			err = unix.Close(fd)
		}
	case "multipath", "fast open", "fast open message":
		err = connectBy(way, netip.MustParseAddrPort(address))
	case "io_uring":
		if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0); errno == unix.ENOSYS {
			err = unix.EACCES
		}
	default:
		var c net.Conn
		if c, err = net.Dial(way, address); err == nil {
			_, err = c.Write([]byte("hello"))
			require.NoError(t, c.Close())
		}
	}
	require.NoError(t, err)
}

// listenUnbound listens for TCP connections at a port that the kernel chooses.
func listenUnbound(way string) error {
	family := unix.AF_INET
	if strings.HasSuffix(way, "IPv6") {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // a test
	return unix.Listen(fd, 1)
}

// connectBy opens a TCP connection in a way that package net does not.
func connectBy(way string, to netip.AddrPort) error {
	protocol := 0
	if way == "multipath" {
		protocol = unix.IPPROTO_MPTCP
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // a test
	address := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	switch way {
	case "fast open":
		return unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, address)
	case "fast open message":
		return unix.Sendmsg(fd, []byte("hello"), nil, address, unix.MSG_FASTOPEN)
	}
	return unix.Connect(fd, address)
}

// TCP is refused by every method, other networks are not, and only if the confinement requests it.
func TestConfinedNetwork(t *testing.T) {
	ws := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	path := filepath.Join(ws, "s")
	local, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer local.Close()
	var accepting sync.WaitGroup
	defer accepting.Wait()
	for _, l := range []net.Listener{tcp, local} {
		defer l.Close()
		accepting.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		})
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()

	try := func(s *process.Service, way, address string) process.Result {
		return runIn(t, s, ws, "", fmt.Sprintf("GORACE=atexit_sleep_ms=0 FETTLE_TEST_WAY='%s' FETTLE_TEST_ADDRESS='%s' %s -test.run='^TestConfinedNetworkHelper$'", way, address, self))
	}
	free := landlocked(t, ws)
	closed := free
	closed.NoTCP = true
	if err := closed.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	plain := newService(t, process.Options{})
	for name, c := range map[string]process.Confinement{"free": free, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, process.Options{Confinement: c})
			for _, way := range []string{"tcp", "listen", "listen unbound", "listen unbound, IPv6", "SMC", "multipath", "fast open", "fast open message", "io_uring"} {
				r := try(s, way, tcp.Addr().String())
				if c.NoTCP {
					require.NotZero(t, r.Code, "%s: %s", way, r.Text)
					require.Contains(t, r.Text, "permission denied", way)
					continue
				}
				require.Equal(t, try(plain, way, tcp.Addr().String()).Code, r.Code, "%s: %s", way, r.Text)
			}
			require.Equal(t, c.NoTCP, runIn(t, s, ws, "", fmt.Sprintf("echo > /dev/tcp/127.0.0.1/%d", tcp.Addr().(*net.TCPAddr).Port)).Code != 0)
			r := try(s, "unix", path)
			require.Zero(t, r.Code, r.Text)
			r = try(s, "udp", udp.LocalAddr().String())
			require.Zero(t, r.Code, r.Text)
			b := make([]byte, 10)
			n, _, err := udp.ReadFrom(b)
			require.NoError(t, err)
			require.Equal(t, "hello", string(b[:n]))
		})
	}
}
