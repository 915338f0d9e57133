package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// No goroutine is left once every Service is closed.
func TestMain(m *testing.M) {
	code := memtemp.Of(m).Run()
	for end := time.Now().Add(5 * time.Second); ; runtime.Gosched() { // a goroutine that has closed its channel takes a moment to end
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !bytes.Contains(stacks, []byte("services/process.(")) {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", stacks)
			code = 1
			break
		}
	}
	os.Exit(code)
}

// newService returns a Service that ends with the test.
func newService(t testing.TB, o process.Options) *process.Service {
	t.Helper()
	s := process.New(o)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func run(t testing.TB, s *process.Service, line string) process.Result {
	t.Helper()
	r, err := s.Run(t.Context(), process.Command{Line: line, Dir: t.TempDir()})
	require.NoError(t, err)
	return r
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// requireEnds waits for the end of a process.
func requireEnds(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	require.NoError(t, err)
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	n, err := 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) { // a signal ended the wait
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "process %d still runs", pid)
}

// pidIn returns the number after key= in an output.
func pidIn(t testing.TB, output, key string) int {
	t.Helper()
	_, rest, ok := strings.Cut(output, key+"=")
	require.True(t, ok, "%q", output)
	pid, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return pid
}

// until returns an Output that closes the channel once it has received marker, and everything that
// it has received.
func until(marker string) (output func(string), seen <-chan struct{}, all func() string) {
	var mu sync.Mutex
	var b strings.Builder
	done := make(chan struct{})
	closed := false
	output = func(chunk string) {
		mu.Lock()
		defer mu.Unlock()
		b.WriteString(chunk)
		if !closed && strings.Contains(b.String(), marker) {
			closed = true
			close(done)
		}
	}
	return output, done, func() string {
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for name, tt := range map[string]struct {
		line, want string
		exit       process.Exit
	}{
		"output":             {`echo hello`, "hello\n", process.Exit{}},
		"no output":          {`true`, "", process.Exit{}},
		"both streams":       {`echo a; echo b >&2; echo c`, "a\nb\nc\n", process.Exit{}},
		"exit code":          {`echo x; exit 3`, "x\n", process.Exit{Code: 3}},
		"signal":             {`kill -KILL $$`, "", process.Exit{Code: -1, Signal: "SIGKILL"}},
		"no such command":    {`exec nothing-of-that-name 2>/dev/null`, "", process.Exit{Code: 127}},
		"bash":               {`a=(1 2); echo ${#a[@]}`, "2\n", process.Exit{}},
		"here document":      {"cat <<X\nin\nX", "in\n", process.Exit{}},
		"comment at the end": {"echo a # b", "a\n", process.Exit{}},
		"stdin is empty":     {`cat; read -r x; echo $?`, "1\n", process.Exit{}},
		"no terminal":        {`{ : </dev/tty; } 2>/dev/null || echo none`, "none\n", process.Exit{}},
		"like an option":     {`-x 2>/dev/null`, "", process.Exit{Code: 127}},
		"like another":       {`+x 2>/dev/null`, "", process.Exit{Code: 127}},
		"colours":            {`printf '\033[31mred\033[0m\n'`, "red\n", process.Exit{}},
		"blocking output":    {`python3 -c 'import os; print(os.get_blocking(1))' 2>/dev/null || echo True`, "True\n", process.Exit{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, s, tt.line)
			require.Equal(t, tt.want, r.Text)
			require.Equal(t, tt.exit, r.Exit)
			require.Empty(t, r.Ending)
			require.Empty(t, r.Background)
		})
	}
}

// ANSI sequences are kept in the output for users, and live output consists of whole characters.
func TestRunStreams(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	output, seen, all := until("ü")
	r, err := s.Run(t.Context(), process.Command{Line: `printf '\033[1mb\303'; printf '\274\377'; printf '\303'`, Dir: t.TempDir(), Output: output})
	require.NoError(t, err)
	<-seen
	require.Equal(t, "\x1b[1mbü\xff\ufffd", all())
	require.Equal(t, "\x1b[1mbü\xff\xc3", r.ANSI)
	require.Equal(t, "bü\ufffd\ufffd", r.Text)
}

func TestRunEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newService(t, process.Options{Marker: "OTHER", Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "KEPT=yes", "PAGER=less", "TERM=xterm", "OTHER_COMMAND_ID=outer"}
	}})
	r, err := s.Run(t.Context(), process.Command{Line: `echo $OTHER $KEPT $PAGER $GIT_PAGER $TERM $PWD; echo ${OTHER_COMMAND_ID%%:*}`, Dir: dir})
	require.NoError(t, err)
	require.Equal(t, "1 yes cat cat dumb "+dir+"\nouter\n", r.Text)
}

func TestRunCannotStart(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	_, err := s.Run(t.Context(), process.Command{Line: "true", Dir: filepath.Join(t.TempDir(), "absent")})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	_, err = s.Run(t.Context(), process.Command{Line: "echo " + strings.Repeat("x", 1<<20), Dir: t.TempDir()})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	_, err = s.Start(t.Context(), process.Command{Line: "true", Dir: filepath.Join(t.TempDir(), "absent")})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.Empty(t, s.List())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Run(ctx, process.Command{Line: "true", Dir: t.TempDir()})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	_, err = s.Start(ctx, process.Command{Line: "true", Dir: t.TempDir()})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))

	require.NoError(t, s.Close())
	_, err = s.Run(t.Context(), process.Command{Line: "true", Dir: t.TempDir()})
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = s.Start(t.Context(), process.Command{Line: "true", Dir: t.TempDir()})
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// Without bash the shell is sh; without either, the error reports that.
func TestShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err = newService(t, process.Options{}).Run(t.Context(), process.Command{Line: "echo a", Dir: dir})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "neither bash nor sh")
	require.NoError(t, os.Symlink(sh, filepath.Join(dir, "sh")))
	require.Equal(t, filepath.Join(dir, "sh")+"\n", run(t, newService(t, process.Options{}), "echo $0").Text)
}

// Very long output is cut, its head and its tail are kept, and the whole is in a file that only its
// owner can read.
func TestRunCutsOutput(t *testing.T) {
	t.Parallel()
	lines := 200_000
	if os.Getenv("FETTLE_FULL") != "" {
		lines = 150_000_000 // about 1.3 GB
	}
	dir := filepath.Join(t.TempDir(), "saved")
	s := newService(t, process.Options{SaveDir: dir, HeadBytes: 100, TailBytes: 200})
	r := run(t, s, fmt.Sprintf("seq %d", lines))
	require.True(t, strings.HasPrefix(r.Text, "1\n2\n3\n"), "%s", r.Text)
	require.True(t, strings.HasSuffix(r.Text, fmt.Sprintf("\n%d\n", lines)), "%s", r.Text)
	require.Contains(t, r.Text, fmt.Sprintf("\n... [%d bytes omitted] ...\n", r.Omitted))
	require.Less(t, len(r.Text), 400)
	info, err := os.Stat(r.SavedPath)
	require.NoError(t, err)
	require.Equal(t, r.Bytes, info.Size())
	require.Equal(t, r.Bytes, r.SavedBytes)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, dir, filepath.Dir(r.SavedPath))
	if lines == 200_000 {
		saved, err := os.ReadFile(r.SavedPath)
		require.NoError(t, err)
		var want strings.Builder
		for i := range lines {
			fmt.Fprintln(&want, i+1)
		}
		require.True(t, want.String() == string(saved), "the whole output is saved")
		require.Equal(t, int64(want.Len()), r.Bytes)
		kept := strings.Split(r.Text, fmt.Sprintf("\n... [%d bytes omitted] ...\n", r.Omitted))
		require.Equal(t, want.Len(), len(kept[0])+int(r.Omitted)+len(kept[1]))
		require.True(t, strings.HasPrefix(want.String(), kept[0]+"\n"))
	}
}

func TestRunSavesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newService(t, process.Options{SaveDir: dir, HeadBytes: 10, TailBytes: 10, SaveBytes: 25})
	r := run(t, s, "printf 12345678901234567890")
	require.Equal(t, "12345678901234567890", r.Text)
	require.Empty(t, r.SavedPath)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)

	r = run(t, s, "printf 123456789012345678901; printf 234567890")
	require.Equal(t, "1234567890\n... [10 bytes omitted] ...\n1234567890", r.Text)
	saved, err := os.ReadFile(r.SavedPath)
	require.NoError(t, err)
	require.Equal(t, "1234567890123456789012345", string(saved))
	require.Equal(t, int64(30), r.Bytes)
	require.Equal(t, int64(25), r.SavedBytes)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s = newService(t, process.Options{SaveDir: file, HeadBytes: 10, TailBytes: 10})
	r = run(t, s, "seq 100")
	require.Error(t, r.SaveError)
	require.Empty(t, r.SavedPath)
	require.Contains(t, r.Text, "omitted")

	s = newService(t, process.Options{HeadBytes: 10, TailBytes: 10})
	r = run(t, s, "seq 100")
	require.NoError(t, r.SaveError)
	require.Empty(t, r.SavedPath)
}

// TO-09: cancelling leaves no child, even if it ignores SIGTERM.
func TestCancelLeavesNoChild(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"one process":           `echo pid=$$ ready; exec sleep 1000`,
		"a pipeline":            `sleep 1000 | cat & echo pid=$! ready; wait`,
		"ignores SIGTERM":       `trap '' TERM; echo pid=$$ ready; while :; do sleep 1000; done`,
		"a child that ignores":  `(trap '' TERM; while :; do sleep 1000; done) & echo pid=$! ready; wait`,
		"one that is detached":  `setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 & echo pid=$! ready; wait`,
		"a group of its own":    `set -m; sleep 1000 & echo pid=$! ready; wait`,
		"stopped":               `sleep 1000 & echo pid=$! ready; kill -STOP $$`,
		"prints without an end": `echo pid=$$ ready; exec yes`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, process.Options{Grace: 50 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			output, seen, all := until("ready")
			go func() {
				<-seen
				cancel()
			}()
			mark := fmt.Sprintf("MARK=%d_%s", os.Getpid(), strings.ReplaceAll(name, " ", "_"))
			r, err := s.Run(ctx, process.Command{Line: "export " + mark + "; " + line, Dir: t.TempDir(), Output: output})
			require.NoError(t, err)
			require.Equal(t, process.Cancelled, r.Ending)
			require.False(t, alive(pidIn(t, all(), "pid")))
			require.Empty(t, withEnvironment(t, mark), "processes are left")
			require.Contains(t, r.Text, "ready")
		})
	}
}

// withEnvironment returns the living processes that have entry in their environment, found
// independently of the code under test.
func withEnvironment(t testing.TB, entry string) (pids []int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\x00"+string(data), "\x00"+entry+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		if alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line string
		o    process.Options
		want process.Ending
	}{
		"prints nothing":       {`exec sleep 1000`, process.Options{Idle: 50 * time.Millisecond}, process.IdleLimit},
		"stops printing":       {`echo a; exec sleep 1000`, process.Options{Idle: 50 * time.Millisecond}, process.IdleLimit},
		"ignores SIGTERM":      {`trap '' TERM; while :; do sleep 1000; done`, process.Options{Idle: 50 * time.Millisecond, Grace: -1}, process.IdleLimit},
		"prints for ever":      {`exec yes`, process.Options{Total: 100 * time.Millisecond, Idle: -1}, process.TotalLimit},
		"prints, so not idle":  {`while echo a; do sleep 0.02; done`, process.Options{Total: 3 * time.Second, Idle: 2 * time.Second}, process.TotalLimit},
		"ends itself in time":  {`echo a`, process.Options{Total: time.Minute, Idle: time.Minute}, ""},
		"no limits":            {`echo a`, process.Options{Total: -1, Idle: -1}, ""},
		"waits for its input":  {`read -r x </dev/zero`, process.Options{Idle: 50 * time.Millisecond}, process.IdleLimit},
		"a child holds it all": {`sleep 1000 & wait`, process.Options{Idle: 50 * time.Millisecond}, process.IdleLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, newService(t, tt.o), tt.line)
			require.Equal(t, tt.want, r.Ending)
			require.Empty(t, r.Background)
		})
	}
}

// A process that holds the output does not block the command, is listed, and ends with the Service.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ line string }{
		"holds the pipe":        {`sleep 1000 & echo $! >pid`},
		"prints without an end": {`yes & echo $! >pid`},
		"closed the pipe":       {`sleep 1000 >/dev/null 2>&1 & echo $! >pid`},
		"became a daemon":       {`setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >pid`},
		"a daemon with pipe":    {`setsid sleep 1000 & echo $! >pid`},
		"ignores SIGTERM":       {`(trap '' TERM; while :; do sleep 1000; done) >/dev/null 2>&1 & echo $! >pid`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, process.Options{Quiet: 20 * time.Millisecond, Grace: 50 * time.Millisecond})
			dir := t.TempDir()
			r, err := s.Run(t.Context(), process.Command{Line: tt.line, Dir: dir})
			require.NoError(t, err)
			require.Empty(t, r.Ending)
			require.Equal(t, process.Exit{}, r.Exit)
			written, err := os.ReadFile(filepath.Join(dir, "pid")) // the output is cut if the process prints much
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(written)))
			require.NoError(t, err)
			if name != "prints without an end" { // which may have hit the closed pipe already
				require.Contains(t, r.Background, pid)
				require.True(t, alive(pid))
			}
			require.NoError(t, s.Close())
			require.False(t, alive(pid))
			for _, pid := range r.Background {
				require.False(t, alive(pid))
			}
		})
	}
}

// Processes left behind are counted, not their threads.
func TestThreadsAreNoProcesses(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	s := newService(t, process.Options{Quiet: 20 * time.Millisecond})
	r := run(t, s, `mkfifo f; python3 -c '
import threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
open("f", "w").close()' & read -r x <f; echo pid=$!`)
	require.Equal(t, []int{pidIn(t, r.Text, "pid")}, r.Background)
}

// The last output of a command is not lost to a process that holds the pipe.
func TestAllOutputOfTheShellIsRead(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Quiet: 20 * time.Millisecond})
	for range 20 {
		r := run(t, s, `sleep 1000 & seq 5000; echo end`)
		require.True(t, strings.HasSuffix(r.Text, "5000\nend\n"))
		require.Zero(t, r.Omitted)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	var running sync.WaitGroup
	got := make([]process.Result, 50)
	for i := range got {
		running.Go(func() {
			r, err := s.Run(t.Context(), process.Command{Line: fmt.Sprintf("seq %d; exit %d", i, i), Dir: os.TempDir()})
			if err == nil {
				got[i] = r
			}
		})
	}
	running.Wait()
	for i, r := range got {
		require.Equal(t, i, r.Code)
		require.Equal(t, i, strings.Count(r.Text, "\n"))
	}
}

// Close ends running commands.
func TestCloseEndsCommands(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	output, seen, all := until("ready")
	var running sync.WaitGroup
	running.Go(func() {
		r, err := s.Run(t.Context(), process.Command{Line: `echo pid=$$ ready; exec sleep 1000`, Dir: os.TempDir(), Output: output})
		if err != nil || r.Ending != process.Closed {
			t.Errorf("ended by %q: %v", r.Ending, err)
		}
	})
	<-seen
	for range 3 { // each waits for the end
		running.Go(func() {
			if err := s.Close(); err != nil || alive(pidIn(t, all(), "pid")) {
				t.Errorf("Close returned %v before the end", err)
			}
		})
	}
	running.Wait()
}

// descriptors counts the open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// No descriptor is left open.
func TestDescriptors(t *testing.T) {
	s := newService(t, process.Options{Quiet: time.Millisecond})
	run(t, s, "true") // opened once by the runtime
	before := descriptors(t)
	for range 10 {
		run(t, s, "sleep 1000 &")
		i, err := s.Start(t.Context(), process.Command{Line: "cat", Dir: os.TempDir()})
		require.NoError(t, err)
		_, err = s.Kill(t.Context(), i.ID)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	require.LessOrEqual(t, descriptors(t), before)
}
