package process_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// inNamespaces returns a Service that confines commands by namespaces, with a workspace and a home
// directory.
func inNamespaces(t *testing.T, change func(c *process.Confinement)) (s *process.Service, ws, home string) {
	t.Helper()
	ws, home = t.TempDir(), t.TempDir()
	c := process.Confinement{
		Kind: process.Namespaces, NoTCP: true, PerCommand: true, Writable: []string{ws}, Home: home, Cache: filepath.Join(t.TempDir(), "cache"),
	}
	if change != nil {
		change(&c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s = process.New(process.Options{Confinement: c})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, ws, home
}

// SB-02: a confined command writes in the workspace and its temporary directory only.
func TestConfinePerCommand(t *testing.T) {
	s, ws, home := inNamespaces(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(home, "secret"), []byte("s"), 0o600))
	const line = `touch a && echo ws; touch "$TMPDIR/b" /tmp/c && echo temp; touch "$1"/x && echo home; cat "$1"/secret; ls /tmp/b /tmp/c "$TMPDIR/c"`
	for how, want := range map[process.Confine]string{
		process.ConfineDefault: "ws\ntemp\nhome\ns",
		process.ConfineNone:    "ws\ntemp\nhome\ns",
		process.ConfineWrite:   "ws\ntemp\n",
		process.ConfineRead:    "temp\n",
	} {
		r, err := s.Run(t.Context(), process.Command{Line: "set -- '" + home + "'; exec 2>/dev/null; " + line, Dir: ws, Confine: how})
		require.NoError(t, err)
		require.Contains(t, r.Text, want, "%q", how)
		if how == process.ConfineWrite || how == process.ConfineRead {
			require.NotContains(t, r.Text, "home")
			require.Contains(t, r.Text, "/tmp/b\n/tmp/c\n")
		}
		if how == process.ConfineRead {
			require.NotContains(t, r.Text, "ws")
		}
	}
}

// SB-02: a file that would be lost with the command's mounts is not created: in the hidden home
// directory, and beside a workspace in the machine's /tmp.
func TestConfinedHomeIsReadOnly(t *testing.T) {
	top, err := os.MkdirTemp("/tmp", "fettle") //nolint:usetesting // it has to lie in /tmp
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	other := filepath.Join(top, "a", "ws")
	require.NoError(t, os.MkdirAll(other, 0o700))
	s, ws, home := inNamespaces(t, func(c *process.Confinement) { c.Writable = append(c.Writable, other) })
	r, err := s.Run(t.Context(), process.Command{Dir: ws, Confine: process.ConfineWrite, Line: "HOME='" + home + "'; exec 2>&1; touch ~/x; mkdir ~/.config; cd '" + other + "'; touch a ../b ../../c; touch /tmp/d; ls '" + top + "'"})
	require.NoError(t, err)
	for _, path := range []string{home + "/x", home + "/.config", "../b", "../../c"} {
		require.Contains(t, r.Text, path)
	}
	require.Equal(t, 4, strings.Count(r.Text, "Read-only file system"), r.Text)
	require.True(t, strings.HasSuffix(r.Text, "\na\n"), r.Text)
	require.FileExists(t, filepath.Join(other, "a"))
}

// SB-03: protected paths that exist are read-only, at any depth; those that a command creates are
// moved away and reported. Other commands and the user may create them.
func TestProtected(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) {
		c.IsProtected = func(path string) bool {
			return filepath.Base(path) == ".git" || strings.HasPrefix(filepath.Base(path), ".env")
		}
	})
	run := func(how process.Confine, line string) process.Result {
		t.Helper()
		r, err := s.Run(t.Context(), process.Command{Line: line, Dir: ws, Confine: how})
		require.NoError(t, err)
		require.NoError(t, r.RemoveError)
		return r
	}
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "sub", ".git", "hooks"), 0o700))
	for _, file := range []string{".env", "sub/.git/hooks/x", "sub/.git/config"} {
		require.NoError(t, os.WriteFile(filepath.Join(ws, file), []byte("a=1"), 0o600))
	}
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(ws, ".env.link")))

	r := run(process.ConfineWrite, `exec 2>/dev/null
		for f in .env sub/.git/hooks/x sub/.git/config .env.link; do echo x >$f && echo wrote $f; rm -f $f && echo removed $f; done
		rm -rf sub/.git && echo removed dir; mv .env x && echo moved; mv sub/.git y && echo moved dir; ln -sf x .env && echo linked; ln -sf x .env.link && echo relinked
		ln .env hard && echo hard; chmod 777 .env && echo chmod; truncate -s 0 .env && echo truncated; umount .env && echo unmounted; mount -o remount,bind,rw .env && echo remounted
		cat .env; mv sub sub2; ls -A sub2`)
	require.Equal(t, "wrote .env.link\na=1.git\n", r.Text, "a link to another file may be written through")
	require.Empty(t, r.Removed, "a repository that was moved with its directory")

	r = run(process.ConfineWrite, "git init -q . 2>/dev/null || mkdir .git; mkdir -p a/b; echo x >a/b/.envrc; chmod 0 a/b; mkdir -p c/.env.d/x; ln -s / c/.env.link; mkdir -m 0 .env.dir; touch d")
	require.Equal(t, []string{
		filepath.Join(ws, ".env.dir"), filepath.Join(ws, ".git"), filepath.Join(ws, "a/b/.envrc"), filepath.Join(ws, "c/.env.d"), filepath.Join(ws, "c/.env.link"),
	}, r.Removed)
	for _, path := range r.Removed {
		require.NoFileExists(t, path)
	}
	require.FileExists(t, filepath.Join(ws, "d"))

	run(process.ConfineNone, "mkdir .git; touch .env.mine")
	r = run(process.ConfineWrite, "touch .git/x; ls -A")
	require.Empty(t, r.Removed)
	require.Contains(t, r.Text, ".env.mine")
	require.NoFileExists(t, filepath.Join(ws, ".git", "x"))
}

// SB-01: with a network, servers of this machine can be reached, but no abstract sockets; modules
// that are downloaded go to the workspace's cache.
func TestConfineWithNetwork(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) { c.NoTCP, c.PerCommand = false, false })
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close() //nolint:errcheck // nothing was sent
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	require.NoError(t, err)
	abstract, err := net.Listen("unix", "@fettle-network-"+port)
	require.NoError(t, err)
	defer abstract.Close() //nolint:errcheck // nothing was sent
	r, err := s.Run(t.Context(), process.Command{Dir: ws, Line: `exec 2>&1; (exec 3<>/dev/tcp/127.0.0.1/` + port + `) && echo reached; echo "$GOMODCACHE $GOPROXY $GOFLAGS"`})
	require.NoError(t, err)
	require.Regexp(t, `^reached\n\S+/tools/go-mod file://\S+/cache/download,\S+ .*-modcacherw\n$`, r.Text)
	r, err = s.Run(t.Context(), process.Command{Dir: ws, Line: pythonOf(t) + ` -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0fettle-network-` + port + `")' 2>&1`})
	require.NoError(t, err)
	require.Contains(t, r.Text, "PermissionError")
}

// SB-01: without namespaces, commands are confined one by one by Landlock.
func TestConfinePerCommandByLandlock(t *testing.T) {
	ws := t.TempDir()
	c := process.Confinement{Kind: process.Landlock, PerCommand: true, Writable: []string{ws}}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s := newService(t, process.Options{Confinement: c})
	outside := t.TempDir()
	for how, want := range map[process.Confine]string{
		process.ConfineDefault: "ws temp outside", process.ConfineNone: "ws temp outside", process.ConfineWrite: "ws temp", process.ConfineRead: "temp",
	} {
		r, err := s.Run(t.Context(), process.Command{Dir: ws, Confine: how, Line: `exec 2>/dev/null; echo $(: >a && echo ws; : >$TMPDIR/b && echo temp; : >'` + outside + `'/c && echo outside)`})
		require.NoError(t, err)
		require.Equal(t, want+"\n", r.Text, "%q", how)
	}
}

// SB-02: a terminal, a background process with input, and signals work as they do unconfined.
func TestConfinedTerminal(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) { c.PerCommand = false })
	r, err := s.Run(t.Context(), process.Command{Dir: ws, PTY: true, Line: "test -t 0 && stty size && tty && echo x >/dev/tty"})
	require.NoError(t, err)
	require.Equal(t, "40 120\n/dev/console\nx\n", r.Text)
	info, err := s.Start(t.Context(), process.Command{Dir: ws, Line: "cat; exit 3"})
	require.NoError(t, err)
	require.NoError(t, s.Write(t.Context(), info.ID, "hello\n", true))
	u, err := s.Read(t.Context(), info.ID, process.ReadOptions{Wait: 10 * time.Second, ForEnd: true})
	require.NoError(t, err)
	require.Equal(t, "hello\n", u.Text)
	require.Equal(t, 3, u.Code)
	info, err = s.Start(t.Context(), process.Command{Dir: ws, Line: "sleep 1000"})
	require.NoError(t, err)
	require.Less(t, info.PID, 100, "the ID in the process namespace")
	info, err = s.Kill(t.Context(), info.ID)
	require.NoError(t, err)
	require.Equal(t, "SIGTERM", info.Signal)
}

// SB-03: a name that a background process creates vanishes without a further command, and the next
// result reports it.
func TestProtectedFromBackground(t *testing.T) {
	s, ws, _ := inNamespaces(t, func(c *process.Confinement) {
		c.IsProtected = func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") }
	})
	created := filepath.Join(ws, ".envrc")
	_, err := s.Start(t.Context(), process.Command{Line: "touch .envrc ready; read -r line", Dir: ws, Confine: process.ConfineWrite})
	require.NoError(t, err)
	gone := func(path string) func() bool {
		return func() bool { _, err := os.Lstat(path); return os.IsNotExist(err) }
	}
	require.Eventually(t, func() bool { return !gone(filepath.Join(ws, "ready"))() && gone(created)() }, time.Minute, time.Millisecond)
	r, err := s.Run(t.Context(), process.Command{Line: "true", Dir: ws, Confine: process.ConfineWrite})
	require.NoError(t, err)
	require.Equal(t, []string{created}, r.Removed)
}

// The directories are watched until the last Service that shares the names is closed.
func TestNamesEnd(t *testing.T) {
	var c process.Confinement
	_, ws, _ := inNamespaces(t, func(given *process.Confinement) {
		given.IsProtected = func(path string) bool { return filepath.Base(path) == ".git" }
		c = *given
	})
	watches := func() (n int) {
		files, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		for _, file := range files {
			if link, err := os.Readlink(file); err == nil && link == "anon_inode:inotify" {
				n++
			}
		}
		return n
	}
	before, names := watches(), new(process.Names)
	var services []*process.Service
	for range 2 {
		s := process.New(process.Options{Confinement: c, Names: names})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		_, err := s.Run(t.Context(), process.Command{Line: "true", Dir: ws, Confine: process.ConfineWrite})
		require.NoError(t, err)
		services = append(services, s)
	}
	require.Equal(t, before+1, watches())
	require.NoError(t, services[0].Close())
	require.Equal(t, before+1, watches(), "the other one needs them")
	require.NoError(t, services[1].Close())
	require.Equal(t, before, watches())
}
