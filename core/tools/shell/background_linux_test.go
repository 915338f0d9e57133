package shell_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// TO-17: a server is started, listed and written to; it ends with the session.
func TestServer(t *testing.T) {
	t.Parallel()
	s := newSession(t, process.Options{})
	require.Equal(t, "There are no background processes.", text(t, s.Call(shell.ListBackground, args{})))
	started := s.background("p1", `echo ready; while read -r line; do echo "got $line"; done`)
	require.Regexp(t, `^Background Process: p1, PID \d+, RUNNING: .*\nNote: Read its output with read_background_output.*\nOutput: `, started)
	pid, err := strconv.Atoi(regexp.MustCompile(`PID (\d+)`).FindStringSubmatch(started)[1])
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`^- p1, PID %d, RUNNING: echo ready; .*done$`, pid), text(t, s.Call(shell.ListBackground, args{})))
	require.Equal(t, "Wrote 3 bytes to p1.", text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "me\n"})))
	require.Regexp(t, `\nOutput: got me$`, text(t, s.Call(shell.ReadBackground, args{"pid": pid, "wait_ms": 10_000})))
	require.Regexp(t, `^Background Process: .*\nOutput: \(empty\)$`, text(t, s.Call(shell.ReadBackground, args{"id": "p1"})))
	require.True(t, alive(pid))
	require.NoError(t, s.processes.Close())
	require.False(t, alive(pid))
	require.Regexp(t, `EXITED by SIGTERM`, text(t, s.Call(shell.ListBackground, args{})))
}

// TO-17 at a terminal: input arrives as typed keys, and ^C interrupts.
func TestServerAtATerminal(t *testing.T) {
	t.Parallel()
	s := session{processes: process.New(process.Options{}), terminal: true}.open(t)
	s.background("p1", `test -t 0 && echo ready; read -r line; echo "got $line"; exec sleep 1000`)
	text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "me\n"}))
	got := ""
	for !strings.Contains(got, "got me") {
		got += text(t, s.Call(shell.ReadBackground, args{"id": "p1", "wait_ms": 10_000}))
		require.Contains(t, got, "RUNNING")
	}
	text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "\x03"}))
	require.Contains(t, text(t, s.Call(shell.ReadBackground, args{"id": "p1", "wait_ms": 10_000, "until_end": true})), "EXITED by SIGINT")
}

// background starts a command, waits until it has printed ready, and returns the result of the start.
func (s session) background(id, command string) string {
	s.T.Helper()
	started := text(s.T, s.Call(shell.RunShellCommand, args{"command": command, "is_background": true}))
	for got := started; !strings.HasSuffix(got, "ready"); {
		require.Contains(s.T, got, "RUNNING")
		got = text(s.T, s.Call(shell.ReadBackground, args{"id": id, "wait_ms": 10_000}))
	}
	return started
}

// A server on a port continues although its output is not read.
func TestServerOnAPort(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	s := newSession(t, process.Options{})
	s.Write("server.py", `
import socket, sys
def say(line):
    sys.stdout.write(line + "\n") # in one piece
    sys.stdout.flush()
l = socket.create_server(("127.0.0.1", 0))
say("ready")
input()
say("port %d" % l.getsockname()[1])
while True:
    c, _ = l.accept()
    say("x" * 100000)
    c.sendall(b"hello")
    c.close()
`)
	s.background("p1", "exec python3 server.py")
	text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "\n"}))
	var port []string
	for port == nil {
		got := text(t, s.Call(shell.ReadBackground, args{"id": "p1", "wait_ms": 10_000}))
		require.Contains(t, got, "RUNNING")
		port = regexp.MustCompile(`port (\d+)`).FindStringSubmatch(got)
	}
	for range 10 {
		c, err := net.Dial("tcp", "127.0.0.1:"+port[1])
		require.NoError(t, err)
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		require.NoError(t, c.Close())
	}
	require.Regexp(t, `Dropped: \d+ bytes`, text(t, s.Call(shell.ReadBackground, args{"id": "p1"})))
}

func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	s := session{processes: process.New(process.Options{}), settle: 10 * time.Second}.open(t)
	require.Regexp(t, `^Background Process: p1, PID \d+, EXITED with code 127: nothing-of-that-name\nOutput: .*not found$`,
		text(t, s.Call(shell.RunShellCommand, args{"command": "nothing-of-that-name", "is_background": true})))

	s = newSession(t, process.Options{})
	s.background("p1", "trap 'echo bye; exit 5' TERM; echo ready; while :; do read -r x; done")
	require.Regexp(t, `EXITED with code 5: .*\nOutput: bye$`, text(t, s.Call(shell.StopBackground, args{"id": "p1"})))
	require.Regexp(t, `EXITED with code 5: .*\nOutput: \(empty\)$`, text(t, s.Call(shell.StopBackground, args{"id": "p1"})))
	require.Equal(t, fault.ExecutionFailed, s.Call(shell.WriteBackground, args{"id": "p1", "input": "x"}).Result.Error.Code)
	unknown := s.Call(shell.ReadBackground, args{"id": "p9"}).Result.Error
	require.Equal(t, fault.ExecutionFailed, unknown.Code)
	require.Contains(t, unknown.Remedy, "p1")
}

// The confirmation shows the complete input, because it may be a command.
func TestBackgroundConfirmations(t *testing.T) {
	t.Parallel()
	s := newSession(t, process.Options{}, asking)
	text(t, s.Call(shell.RunShellCommand, args{"command": "exec cat", "is_background": true}))
	text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "rm -rf x\n", "close_input": true}))
	text(t, s.Call(shell.StopBackground, args{"id": "p1"}))
	text(t, s.Call(shell.ListBackground, args{}))
	text(t, s.Call(shell.ReadBackground, args{"id": "p1"}))
	asked := s.Confirmations()
	require.Len(t, asked, 3)
	require.Equal(t, confirmation.Type("exec"), asked[0].Details.Type)
	require.Regexp(t, `^Write "rm -rf x\\n" to p1 and close its input\nThe process: p1, PID \d+, RUNNING: exec cat$`, asked[1].Details.Prompt)
	require.Regexp(t, `^Stop the background process p1, PID \d+, .*: exec cat$`, asked[2].Details.Prompt)
}
