package process_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

func atTerminal(t testing.TB, s *process.Service, line string) process.Result {
	t.Helper()
	r, err := s.Run(t.Context(), process.Command{Line: line, Dir: t.TempDir(), PTY: true})
	require.NoError(t, err)
	return r
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for name, tt := range map[string]struct {
		line, want string
		exit       process.Exit
	}{
		"is there":        {`test -t 0 && test -t 1 && test -t 2 && : </dev/tty && echo yes`, "yes\n", process.Exit{}},
		"its size":        {`stty size`, "40 120\n", process.Exit{}},
		"its kind":        {`echo $TERM`, "xterm-256color\n", process.Exit{}},
		"is the shell's":  {`tty | grep -c /dev/`, "1\n", process.Exit{}},
		"both streams":    {`echo a; echo b >&2`, "a\nb\n", process.Exit{}},
		"exit code":       {`exit 3`, "", process.Exit{Code: 3}},
		"signal":          {`kill -KILL $$`, "", process.Exit{Code: -1, Signal: "SIGKILL"}},
		"progress":        {`printf ' 10%%\r 50%%\r100%%\n'`, "100%\n", process.Exit{}},
		"several lines":   {`printf 'a 1%%\nb 1%%\n\033[2A\033[2Ka 9%%\n\033[2Kb 9%%\n'`, "a 9%\nb 9%\n", process.Exit{}},
		"no end of line":  {`printf x`, "x", process.Exit{}},
		"the last output": {`seq 20000 | tail -n 2; printf end`, "19999\n20000\nend", process.Exit{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := atTerminal(t, s, tt.line)
			require.Equal(t, tt.want, r.Text)
			require.Equal(t, tt.exit, r.Exit)
			require.Empty(t, r.Ending)
			require.Empty(t, r.Background)
		})
	}
	r, err := s.Run(t.Context(), process.Command{Line: `stty size; printf '\033[31mred\n'`, Dir: t.TempDir(), PTY: true, Cols: 33, Rows: 7})
	require.NoError(t, err)
	require.Equal(t, "7 33\r\n\x1b[31mred\r\n", r.ANSI)
}

// A program that reads lines from the terminal finds the end of the input, however often it reads:
// a prompt does not hang.
func TestTerminalInputEnds(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for name, tt := range map[string]struct{ needs, line, want string }{
		"read":               {"", `read -r x; echo $?`, "1\n"},
		"again and again":    {"", `for i in 1 2 3 4; do read -r x || echo $i; done`, "1\n2\n3\n4\n"},
		"cat":                {"", `cat; cat; echo done`, "done\n"},
		"at /dev/tty":        {"", `read -r x </dev/tty; echo $?`, "1\n"},
		"a password":         {"", `read -r -s -p 'Password: ' x; echo $?`, "Password: 1\n"},
		"typed away":         {"python3", `python3 -c 'import termios, sys; termios.tcflush(0, termios.TCIFLUSH); print(repr(sys.stdin.read()))'`, "''\n"},
		"a program's prompt": {"python3", `python3 -c 'import getpass; getpass.getpass()' 2>&1 | tail -n 1`, "EOFError\n"},
		"a child":            {"", `(sh -c 'read -r x; echo $?')`, "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.needs); tt.needs != "" && err != nil {
				t.Skipf("there is no %s", tt.needs)
			}
			r := atTerminal(t, s, tt.line)
			require.Empty(t, r.Ending)
			require.Truef(t, strings.HasSuffix(r.Text, tt.want), "%q", r.Text)
		})
	}
}

// A program that waits for a key waits until its limit. It reads none: the end of input that is
// offered to line readers is removed, except for the moment in which it is offered.
func TestTerminalKeys(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Idle: 300 * time.Millisecond})
	for tries := 1; ; tries++ {
		r := atTerminal(t, s, `sleep 0.15; stty -icanon; exec cat`)
		require.Equal(t, process.IdleLimit, r.Ending)
		if r.Text == "" {
			return
		}
		require.Less(t, tries, 5, "it is disturbed each time")
	}
}

// TO-09, at a terminal: cancelling leaves no child, and a process that holds the terminal does not
// keep a command waiting.
func TestTerminalEnds(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"one process":           `echo pid=$$ ready; exec sleep 1000`,
		"ignores the signals":   `trap '' TERM HUP INT; echo pid=$$ ready; while :; do sleep 1000; done`,
		"one that is detached":  `setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 & echo pid=$! ready; wait`,
		"jobs":                  `set -m; sleep 1000 & echo pid=$! ready; wait`,
		"prints without an end": `echo pid=$$ ready; exec yes`,
		"reads":                 `echo pid=$$ ready; while :; do read -r x; done`,
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
			mark := fmt.Sprintf("TERMINAL=%d_%s", os.Getpid(), strings.ReplaceAll(name, " ", "_"))
			r, err := s.Run(ctx, process.Command{Line: "export " + mark + "; " + line, Dir: t.TempDir(), PTY: true, Output: output})
			require.NoError(t, err)
			require.Equal(t, process.Cancelled, r.Ending)
			require.False(t, alive(pidIn(t, all(), "pid")))
			require.Empty(t, withEnvironment(t, mark), "processes are left")
		})
	}
}

func TestTerminalGrandchildren(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Quiet: 20 * time.Millisecond, Grace: 50 * time.Millisecond})
	r := atTerminal(t, s, `trap '' HUP; sleep 1000 & echo pid=$!`) // it holds the terminal
	pid := pidIn(t, r.Text, "pid")
	require.Equal(t, []int{pid}, r.Background)
	require.True(t, alive(pid))
	r = atTerminal(t, s, `trap '' HUP; setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo pid=$!`)
	require.Equal(t, []int{pidIn(t, r.Text, "pid")}, r.Background)
	require.NoError(t, s.Close())
	require.False(t, alive(pid))
	require.False(t, alive(r.Background[0]))

	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests run where SIGHUP is ignored, as under nohup, and so do all processes that they start")
	}
	s = newService(t, process.Options{Quiet: 10 * time.Second}) // it is not waited for
	r = atTerminal(t, s, `sleep 1000 & echo pid=$!`)            // the terminal hangs up on it
	requireEnds(t, pidIn(t, r.Text, "pid"))
	require.Empty(t, r.Background)
}

// A background process at a terminal receives keystrokes.
func TestTerminalTalk(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	start := func(line string) string {
		i, err := s.Start(t.Context(), process.Command{Line: line, Dir: t.TempDir(), PTY: true})
		require.NoError(t, err)
		return i.ID
	}
	expect := func(id, text string) {
		got := ""
		for !strings.Contains(got, text) {
			u := read(t, s, id)
			require.NotEmpty(t, u.Text, "after %q", got)
			got += u.Text
		}
	}
	id := start(`n=0; trap 'n=$((n+1))' INT; test -t 0 && echo ready; while read -r line; do echo "got $line $n"; done; echo bye; exit 4`)
	expect(id, "ready\n")
	require.NoError(t, s.Write(t.Context(), id, "me\n", false))
	expect(id, "me\ngot me 0\n")                                // input is echoed
	require.NoError(t, s.Write(t.Context(), id, "\x03", false)) // which may discard output
	require.NoError(t, s.Write(t.Context(), id, "again\n", false))
	expect(id, "got again 1\n")
	require.NoError(t, s.Write(t.Context(), id, "last\n", true))
	u := readEnd(t, s, id)
	require.True(t, strings.HasSuffix(u.Text, "got last 1\nbye\n"), "%q", u.Text)
	require.Equal(t, process.Exit{Code: 4}, u.Exit)
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), id, "x", false)))

	id = start(`echo ready; while read -r line || test "$line"; do echo "got $line"; done`)
	expect(id, "ready\n")
	require.NoError(t, s.Write(t.Context(), id, "one\ntwo\npart", true)) // it is all read before the end
	require.Contains(t, readEnd(t, s, id).Text, "got one\ngot two\ngot part\n")

	id = start(`echo ready; exec sleep 1000`)
	expect(id, "ready\n")
	require.NoError(t, s.Write(t.Context(), id, "", true))
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), id, "x", false)))
	ended, err := s.Kill(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "SIGTERM", ended.Signal)

	id = start(`stty raw -echo; echo ready; exec sleep 1000`) // no process reads
	expect(id, "ready\n")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(s.Write(ctx, id, strings.Repeat("x", 1<<20), false)))
}

// No descriptor and no goroutine is left, see TestMain.
func TestTerminalDescriptors(t *testing.T) {
	s := newService(t, process.Options{Quiet: time.Millisecond})
	atTerminal(t, s, "true") // opened once by the runtime
	before := descriptors(t)
	for range 5 {
		atTerminal(t, s, "trap '' HUP; sleep 1000 &")
		i, err := s.Start(t.Context(), process.Command{Line: "cat", Dir: os.TempDir(), PTY: true})
		require.NoError(t, err)
		require.NoError(t, s.Write(t.Context(), i.ID, "x", true))
		_, err = s.Kill(t.Context(), i.ID)
		require.NoError(t, err)
		_, err = s.Run(t.Context(), process.Command{Line: "true", Dir: "/folder/that/is/absent", PTY: true})
		require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	}
	require.NoError(t, s.Close())
	require.LessOrEqual(t, descriptors(t), before)
}
