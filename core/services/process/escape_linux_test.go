package process_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
)

// escape is a command line that attempts to leave the sandbox. The variables H, W, O, N, PID, TCP,
// TCP6, UDP and ABS name the targets; p runs perl with the numbers of system calls.
type escape struct{ name, line string }

// secretWord marks everything that a confined command must not read.
const secretWord = "CANARY"

// world is the surroundings of the sandbox, with their state before the attempts.
type world struct {
	s                                *process.Service
	top, home, ws, outside, neighbor string
	files                            map[string]string
	accepted                         atomic.Int32 // connections and datagrams that reached a listener
	listeners                        []net.Addr
	sentinel                         *exec.Cmd
	machine                          string
	vars                             string
	fork                             *forkOfWorld // nil: commands write in the workspace itself
}

var worldFiles = []string{
	"home/.gem/credentials", "home/.local/share/uv/credentials/credentials.toml", "home/.rye/credentials", "home/.cargo/credentials.toml", "home/.julia/servers/x/auth.toml", "home/.dotnet/corefx/cryptography/x509stores/my/key",
	"home/.opam/plugins/opam-publish/u.token", "home/.m2/settings.xml", "home/.config/pip/secret", "home/.bash_profile",
	"home/.ssh/id_ed25519", "home/.aws/credentials", "home/.bashrc", "home/.profile", "home/.npmrc", "home/.config/gh/hosts.yml", "home/.cache/go-build/x",
	"home/.config/go/telemetry", "home/.git-credentials", "outside/file", "outside/dir/file", "neighbor/.ssh/id", "ws/.env", "ws/secret.pem", "ws/deep/er/secret.pem", "ws/withheld/key",
}

var openFiles = []string{
	"ws/.git/HEAD", "ws/.git/config", "ws/.git/hooks/pre-commit", "ws/sub/.git/config", "ws/.github/workflows/ci.yml", "ws/AGENTS.md", "ws/sub/AGENTS.md", "ws/.vscode/tasks.json",
	"ws/.fettle/policies.toml", "ws/.mcp.json", "ws/.husky/pre-commit", "home/.gitconfig", "home/.local/bin/tool", "ws/tree/tools/hooks/pre-commit", "ws/store/objects/x", "ws/store/refs/x",
	"ws/notes/agents.txt", "ws/.yarn/releases/yarn.cjs",
}

// repositoryFiles are those of repositories whose directory is not named .git; the text of each.
var repositoryFiles = map[string]string{
	"ws/tree/.git": "gitdir: ../store\n", "ws/store/HEAD": "ref: refs/heads/main\n", "ws/store/config": "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.gitconfig\n[include]\n\tpath = ../missing.gitconfig\n",
	"ws/shared.gitconfig": "[user]\n\tname = a\n", "ws/linked/.git": "gitdir: ../linkedstore/worktrees/w\n", "ws/linkedstore/worktrees/w/HEAD": "ref: refs/heads/w\n", "ws/linkedstore/worktrees/w/commondir": "../..\n",
	"ws/linkedstore/config": "[core]\n\thooksPath = later/hooks\n[filter \"x\"]\n\tclean = ./tools/clean.sh %f\n", "ws/linked/tools/clean.sh": "cat\n",
}

// neverFiles must not come into being: the configuration of a repository names them.
var neverFiles = []string{"ws/missing.gitconfig", "ws/linked/later/hooks"}

// peerSockets are sockets of other processes in the workspace.
var peerSockets = []string{"ws/peer.sock", "ws/deep/peer.sock", "ws/relative.sock"}

func prepareWorld(t *testing.T, top string) {
	t.Helper()
	prepareWorldFiles(t, top)
	require.NoError(t, exec.CommandContext(t.Context(), "chown", "-R", "65534:65534", top).Run())
}

func prepareWorldFiles(t *testing.T, top string) {
	t.Helper()
	write := func(files []string, text string) {
		for _, f := range files {
			path := filepath.Join(top, f)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text+" "+f+"\n"), 0o644))
		}
	}
	write(worldFiles, secretWord)
	write(openFiles, "content")
	for f, text := range repositoryFiles {
		path := filepath.Join(top, f)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	_ = os.Remove(filepath.Join(top, "ws/GEMINI.md"))
	require.NoError(t, os.Symlink("notes/agents.txt", filepath.Join(top, "ws/GEMINI.md")))
	for _, dir := range []string{"ws/src", "cache", "ws/free"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
}

// newWorld starts the listeners, the sentinel and the Service.
func newWorld(t *testing.T, top string, change ...func(w *world, c *process.Confinement)) *world {
	t.Helper()
	w := &world{top: top, home: filepath.Join(top, "home"), ws: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside"), neighbor: filepath.Join(top, "neighbor")}
	engine, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	secrets := []string{filepath.Join(w.ws, ".env"), filepath.Join(w.ws, "secret.pem"), filepath.Join(w.ws, "deep/er/secret.pem"), filepath.Join(w.ws, "withheld")}
	repositories := gitdir.NewWatch(nil)
	c := process.Confinement{
		Protected: func(existing []string) (paths []string) {
			for _, path := range existing {
				if filepath.Base(path) == ".git" {
					paths = append(paths, repositories.Steering(filepath.Dir(path))...)
				}
			}
			return paths
		},
		Kind: process.Namespaces, NoTCP: true, PerCommand: true, Writable: []string{w.ws}, Home: w.home, Cache: filepath.Join(top, "cache"),
		IsProtected: func(path string) bool { return engine.Protects(path, []string{w.ws}) || gitdir.IsMember(path) },
		Masked:      func(context.Context) ([]string, error) { return secrets, nil },
	}
	for _, f := range change {
		f(w, &c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	w.s = newService(t, process.Options{
		Confinement: c, Environ: func() []string {
			return append(os.Environ(), "HOME="+w.home, "LC_ALL=C", "GEMINI_API_KEY="+secretWord+"-key", "SSH_AUTH_SOCK="+w.home+"/agent.sock")
		},
		IsKey: func(name string) bool { return name == "GEMINI_API_KEY" },
	})
	listen := func(network, address string) string {
		l, err := net.Listen(network, address) //nolint:noctx // closed with the test
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		w.listeners = append(w.listeners, l.Addr())
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				w.accepted.Add(1)
				_ = conn.Close()
			}
		}()
		return l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':')+1:]
	}
	abstract := "fettle-escape-" + strconv.Itoa(os.Getpid())
	listen("unix", "@"+abstract)
	for _, path := range []string{filepath.Join(w.home, "agent.sock"), filepath.Join(w.outside, "s.sock"), "/tmp/" + abstract + ".sock"} {
		listen("unix", path)
	}
	for _, socket := range peerSockets {
		path := filepath.Join(top, socket)
		_ = os.Remove(path)
		if strings.Contains(path, "relative") {
			t.Chdir(filepath.Dir(path)) // the listener of the absolute path below is another
			path = filepath.Base(path)
		}
		listen("unix", path)
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // closed with the test
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.Close() })
	w.listeners = append(w.listeners, u.LocalAddr())
	go func() {
		for {
			_, from, err := u.ReadFrom(make([]byte, 1))
			if err != nil {
				return
			}
			w.accepted.Add(1)
			_, _ = u.WriteTo(nil, from)
		}
	}()
	tcp6 := "1"
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil { //nolint:noctx // closed at once
		_ = l.Close()
		tcp6 = listen("tcp6", "[::1]:0")
	}
	w.sentinel = exec.CommandContext(t.Context(), "sleep", "1000")
	w.sentinel.Env = []string{"SECRET=" + secretWord + "-sentinel"}
	require.NoError(t, w.sentinel.Start())
	t.Cleanup(func() { _ = w.sentinel.Process.Kill(); _ = w.sentinel.Wait() })

	_, udp, err := net.SplitHostPort(u.LocalAddr().String())
	require.NoError(t, err)
	w.vars = fmt.Sprintf("export H='%s' W='%s' O='%s' N='%s' PID=%d FETTLE=%d TCP=%s TCP6=%s UDP=%s ABS=%s\n",
		w.home, w.ws, w.outside, w.neighbor, w.sentinel.Process.Pid, os.Getpid(), listen("tcp", "127.0.0.1:0"), tcp6, udp, abstract)
	for name, number := range map[string]int{
		"memfd": unix.SYS_MEMFD_CREATE, "execveat": unix.SYS_EXECVEAT, "fchmod": unix.SYS_FCHMOD, "inotify": unix.SYS_INOTIFY_INIT1, "watch": unix.SYS_INOTIFY_ADD_WATCH, "shmget": unix.SYS_SHMGET, "mq_open": unix.SYS_MQ_OPEN,
		"sendmsg": unix.SYS_SENDMSG, "seccomp": unix.SYS_SECCOMP, "move_pages": unix.SYS_MOVE_PAGES, "madvise": unix.SYS_PROCESS_MADVISE, "fchownat": unix.SYS_FCHOWNAT, "mount": unix.SYS_MOUNT, "umount": unix.SYS_UMOUNT2, "chroot": unix.SYS_CHROOT, "pivot_root": unix.SYS_PIVOT_ROOT, "unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS,
		"clone": unix.SYS_CLONE, "ptrace": unix.SYS_PTRACE, "vm_readv": unix.SYS_PROCESS_VM_READV, "vm_writev": unix.SYS_PROCESS_VM_WRITEV, "kcmp": unix.SYS_KCMP,
		"bpf": unix.SYS_BPF, "perf": unix.SYS_PERF_EVENT_OPEN, "uffd": unix.SYS_USERFAULTFD, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY,
		"by_handle": unix.SYS_OPEN_BY_HANDLE_AT, "handle": unix.SYS_NAME_TO_HANDLE_AT, "linkat": unix.SYS_LINKAT, "openat": unix.SYS_OPENAT, "renameat2": unix.SYS_RENAMEAT2,
		"mknodat": unix.SYS_MKNODAT, "sethostname": unix.SYS_SETHOSTNAME, "settime": unix.SYS_CLOCK_SETTIME, "fanotify": unix.SYS_FANOTIFY_INIT, "symlinkat": unix.SYS_SYMLINKAT,
		"fchmodat": unix.SYS_FCHMODAT, "unlinkat": unix.SYS_UNLINKAT, "utimensat": unix.SYS_UTIMENSAT, "setxattr": unix.SYS_SETXATTR, "capset": unix.SYS_CAPSET, "prctl": unix.SYS_PRCTL, "swapon": unix.SYS_SWAPON,
		"prlimit": unix.SYS_PRLIMIT64, "setpriority": unix.SYS_SETPRIORITY, "sched": unix.SYS_SCHED_SETAFFINITY, "tgkill": unix.SYS_TGKILL, "sigqueue": unix.SYS_RT_SIGQUEUEINFO, "truncate": unix.SYS_TRUNCATE,
		"fallocate": unix.SYS_FALLOCATE, "copy_range": unix.SYS_COPY_FILE_RANGE, "openat2": unix.SYS_OPENAT2, "kexec": unix.SYS_KEXEC_LOAD, "module": unix.SYS_INIT_MODULE, "acct": unix.SYS_ACCT, "reboot": unix.SYS_REBOOT,
	} {
		w.vars += fmt.Sprintf("export %s=%d\n", name, number)
	}
	if w.fork != nil {
		w.vars += w.fork.vars()
	}
	w.vars += `p() { perl -e 'use Fcntl; use Socket; sub nr { syscall($ENV{$_[0]}, @_[1..$#_]) } sub got { open(my $f, "<&=", $_[0]) or return; print <$f> } ' -e "$@"; }
umask 022
`
	w.files, w.machine = w.look(t), w.state()
	return w
}

// isKept reports whether a path of the workspace must stay as it is.
func (w *world) isKept(path string) bool {
	rest := strings.TrimPrefix(path, w.top+"/")
	return slices.Contains(openFiles, rest) || slices.Contains(worldFiles, rest) || repositoryFiles[rest] != "" || slices.Contains(neverFiles, rest) || slices.Contains(peerSockets, rest)
}

// look returns the files around the sandbox, and in the workspace those that are protected or that
// the test created.
func (w *world) look(t *testing.T) map[string]string {
	t.Helper()
	engine, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	seen := make(map[string]string)
	visit := func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is not as it was, or not ours
		}
		if w.fork != nil && strings.HasPrefix(path, w.ws+"/") {
			// no file of the directory below changes
		} else if w.fork.has(path) {
			return fs.SkipDir // it may change
		} else if strings.HasPrefix(path, w.ws+"/") && !w.isKept(path) && !engine.Protects(path, []string{w.ws}) && !gitdir.IsMember(path) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it has gone
		}
		stat, _ := info.Sys().(*syscall.Stat_t)
		text := ""
		if info.Mode().IsRegular() {
			b, _ := os.ReadFile(path)
			text = string(b)
		}
		link, _ := os.Readlink(path)
		nlink := stat.Nlink
		if d.IsDir() {
			nlink = 0
		}
		seen[path] = fmt.Sprintf("%v %d:%d %d %q %q", info.Mode(), stat.Uid, stat.Gid, nlink, link, text)
		return nil
	}
	for _, dir := range []string{w.home, w.outside, w.neighbor, w.ws} {
		require.NoError(t, filepath.WalkDir(dir, visit))
	}
	return seen
}

// state returns the state of the machine that attempts may change.
func (w *world) state() string {
	var b strings.Builder
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) < 5 || strings.HasPrefix(fields[4], w.top) || !strings.Contains(fields[4], "/Test") { // tests of other packages mount in their temporary directories
			b.WriteString(line)
		}
	}
	for _, file := range []string{"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/vm/swappiness", "/proc/self/oom_score_adj", "/etc/hosts"} {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(&b, "%s: %s\n", file, text)
	}
	for _, path := range []string{"/", "/etc", "/usr/bin", "/dev", "/dev/null", "/dev/zero", "/dev/tty", "/etc/passwd", "/tmp", "/var/tmp", "/run", "/home", "/root"} {
		var s unix.Stat_t
		_ = unix.Lstat(path, &s)
		fmt.Fprintf(&b, "%s: %o %d:%d\n", path, s.Mode, s.Uid, s.Gid)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.sentinel.Process.Pid))
	for line := range bytes.Lines(status) {
		if bytes.HasPrefix(line, []byte("State:")) && bytes.ContainsAny(bytes.TrimPrefix(line, []byte("State:"))[:2], "TtZX") || bytes.HasPrefix(line, []byte("Cpus_allowed:")) || bytes.HasPrefix(line, []byte("ShdPnd:")) || bytes.HasPrefix(line, []byte("TracerPid:")) {
			fmt.Fprintf(&b, "sentinel %s", line)
		}
	}
	priority, _ := unix.Getpriority(unix.PRIO_PROCESS, w.sentinel.Process.Pid)
	var limit unix.Rlimit
	_ = unix.Prlimit(w.sentinel.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit)
	fmt.Fprintf(&b, "sentinel %d %v\n", priority, limit)
	for _, pattern := range []string{"/tmp/fettle-pwned*", "/var/tmp/fettle-pwned*", "/fettle-pwned*", "/etc/fettle-pwned*", "/run/fettle-pwned*", "/dev/fettle-pwned*", "/dev/shm/fettle-pwned*"} {
		found, _ := filepath.Glob(pattern)
		fmt.Fprintf(&b, "%s: %q\n", pattern, found)
	}
	return b.String()
}

// reset removes the files that a command has left in the workspace.
func (w *world) reset(t *testing.T) {
	t.Helper()
	if w.fork != nil {
		w.fork.reset(t)
		return
	}
	_ = filepath.WalkDir(w.ws, func(path string, d fs.DirEntry, err error) error {
		if path == w.ws || err != nil {
			return nil //nolint:nilerr // it was removed
		}
		for kept := range w.files {
			if kept == path || strings.HasPrefix(kept, path+"/") {
				return nil
			}
		}
		if path == w.ws+"/src" || path == w.ws+"/free" {
			return nil
		}
		if d.IsDir() {
			_ = exec.CommandContext(t.Context(), "chmod", "-R", "u+rwx", path).Run()
		}
		require.NoError(t, os.RemoveAll(path))
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// attempt runs a row, and returns how it escaped; "" if it did not.
func (w *world) attempt(t *testing.T, e escape, how process.Confine) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	r, err := w.s.Run(ctx, process.Command{Line: w.vars + e.line + "\necho; echo tried", Dir: w.ws, Confine: how})
	if took := time.Since(began); took > 200*time.Millisecond {
		t.Logf("%s took %v", e.name, took)
	}
	if err != nil {
		return "not started: " + err.Error()
	}
	w.settle(t, r)
	var escaped []string
	if strings.Contains(r.Text, secretWord) {
		escaped = append(escaped, "it read a secret: "+r.Text)
	}
	if !strings.Contains(r.Text, "tried") && r.Signal == "" && !strings.Contains(e.line, "exit") {
		escaped = append(escaped, "it did not run to its end: "+r.Text)
	}
	if r.RemoveError != nil {
		escaped = append(escaped, "a created path stayed: "+r.RemoveError.Error())
	}
	now := w.look(t)
	for path, before := range w.files {
		if now[path] != before {
			escaped = append(escaped, fmt.Sprintf("%s: %s is now %s", path, before, now[path]))
		}
	}
	for path, is := range now {
		if w.files[path] == "" {
			escaped = append(escaped, "created "+path+": "+is)
		}
	}
	if w.fork != nil {
		escaped = append(escaped, w.fork.changed(t, w)...)
		if r.Unrecorded != nil {
			escaped = append(escaped, "its changes are not recorded: "+r.Unrecorded.Error())
		}
	}
	if w.reached(t) {
		escaped = append(escaped, "it reached a listener")
	}
	if state := w.state(); state != w.machine {
		escaped = append(escaped, "the machine has changed: "+difference(w.machine, state))
	}
	return strings.Join(escaped, "\n")
}

// reached reports whether something has reached a listener since the last call. Each listener serves
// in order, so what came before a connection of the test has been counted when that one is answered.
func (w *world) reached(t *testing.T) bool {
	t.Helper()
	for _, address := range w.listeners {
		conn, err := net.Dial(address.Network(), address.String()) //nolint:noctx // closed below
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = conn.Write([]byte("x"))
		if address.Network() == "udp" {
			require.NoError(t, err)
		}
		_, _ = conn.Read(make([]byte, 1)) // ends when the listener closes the connection, or answers
		require.NoError(t, conn.Close())
	}
	return w.accepted.Swap(0) > int32(len(w.listeners)) //nolint:gosec // a few
}

// settle ends the processes that the command has left running, and lets the Service scan again.
func (w *world) settle(t *testing.T, r process.Result) {
	t.Helper()
	if len(r.Background) == 0 {
		return
	}
	outside, err := os.Readlink("/proc/self/ns/pid")
	require.NoError(t, err)
	line := fmt.Sprintf("sleep 0.3; [ $(readlink /proc/self/ns/pid) != '%s' ] && kill -9 -1", outside)
	_, err = w.s.Run(t.Context(), process.Command{Line: line, Dir: w.ws, Confine: process.ConfineWrite})
	require.NoError(t, err)
}

func difference(before, now string) string {
	for line := range strings.Lines(now) {
		if !strings.Contains(before, line) {
			return line
		}
	}
	return "a line is missing"
}

// SB-02, SB-03, PB-06: no attempt to leave the sandbox succeeds, whether the user is root or not. The
// attempts of root run with FETTLE_FULL=1 only.
func TestEscapes(t *testing.T) {
	top, ok := preparedWorld(t)
	if !ok {
		return // the attempts of the unprivileged user have run
	}
	w := newWorld(t, top)
	rows := slices.Concat(escapesByMounts, escapesByProcesses, escapesBySockets, escapesByFiles, escapesByNames, escapesByRepositories, escapesAgain)
	require.GreaterOrEqual(t, len(rows), 270)
	for _, e := range rows {
		if how := w.attempt(t, e, process.ConfineWrite); how != "" {
			t.Errorf("%s\n%s\n%s", e.name, e.line, how)
			if now := w.look(t); !sameFiles(now, w.files) {
				t.Fatal("the remaining attempts need the files as they were")
			}
		}
		w.reset(t)
	}
}

func sameFiles(a, b map[string]string) bool {
	for path := range a {
		if a[path] != b[path] {
			return false
		}
	}
	return len(a) == len(b)
}

// The checks of TestEscapes recognize the effects of an unconfined command.
func TestEscapeOracles(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	top, ok := unprivileged.Run(t, func(top string) { prepareWorld(t, top) })
	if !ok {
		return
	}
	for _, line := range []string{
		"cat $H/.ssh/id_ed25519", "cat .env", "echo x >$O/new", "echo x >>$H/.bashrc", "touch sub/.env", "chmod 700 $O/file", "ln $O/file x", "rm -r .github", "(exec 3<>/dev/tcp/127.0.0.1/$TCP)",
		"echo x >/dev/udp/127.0.0.1/$UDP", `p 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("\0$ENV{ABS}"))'`,
		"mkdir -p linked/later/hooks", "echo x >shared.gitconfig", "echo x >notes/agents.txt", "mkdir -p n/objects n/refs; touch n/HEAD", `p 'socket(S, 1, 1, 0); connect(S, pack_sockaddr_un("peer.sock"))'`,
		"tr '\\0' ' ' </proc/$PID/environ", "renice -n 19 $PID >/dev/null", "kill -STOP $PID; sleep 1",
	} {
		t.Run("", func(t *testing.T) {
			w := newWorld(t, top)
			require.NotEmpty(t, w.attempt(t, escape{"control", line}, process.ConfineNone), line)
			for path := range w.files {
				_ = os.Remove(path)
			}
			for path := range w.look(t) {
				_ = os.Remove(path)
			}
			for _, left := range []string{"x", "n", "linked"} {
				_ = os.RemoveAll(filepath.Join(w.ws, left))
			}
			prepareWorldFiles(t, top)
		})
	}
}
