package commit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/integration/memtemp"
)

// Concurrent programs run as processes of their own: the test binary again, with roleVar naming its
// task.
const roleVar = "FETTLE_COMMIT_ROLE"

var roles = map[string]func(args []string) error{
	"rename-editor":   editByRename,
	"truncate-editor": editInPlace,
	"slow-editor":     editInPlace,
	"saver":           saveVersions,
	"writer":          writeVersions,
	"locker":          holdLock,
	"killed at":       commitUntilKilled,
	"killed anywhere": commitForever,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(memtemp.Of(m).Run())
	}
	if err := roles[role](append([]string{role}, strings.Fields(os.Getenv(roleVar+"_ARGS"))...)); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// full reports whether the numbers of the full run are requested.
func full() bool { return os.Getenv("FETTLE_FULL") == "1" }

func number(small, large int) int {
	switch {
	case full():
		return large
	case testing.Short():
		return small / 3
	}
	return small
}

// child is a process in a role. It runs until its standard input is closed.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func startRole(t testing.TB, role string, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), roleVar+"="+role, roleVar+"_ARGS="+strings.Join(args, " "))
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.stdin, c.out = stdin, bufio.NewReader(stdout)
	require.NoError(t, c.cmd.Start())
	return c
}

// stop ends the process and returns the lines it printed, split at blanks.
func (c *child) stop() [][]string { return c.end(false) }

// end does the same; with wait the process decides when to end.
func (c *child) end(wait bool) [][]string {
	c.t.Helper()
	if !wait {
		c.stdin.Close()
	}
	defer c.stdin.Close()
	out, err := io.ReadAll(c.out)
	require.NoError(c.t, err)
	require.NoError(c.t, c.cmd.Wait())
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// waitFor reads the process's next line, which must equal line.
func (c *child) waitFor(line string) {
	c.t.Helper()
	got, err := c.out.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, line+"\n", got)
}

// kill ends the process immediately and waits for that.
func (c *child) kill() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // "signal: killed"
	c.stdin.Close()
}

// untilStopped calls f with 1, 2, 3 … until standard input is closed.
func untilStopped(f func(i int) error) error {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	for i := 1; ; i++ {
		select {
		case <-done:
			return nil
		default:
			if err := f(i); err != nil {
				return err
			}
		}
	}
}

// spin waits up to d without giving up the processor for long.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

// editByRename saves without reading: it exchanges a new file with the target, so that it knows the
// displaced file. It prints "over ID ID": its save and the displaced one.
func editByRename(args []string) error {
	dir, target, pace := args[1], args[2], duration(args[3])
	var out bytes.Buffer // printed at the end, when it is read
	defer func() { out.WriteTo(os.Stdout) }()
	temp := filepath.Join(dir, "editor.tmp")
	return untilStopped(func(i int) error {
		id := "R" + strconv.Itoa(i)
		if err := os.WriteFile(temp, []byte(id), 0o644); err != nil {
			return err
		}
		if err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, target, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		was, err := os.ReadFile(temp)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "over %s %s\n", id, bytes.TrimSpace(was))
		spin(rand.N(pace))
		return os.Remove(temp)
	})
}

// editInPlace saves into the file that is at the path. It keeps each file that it wrote open, and
// prints "dropped ID" if later the file has no name any more and still has the saved content.
func editInPlace(args []string) error {
	target, pace := args[2], duration(args[3])
	var out bytes.Buffer // printed at the end, when it is read
	defer func() { out.WriteTo(os.Stdout) }()
	type save struct {
		id   string
		file *os.File
	}
	var saves []save
	judge := func(s save) error {
		defer s.file.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(s.file.Fd()), &st); err != nil {
			return err
		}
		data, err := readAll(context.Background(), s.file, unlimited)
		if st.Nlink == 0 && string(bytes.TrimSpace(data)) == s.id {
			fmt.Fprintf(&out, "dropped %s\n", s.id)
		}
		return err
	}
	flags, prefix := os.O_RDWR, "S"
	if args[0] == "truncate-editor" {
		flags, prefix = flags|os.O_TRUNC, "T"
	}
	err := untilStopped(func(i int) error {
		id := fmt.Sprint(prefix, os.Getpid(), "-", i)
		f, err := os.OpenFile(target, flags, 0)
		if err != nil {
			return err
		}
		if prefix == "S" {
			spin(rand.N(pace))
		}
		if _, err := f.WriteAt(fmt.Appendf(nil, "%-20s", id), 0); err != nil {
			return err
		}
		if err := f.Truncate(20); err != nil {
			return err
		}
		watched, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		saves = append(saves, save{id, watched})
		if len(saves) > 200 {
			if err := judge(saves[0]); err != nil {
				return err
			}
			saves = saves[1:]
		}
		spin(rand.N(pace))
		return nil
	})
	for _, s := range saves {
		if err := judge(s); err != nil {
			return err
		}
	}
	return err
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}
