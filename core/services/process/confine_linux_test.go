package process_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/process"
)

// landlocked returns a Landlock confinement, and skips the test if there is none.
func landlocked(t testing.TB, writable ...string) process.Confinement {
	t.Helper()
	c := process.Confinement{Kind: process.Landlock, Writable: writable}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	return c
}

// confinedService returns a Service whose commands may write in a workspace, and a directory
// outside of it.
func confinedService(t testing.TB, o process.Options) (s *process.Service, ws, out string) {
	t.Helper()
	ws, out = t.TempDir(), t.TempDir()
	o.Confinement = landlocked(t, ws)
	return newService(t, o), ws, out
}

// runIn runs a line in a directory, with OUT for a second one.
func runIn(t testing.TB, s *process.Service, ws, out, line string) process.Result {
	t.Helper()
	r, err := s.Run(t.Context(), process.Command{Line: "OUT='" + out + "'\n" + line, Dir: ws})
	require.NoError(t, err)
	return r
}

// tempDir returns a directory for the test, with links resolved.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// names lists the entries of a directory.
func names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// A confined command can write only in the workspace, by any method.
func TestConfinedWrites(t *testing.T) {
	for name, line := range map[string]string{
		"make a file":                    `echo x > $OUT/new`,
		"write a file":                   `echo x >> $OUT/there`,
		"empty a file":                   `: > $OUT/there`,
		"cut a file":                     `truncate -s 1 $OUT/there`,
		"remove a file":                  `rm -f $OUT/there`,
		"make a directory":               `mkdir $OUT/new`,
		"remove a directory":             `rmdir $OUT/sub`,
		"make a link":                    `ln -s x $OUT/new`,
		"make a pipe":                    `mkfifo $OUT/new`,
		"move within":                    `mv $OUT/there $OUT/new`,
		"move out":                       `echo x > in; mv -n in $OUT/new`,
		"move in":                        `mv $OUT/there in`,
		"link out":                       `echo x > in; ln in $OUT/new`,
		"link in, then write":            `ln $OUT/there in && echo x > in`,
		"copy out":                       `echo x > in; cp in $OUT/new`,
		"through a link to a file":       `ln -s $OUT/there link; echo x > link`,
		"through a link to a directory":  `ln -s $OUT link; echo x > link/new`,
		"through a link to nothing":      `ln -s $OUT/new link; echo x > link`,
		"from there":                     `cd $OUT && echo x > new`,
		"up and down":                    `echo x > ../$(basename "$(dirname "$OUT")")/$(basename "$OUT")/new; echo x > ../../../../../../../../$OUT/new`,
		"by the root of a process":       `echo x > /proc/self/root/$OUT/new`,
		"by the directory of a process":  `cd $OUT; echo x > /proc/self/cwd/new`,
		"by a descriptor for reading":    `exec 3<$OUT/there; echo x > /proc/self/fd/3; echo x > /dev/fd/3`,
		"the device of a disk":           `mknod disk b 8 0`,
		"the device of the memory":       `mknod memory c 1 1`,
		"shared memory":                  `echo x > /dev/shm/fettle-confined-$$`,
		"the home of the user":           `echo x > ~/fettle-confined`,
		"the common temporary directory": `echo x > /tmp/fettle-confined-$$`,
		"settings of the kernel":         `cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ws, out := confinedService(t, process.Options{})
			require.NoError(t, os.WriteFile(filepath.Join(out, "there"), []byte("there"), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(out, "sub"), 0o700))
			r := runIn(t, s, ws, out, line)
			require.NotZero(t, r.Code, r.Text)
			require.Equal(t, "sub there", names(t, out), r.Text)
			data, err := os.ReadFile(filepath.Join(out, "there"))
			require.NoError(t, err)
			require.Equal(t, "there", string(data), r.Text)
		})
	}
	for name, line := range map[string]string{
		"files":               `echo x > a && echo y >> a && truncate -s 1 a && : > a && rm a`,
		"folders":             `mkdir -p a/b && mv a/b c && rmdir a && rm -r c`,
		"between directories": `mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && mv -f a/h b/g; rm -r a b`,
		"links and pipes":     `ln -s nowhere a && mkfifo b && rm a b`,
		"reading elsewhere":   `cat "$OUT/there" /etc/passwd >/dev/null && ls / >/dev/null && cp "$OUT/there" here && rm here`,
		"running elsewhere":   `/bin/ls >/dev/null && bash -c true`,
		"devices":             `echo x > /dev/null && echo x > /dev/zero && echo x 2>&1 >/dev/full | grep -q 'No space' && head -c1 /dev/urandom >/dev/null`,
		"own output":          `echo x > /dev/stdout && echo x > /proc/self/fd/2`,
		"its own directory":   `echo x > "$(mktemp)" && test "$TMPDIR" = "$TMP" && test "$TMP" = "$TEMP"`,
		"a here-document":     "cat <<E >/dev/null\nx\nE",
		"git": `git init -q -b main . && git config user.email a@example.com && git config user.name A && echo x > f && git add f &&
			git commit -qm one && git checkout -qb topic && echo y > f && git commit -qam two && git stash list && git checkout -q main &&
			git merge -q topic && git gc -q && git fsck && test "$(git log --oneline | wc -l)" = 2`,
		"editing": `printf 'b\na\n' > f && sed -i s/a/c/ f && sort -o f f && tar cf f.tar f && rm f && tar xf f.tar && test "$(head -1 f)" = b`,
	} {
		t.Run("allowed: "+name, func(t *testing.T) {
			t.Parallel()
			s, ws, out := confinedService(t, process.Options{})
			require.NoError(t, os.WriteFile(filepath.Join(out, "there"), []byte("there"), 0o600))
			r := runIn(t, s, ws, out, line)
			require.Zero(t, r.Code, r.Text)
		})
	}
}

// Pseudo-terminals and shared memory are available if their directories are listed.
func TestConfinedDevices(t *testing.T) {
	ws := t.TempDir()
	const shm = "echo x > /dev/shm/fettle-$$ && rm /dev/shm/fettle-$$"
	const pty = "script -qec 'test -t 0 && stty size' /dev/null"
	for program, line := range map[string]string{"bash": shm, "script": pty} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here")
		}
		s := newService(t, process.Options{Confinement: landlocked(t, ws)})
		require.NotZero(t, runIn(t, s, ws, "", line).Code, line)
		s = newService(t, process.Options{Confinement: landlocked(t, ws, "/dev/shm", "/dev/pts")})
		r := runIn(t, s, ws, "", line)
		require.Zero(t, r.Code, "%s: %s", line, r.Text)
	}
}

// Programs that use caches find a directory for them.
func TestConfinedBuild(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not here")
	}
	const build = `printf 'module m\ngo 1.21\n' > go.mod && printf 'package main\nfunc main() { println("built") }\n' > main.go &&
		GOTOOLCHAIN=local GOFLAGS=-mod=mod go build -o m . && ./m`
	ws := t.TempDir()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	directory := filepath.Dir(strings.TrimSpace(string(cache))) // the directory of all caches
	home := t.TempDir()
	environ := func() []string { return append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+directory) }
	if _, err := os.Stat(directory); err != nil {
		t.Skip(err)
	}

	// The user's own cache, if commands may write there.
	s := newService(t, process.Options{Environ: environ, Confinement: landlocked(t, ws, directory)})
	r := runIn(t, s, ws, "", "echo $XDG_CACHE_HOME; unset GOCACHE; "+build)
	require.Equal(t, directory+"\nbuilt\n", r.Text)

	// Otherwise one in their temporary directory.
	s = newService(t, process.Options{Environ: environ, Confinement: landlocked(t, ws)})
	line := "test $XDG_CACHE_HOME = $TMPDIR/cache"
	if os.Getenv("FETTLE_FULL") != "" { // it builds the standard library, too
		line += " && unset GOCACHE; " + build
	}
	r = runIn(t, s, ws, "", line)
	require.Zero(t, r.Code, r.Text)
}

// Processes that a command starts are confined as well, even if they try to detach.
func TestConfinedDescendants(t *testing.T) {
	s, ws, out := confinedService(t, process.Options{})
	for name, line := range map[string]string{
		"a child":             `bash -c "echo x > $OUT/a"; echo $? > f`,
		"a grandchild":        `bash -c "bash -c 'echo x > $OUT/b'"; echo $? > f`,
		"a daemon":            `setsid bash -c "(bash -c 'echo x > $OUT/c'; echo \$? > f) >/dev/null 2>&1 </dev/null &" &`,
		"without environment": `env -i setsid bash -c "echo x > $OUT/d; echo \$? > f" >/dev/null 2>&1 &`,
	} {
		t.Run(name, func(t *testing.T) {
			r := runIn(t, s, ws, out, "rm -f f; mkfifo f; ("+line+") & cat f")
			require.Contains(t, r.Text, "1\n")
			require.Empty(t, names(t, out))
		})
	}
	// The same in the background and at a terminal.
	for name, c := range map[string]process.Command{"a pipe": {}, "a terminal": {PTY: true}} {
		t.Run("background, with "+name, func(t *testing.T) {
			c.Dir, c.Line = ws, "echo x > '"+out+"/e'; echo got $?; read -r line; echo $line > said"
			info, err := s.Start(t.Context(), c)
			require.NoError(t, err)
			require.NoError(t, s.Write(t.Context(), info.ID, "hello\n", false))
			u, err := s.Read(t.Context(), info.ID, process.ReadOptions{Wait: time.Minute, ForEnd: true})
			require.NoError(t, err)
			require.False(t, u.Running)
			require.Contains(t, u.Text, "got 1")
			require.Empty(t, names(t, out))
			said, err := os.ReadFile(filepath.Join(ws, "said"))
			require.NoError(t, err)
			require.Equal(t, "hello\n", string(said))
		})
	}
	r, err := s.Run(t.Context(), process.Command{Dir: ws, PTY: true, Line: "tty && echo x > /dev/tty && stty size && echo x > '" + out + "/f'"})
	require.NoError(t, err)
	require.NotZero(t, r.Code)
	require.Contains(t, r.Text, "/dev/pts/")
	require.Empty(t, names(t, out))
}

// A later command may end processes that an earlier one has left running.
func TestConfinedCommandsSignalEachOther(t *testing.T) {
	s, ws, _ := confinedService(t, process.Options{})
	r := runIn(t, s, ws, "", "sleep 1000 & echo $!")
	require.Len(t, r.Background, 1)
	r = runIn(t, s, ws, "", "kill "+strconv.Itoa(r.Background[0]))
	require.Zero(t, r.Code, r.Text)
}

// The test program itself stays unconfined, in all its threads.
func TestConfinementDoesNotLeak(t *testing.T) {
	ws, out := t.TempDir(), t.TempDir()
	c := landlocked(t, ws)
	if c.NoTCP = true; c.Check(t.Context()) != nil {
		c.NoTCP = false
	}
	s := newService(t, process.Options{Confinement: c})
	before := restrictions(t, "/proc/self/status")
	require.Len(t, before, 2)
	for range 200 {
		require.NotZero(t, runIn(t, s, ws, out, "echo x > $OUT/x").Code)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			if err := os.WriteFile(filepath.Join(out, strconv.Itoa(i)), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// Only the thread that starts commands is confined. It ends with the service, at the latest
	// when the system has removed it.
	count := func() (free, confined int) {
		tasks, err := filepath.Glob("/proc/self/task/*/status")
		require.NoError(t, err)
		for _, path := range tasks {
			switch now := restrictions(t, path); {
			case len(now) == 0: // it has ended
			case slices.Equal(now, before):
				free++
			default:
				confined++
			}
		}
		return free, confined
	}
	free, confined := count()
	require.Positive(t, free)
	require.Equal(t, 1, confined)
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { _, confined := count(); return confined == 0 }, time.Minute, time.Millisecond)
	plain := newService(t, process.Options{})
	require.Zero(t, runIn(t, plain, ws, out, "echo x > $OUT/x").Code)
}

// restrictions returns the restrictions of a thread, from its status.
func restrictions(t testing.TB, path string) (lines []string) {
	t.Helper()
	status, _ := os.ReadFile(path)
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "NoNewPrivs:") || strings.HasPrefix(line, "Seccomp:") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Many at once, in one Service and next to one without confinement.
func TestConfinedSideBySide(t *testing.T) {
	s, ws, out := confinedService(t, process.Options{})
	plain := newService(t, process.Options{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			line := fmt.Sprintf("echo in > in%d; echo $TMPDIR > tmp%d; echo out > '%s'/c%d", i, i, out, i)
			r, err := s.Run(t.Context(), process.Command{Line: line, Dir: ws})
			if err != nil || r.Code == 0 {
				t.Errorf("confined: %v %+v", err, r)
			}
			r, err = plain.Run(t.Context(), process.Command{Line: fmt.Sprintf("echo out > '%s'/p%d", out, i), Dir: ws})
			if err != nil || r.Code != 0 {
				t.Errorf("plain: %v %+v", err, r)
			}
		})
	}
	wg.Wait()
	require.Len(t, strings.Fields(names(t, ws)), 100)
	require.Len(t, strings.Fields(names(t, out)), 50)
	require.NotContains(t, names(t, out), "c")
}

// Directories are resolved when a command starts: by a link, by another name, created again. A
// missing directory, or a file, keeps the command from starting.
func TestConfinedDirectories(t *testing.T) {
	top, out := t.TempDir(), t.TempDir()
	ws, link := filepath.Join(top, "ws"), filepath.Join(top, "link")
	require.NoError(t, os.Mkdir(ws, 0o700))
	require.NoError(t, os.Symlink(ws, link))
	s := newService(t, process.Options{Confinement: landlocked(t, link)})
	require.Zero(t, runIn(t, s, ws, out, "echo x > a; echo x > "+link+"/b").Code)
	require.Equal(t, "a b", names(t, ws))
	require.NoError(t, os.RemoveAll(ws))

	started := filepath.Join(out, "started")
	_, err := s.Run(t.Context(), process.Command{Line: "echo > " + started, Dir: top})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, link)
	require.NoError(t, os.Mkdir(ws, 0o700))
	require.Zero(t, runIn(t, s, ws, out, "echo x > a").Code)

	// A link that is changed later does not affect a running command.
	r := runIn(t, s, ws, out, `mkfifo go; (read -r _ < go; echo x > `+link+`/c) & rm `+link+` 2>/dev/null; echo > go; wait; ls`)
	require.Contains(t, r.Text, "c\n")

	file := filepath.Join(top, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, tt := range map[string]struct{ directory, want string }{
		"missing":  {filepath.Join(top, "missing"), "no such file"},
		"a file":   {file, "no"},
		"relative": {"ws", "its path is not absolute"},
		"empty":    {"", "its path is not absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			c := process.Confinement{Kind: process.Landlock, Writable: []string{tt.directory}}
			for _, err := range []error{
				c.Check(t.Context()),
				func() error {
					_, err := newService(t, process.Options{Confinement: c}).Run(t.Context(), process.Command{Line: "echo > " + started, Dir: top})
					return err
				}(),
				func() error {
					_, err := newService(t, process.Options{Confinement: c}).Start(t.Context(), process.Command{Line: "echo > " + started, Dir: top})
					return err
				}(),
			} {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
	require.NoFileExists(t, started)
}

// A command that may write next to a writable directory cannot replace that with a link to another
// place, neither for the kernel nor for a container.
func TestConfinedDirectoryReplaced(t *testing.T) {
	for _, kind := range []process.ConfinementKind{process.Landlock, process.Container} {
		t.Run(string(kind), func(t *testing.T) {
			ws, out := tempDir(t), tempDir(t)
			sub := filepath.Join(ws, "sub")
			require.NoError(t, os.Mkdir(sub, 0o700))
			var s *process.Service
			if kind == process.Landlock {
				s = newService(t, process.Options{Confinement: landlocked(t, ws, sub)})
			} else {
				c := newContained(t, process.Options{Confinement: process.Confinement{Writable: []string{ws, sub}}})
				s = c.Service
			}
			require.Zero(t, runIn(t, s, ws, out, "mv sub kept && ln -s $OUT sub").Code)
			_, err := s.Run(t.Context(), process.Command{Line: "echo x > sub/x", Dir: ws})
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.ErrorContains(t, err, sub)
			require.ErrorContains(t, err, out)
			require.Empty(t, names(t, out))

			require.NoError(t, os.Remove(sub))
			require.NoError(t, os.Rename(filepath.Join(ws, "kept"), sub))
			require.Zero(t, runIn(t, s, ws, out, "echo x > sub/x").Code)
		})
	}
}

// A user other than root is confined as well, and still cannot become another user.
func TestConfinedUser(t *testing.T) {
	landlocked(t)
	top, ok := unprivileged.Run(t, func(top string) {
		for _, name := range []string{"ws", "out"} {
			require.NoError(t, os.Mkdir(filepath.Join(top, name), 0o777))
			require.NoError(t, os.Chmod(filepath.Join(top, name), 0o777))
		}
	})
	if !ok {
		return
	}
	ws, out := filepath.Join(top, "ws"), filepath.Join(top, "out")
	s := newService(t, process.Options{Confinement: landlocked(t, ws)})
	r := runIn(t, s, ws, out, `echo x > in && ! echo x > $OUT/new && grep -c 'NoNewPrivs:.1' /proc/self/status`)
	require.Zero(t, r.Code, r.Text)
	require.Equal(t, "in", names(t, ws))
	require.Empty(t, names(t, out))
	require.NoError(t, os.WriteFile(filepath.Join(out, "free"), nil, 0o600))
}

// A Service whose commands cannot be confined starts none.
func TestUnsupportedConfinement(t *testing.T) {
	ws := t.TempDir()
	for name, tt := range map[string]struct {
		c    process.Confinement
		want string
	}{
		"an unknown kind":             {process.Confinement{Kind: "jail"}, `cannot be confined by "jail"`},
		"TCP without a kind":          {process.Confinement{NoTCP: true}, "Nothing confines commands"},
		"a container of no program":   {process.Confinement{Kind: process.Container, Image: "i"}, "no container program"},
		"of no image":                 {process.Confinement{Kind: process.Container, Program: "true"}, "no image"},
		"of an option":                {process.Confinement{Kind: process.Container, Program: "true", Image: "--privileged"}, "image name"},
		"of a missing program":        {process.Confinement{Kind: process.Container, Program: "fettle-no-such-program", Image: "i"}, "executable file not found"},
		"of a missing directory":      {process.Confinement{Kind: process.Container, Program: "true", Image: "i", Writable: []string{ws + "/no"}}, "no such file"},
		"of a directory with a colon": {process.Confinement{Kind: process.Container, Program: "true", Image: "i", Writable: []string{"/a:b"}}, "colon"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, process.Options{Confinement: tt.c})
			_, ran := s.Run(t.Context(), process.Command{Line: "echo > started", Dir: ws})
			_, started := s.Start(t.Context(), process.Command{Line: "echo > started", Dir: ws})
			for _, err := range []error{tt.c.Check(t.Context()), ran, started} {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				require.ErrorContains(t, err, tt.want)
				require.NotEmpty(t, fault.As(err).Remedy)
			}
			require.Empty(t, names(t, ws))
		})
	}
	require.NoError(t, process.Confinement{}.Check(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(process.Confinement{}.Check(ctx)))
}

// BenchmarkConfined measures the overhead of confinement for a command.
func BenchmarkConfined(b *testing.B) {
	ws := b.TempDir()
	confined := landlocked(b, ws)
	closed := confined
	closed.NoTCP = true
	for _, c := range []struct {
		name string
		process.Confinement
	}{{"plain", process.Confinement{}}, {"landlock", confined}, {"landlock without TCP", closed}} {
		b.Run(c.name, func(b *testing.B) {
			s := newService(b, process.Options{Confinement: c.Confinement})
			for b.Loop() {
				r, err := s.Run(b.Context(), process.Command{Line: "true", Dir: ws})
				if err != nil || r.Code != 0 {
					b.Fatal(err, r)
				}
			}
		})
	}
}
