package process_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/process"
)

// scene is a machine with secrets and servers, for attacks by confined commands. It belongs to an
// unprivileged user.
type scene struct {
	s        *process.Service
	ws, home string
	top      string
}

// attacked returns a scene as the user nobody; ok is false in root's run.
func attacked(t *testing.T, change func(c *process.Confinement)) (sc scene, ok bool) {
	t.Helper()
	t.Setenv("TMPDIR", "/var/tmp")
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"home/.ssh", "home/.config/git", "home/go/pkg", "ws/.git/hooks", "ws/src", "outside", "cache"} {
			require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
		}
		for _, file := range []string{"home/.ssh/id", "home/.config/git/config", "home/.config/git/credentials", "home/.bashrc", "ws/.git/config", "ws/secret.pem", "outside/file"} {
			require.NoError(t, os.WriteFile(filepath.Join(top, file), []byte("content\n"), 0o644))
		}
		require.NoError(t, exec.CommandContext(t.Context(), "chown", "-R", "65534:65534", top).Run())
	})
	if !ok {
		return scene{}, false
	}
	sc = scene{ws: filepath.Join(top, "ws"), home: filepath.Join(top, "home"), top: top}
	c := process.Confinement{
		Kind: process.Namespaces, NoTCP: true, Writable: []string{sc.ws}, Home: sc.home, Cache: filepath.Join(top, "cache"),
		IsProtected: func(path string) bool { return filepath.Base(path) == ".git" },
	}
	if change != nil {
		change(&c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	sc.s = process.New(process.Options{
		Confinement: c, Environ: func() []string { return append(os.Environ(), "HOME="+sc.home, "LC_ALL=C") },
	})
	t.Cleanup(func() { require.NoError(t, sc.s.Close()) })
	return sc, true
}

func (sc scene) run(t *testing.T, line string) string {
	t.Helper()
	r, err := sc.s.Run(t.Context(), process.Command{Line: line, Dir: sc.ws})
	require.NoError(t, err)
	require.Empty(t, r.Signal)
	return r.Text
}

// SB-02: the files that a confined command may write and read. Every attempt that succeeds prints a word.
func TestConfinedFiles(t *testing.T) { testConfinedFiles(t, nil) }

// FK-04: the same in a fork, whose directory below does not change.
func TestConfinedFilesInFork(t *testing.T) { testConfinedFiles(t, inForkOf(t)) }

func testConfinedFiles(t *testing.T, fork func(*process.Confinement)) {
	t.Helper()
	sc, ok := attacked(t, func(c *process.Confinement) {
		if fork != nil {
			fork(c)
		}
		c.Masked = func(context.Context) ([]string, error) {
			return []string{filepath.Join(c.Writable[0], "secret.pem"), filepath.Join(c.Writable[0], "missing"), filepath.Join(c.Writable[0], "src")}, nil
		}
	})
	if !ok {
		return
	}
	for line, want := range map[string]string{
		`echo x >new && mkdir -p d/e && mv d f && rm -r new f && echo yes`:                                                                            "yes",
		`echo x >/tmp/a && cat $TMPDIR/a && echo x >/dev/shm/b && mkdir -p $XDG_CACHE_HOME && echo x >$XDG_CACHE_HOME/../c && echo yes`:               "x\nyes",
		`for d in / /etc /usr /usr/local /var /var/tmp /run /opt /srv /dev /proc /sys ~ ~/go ../outside ..; do (echo x >$d/new.txt) && echo $d; done`: "",
		`cat ~/.ssh/id ~/.bashrc ~/.config/git/credentials ../outside/file`:                                                                           "",
		`ls -A ~ ; cat ~/.config/git/config`: ".config\ngo\ncontent",
		`cat secret.pem; ls src; rm -f secret.pem && echo removed; mv secret.pem x && echo moved; cp secret.pem x && cat x`: "",
		`cat /dev/null && head -c 1 /dev/zero | wc -c && : >/dev/null && ls /dev/pts && test -w /dev/full && echo yes`:      "1\nptmx\nyes",
		`ls /run /home /root /var/run/`: "/home:\n\n/root:\n\n/run:\n\n/var/run/:",
		`chmod 777 /etc/passwd ../outside/file && echo yes; touch ../outside/file && echo yes; ln ../outside/file x && echo yes`: "",
		`cat .git/config; echo x >.git/hooks/pre-commit && echo yes; echo x >>.git/config && echo yes; rm -rf .git; ls .git`:     "content\nconfig\nhooks",
	} {
		require.Equal(t, want, strings.TrimSpace(sc.run(t, "exec 2>/dev/null; "+line)), line)
	}
}

// SB-02: mounts cannot be changed, neither directly nor in further namespaces.
func TestConfinedMounts(t *testing.T) { testConfinedMounts(t, nil) }

// FK-04: the same in a fork, whose directory below does not change.
func TestConfinedMountsInFork(t *testing.T) { testConfinedMounts(t, inForkOf(t)) }

func testConfinedMounts(t *testing.T, fork func(*process.Confinement)) {
	t.Helper()
	sc, ok := attacked(t, fork)
	if !ok {
		return
	}
	python := pythonOf(t)
	for _, line := range []string{
		"mount -o remount,rw,bind .git", "mount -o remount,rw /", "umount .git", "umount -l .git", "umount -l /run", "umount -l ~", "mount -t tmpfs x /mnt", "mount --bind /tmp .git",
		"mount -t proc proc /tmp", "mount --move .git /tmp", "unshare -r true", "unshare -rm umount .git", "unshare -m true", "unshare -n true", "unshare -p -f true",
		"nsenter -t 1 -m true", "nsenter -t 1 -U true", "nsenter --mount=/proc/1/ns/mnt true", "chroot /proc/1/root true", "ls /proc/1/root/", "cat /proc/1/environ", "cat /proc/1/fd/0", "readlink /proc/1/fd/0", "readlink /proc/1/cwd", "cat /proc/1/maps",
		"pivot_root . .git", "losetup -f", "mknod x b 254 0", "mknod x c 1 1", "ls /dev/vda /dev/kmsg /dev/mem",
		"hostname x", "date -s 2001-01-01", "dmesg", "su -c true", "sudo -n true",
		python + ` -c 'import ctypes,os; l=ctypes.CDLL(None,use_errno=True); exit(0 if l.unshare(0x10000000)==0 else 1)'`,
		python + ` -c 'import ctypes; l=ctypes.CDLL(None); exit(0 if l.syscall(435,0,0)>=0 else 1)'`,
		python + ` -c 'import ctypes; l=ctypes.CDLL(None); exit(0 if l.syscall(425,1,ctypes.create_string_buffer(200))>=0 else 1)'`,
		python + ` -c 'import ctypes; l=ctypes.CDLL(None); exit(0 if l.syscall(428,-100,b"/",1)>=0 else 1)'`,
		python + ` -c 'import ctypes; l=ctypes.CDLL(None); exit(0 if l.syscall(442,-100,b"/",0,bytes(32),32)==0 else 1)'`,
		python + ` -c 'import fcntl; fcntl.ioctl(0, 0x5412, b"x")'`,
		python + ` -c 'import socket; socket.socket(40, 1)'`,
		python + ` -c 'import socket; socket.socket(16, 3, 15)'`,
		python + ` -c 'import socket; socket.socket(38, 5)'`,
	} {
		require.Equal(t, "no", strings.TrimSpace(sc.run(t, "("+line+") >/dev/null 2>&1 && echo yes || echo no")), line)
	}
	require.Contains(t, sc.run(t, "grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'"),
		"CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n")
	require.Equal(t, "65534 65534\n", sc.run(t, "echo $(id -u) $(id -g)"))
}

// SB-02: processes outside cannot be seen, signalled or traced, and their sockets not reached.
func TestConfinedReach(t *testing.T) { testConfinedReach(t, nil) }

// FK-04: the same in a fork, whose directory below does not change.
func TestConfinedReachInFork(t *testing.T) { testConfinedReach(t, inForkOf(t)) }

func testConfinedReach(t *testing.T, fork func(*process.Confinement)) {
	t.Helper()
	sc, ok := attacked(t, fork)
	if !ok {
		return
	}
	victim := exec.CommandContext(t.Context(), "sleep", "1000")
	victim.Env = []string{"SECRET=victim"}
	require.NoError(t, victim.Start())
	defer victim.Wait()         //nolint:errcheck // it is killed
	defer victim.Process.Kill() //nolint:errcheck // it may have ended
	pid := strconv.Itoa(victim.Process.Pid)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close() //nolint:errcheck // nothing was sent
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	require.NoError(t, err)
	listen := func(name string) {
		l, err := net.Listen("unix", name)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
	}
	listen("@fettle-abstract-" + pid)
	listen(filepath.Join(sc.home, "agent.sock"))
	inGo := filepath.Join(sc.home, "go", "agent.sock") // in a readable directory
	listen(inGo)
	python := pythonOf(t)
	connect := func(address string) string {
		return python + ` -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(` + address + `)'`
	}
	for _, line := range []string{
		"kill -0 " + pid, "kill -9 " + pid, "kill -9 -1", "cat /proc/" + pid + "/cmdline", "cat /proc/" + pid + "/environ", "grep -r victim /proc/[0-9]*/environ", "kill -0 " + strconv.Itoa(os.Getpid()),
		"pgrep -x sleep", "(exec 3<>/dev/tcp/127.0.0.1/" + port + ")", "(exec 3<>/dev/tcp/1.1.1.1/80)", connect(`"\0fettle-abstract-` + pid + `"`), connect(`"` + filepath.Join(sc.home, "agent.sock") + `"`),
		connect(`"` + inGo + `"`), python + " -c 'import ctypes; l=ctypes.CDLL(None); exit(0 if l.ptrace(16," + pid + ",0,0)==0 else 1)'",
		"ipcs -m | grep -q 0x", "test -n \"$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS$XDG_RUNTIME_DIR\"",
	} {
		require.Equal(t, "no", strings.TrimSpace(sc.run(t, "{ "+line+"; } >/dev/null 2>&1 && echo yes || echo no")), line)
	}
	require.NoError(t, victim.Process.Signal(syscall.Signal(0)))
	// No descriptor but the three is inherited.
	require.Equal(t, "0 1 2 3\n", sc.run(t, "echo $(ls /proc/self/fd)"))
	if fork != nil {
		return
	}
	// Its own servers can be reached, also by later commands, and its own processes ended.
	r, err := sc.s.Run(t.Context(), process.Command{Line: python + " -m http.server 8123 --bind 127.0.0.1 >log 2>&1 & echo started", Dir: sc.ws})
	require.NoError(t, err)
	require.Len(t, r.Background, 1)
	require.Contains(t, sc.run(t, `for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/8123) 2>/dev/null && break; sleep 0.05; done; `+python+` -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8123/log").status)'`), "200")
	require.Equal(t, "ended\n", sc.run(t, "kill "+strconv.Itoa(r.Background[0])+" && echo ended"))
}

// pythonOf returns a system python, or skips the test.
func pythonOf(t *testing.T) string {
	t.Helper()
	const path = "/usr/bin/python3"
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no python3")
	}
	return path
}

// SB-02: a process that an earlier command has left cannot stop a command while it starts, when
// fettle waits for it.
func TestConfinedStop(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) { c.PerCommand = false })
	for _, signal := range []string{"STOP", "TSTP", "TTIN", "TTOU"} {
		_, err := s.Start(t.Context(), process.Command{Dir: ws, Line: "trap '' TSTP TTIN TTOU; while :; do kill -" + signal + " -1; done 2>/dev/null"})
		require.NoError(t, err)
	}
	for range 20 {
		_, err := s.Run(t.Context(), process.Command{Dir: ws, Line: "trap '' TSTP TTIN TTOU; :"})
		require.NoError(t, err)
	}
}

// SB-03: a protected name that is a link keeps its entry: it cannot be removed, moved or replaced,
// whether its target is a file, a directory or missing.
func TestConfinedLinkStays(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) {
		c.IsProtected = func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") }
	})
	require.NoError(t, os.Mkdir(filepath.Join(ws, "dir"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(ws, "file"), []byte("good"), 0o600))
	targets := []string{"file", "dir", "missing"}
	for _, target := range targets {
		require.NoError(t, os.Symlink(target, filepath.Join(ws, ".env."+target)))
	}
	for _, line := range []string{
		"rm -rf $l", "mv $l moved", "mkdir -p sub; mv $l sub/$l", "ln -sfn other $l", "echo evil >f; mv -fT f $l", "mkdir d; mv -fT d $l", "unlink $l; mkdir $l", "ln f hard; ln -fT hard $l",
		"(sleep 0.05; mv -fT f $l; rm $l) & sleep 0.1",
	} {
		for _, target := range targets {
			r, err := s.Run(t.Context(), process.Command{Dir: ws, Confine: process.ConfineWrite, Line: "exec 2>/dev/null; l=.env." + target + "; " + line})
			require.NoError(t, err)
			require.Empty(t, r.Removed, line)
			link, err := os.Readlink(filepath.Join(ws, ".env."+target))
			require.NoError(t, err, line)
			require.Equal(t, target, link, line)
		}
	}
	text, err := os.ReadFile(filepath.Join(ws, ".env.file"))
	require.NoError(t, err)
	require.Equal(t, "good", string(text))
}
