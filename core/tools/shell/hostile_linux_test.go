package shell_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// hostile is a command that hangs or floods its callers.
type hostile struct {
	command string
	o       func(*process.Options)
	code    fault.Code   // "": it succeeds
	reason  fault.Reason // of the failure
	want    string       // pattern of the content for the model
}

// doubleFork starts a classic daemon, with a parent and a session other than those of the command.
const doubleFork = `python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in 0, 1, 2: os.dup2(null, fd)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("started")'`

var (
	idle  = fault.IdleLimit
	total = fault.TotalLimit
)

func hostileCommands() map[string]hostile {
	failed := fault.ShellExecuteError
	soon := func(o *process.Options) { o.Total, o.SaveBytes = time.Second, 1<<20 }
	return map[string]hostile{
		"prints much":             {`yes | head -c 20000000`, nil, "", "", `^Saved Output: .*\(20000000 bytes\)\nNote: .*\nOutput: y\ny\n`},
		"prints without an end":   {`exec yes`, soon, failed, total, `^Error: The command ran for too long.*\nSignal: SIGTERM\nSaved Output: .*\nNote: .*\nOutput: y\n`},
		"prints nothing for ever": {`exec sleep 1000`, nil, failed, idle, `^Error: The command printed nothing.*\nSignal: SIGTERM\nOutput: \(empty\)$`},
		"stops printing":          {`echo a; sleep 1000`, nil, failed, idle, `\nOutput: a$`},
		"daemonises":              {`setsid sleep 1000 & echo started`, nil, "", "", `^Background PIDs: \d+ \(.*\)\nOutput: started$`},
		"daemonises, silent":      {`setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started`, nil, "", "", `^Background PIDs: \d+ \(.*\)\nOutput: started$`},
		"daemonises by two forks": {doubleFork, nil, "", "", `^Background PIDs: \d+ \(.*\)\nOutput: started$`},
		"a daemon, and hangs":     {`setsid sleep 1000 >/dev/null 2>&1 & echo a; sleep 1000`, nil, failed, idle, `^Error: [^\n]*\nSignal: SIGTERM\nOutput: a$`},
		"ignores SIGTERM":         {`trap '' TERM; echo a; while :; do sleep 1000; done`, nil, failed, idle, `\nSignal: SIGKILL\nOutput: a$`},
		"waits on stdin":          {`cat; read -r x || echo nothing`, nil, "", "", `^Output: nothing$`},
		"asks at the terminal":    {`read -r x </dev/tty`, nil, "", "", `^Exit Code: 1\nOutput: .*/dev/tty`},
		"holds the pipe":          {`sleep 1000 & echo a`, nil, "", "", `^Background PIDs: \d+ .*\nOutput: a$`},
		"a tree of 200 processes": {
			`f() { [ "$1" -gt 0 ] || exec sleep 1000; (f $(($1-1))) & (f $(($1-1))) & wait; }; echo a; f 7; wait`, nil, failed, idle, `^Error: [^\n]*\nSignal: SIGTERM\nOutput: a$`,
		},
		"a tree that is left":       {`for i in $(seq 200); do sleep 1000 & done; echo a`, nil, "", "", `^Background PIDs: (\d+, ){199}\d+ \(.*\)\nOutput: a$`},
		"closes its output":         {`echo a; exec >&- 2>&-; sleep 0.1; exit 3`, nil, "", "", `^Exit Code: 3\nOutput: a$`},
		"closes it and hangs":       {`echo a; exec >&- 2>&-; exec sleep 1000`, nil, failed, idle, `^Error: [^\n]*\nSignal: SIGTERM\nOutput: a$`},
		"not UTF-8":                 {`printf 'a\377\376b\303'`, nil, "", "", "^Output: a\ufffd\ufffdb\ufffd$"},
		"a NUL":                     {`printf 'a\0b'`, nil, "", "", `^Output: a␀b$`},
		"binary":                    {`head -c 3000000 /dev/urandom`, nil, "", "", `^Saved Output: .*\nNote: .*\nOutput: \[3000000 bytes of binary output\]$`},
		"one huge line":             {`head -c 3000000 /dev/zero | tr '\0' x`, nil, "", "", `^Saved Output: .*\(3000000 bytes\)\nNote: .*\nOutput: x+\n\.\.\. \[2960000 bytes omitted\] \.\.\.\nx+$`},
		"escape sequences":          {`printf '\033]0;title\a\033[31mred\033[0m\033[5;5H\033[?1049h\033[2Jb\033P1$r\033\\\r\033[Kc\n'`, nil, "", "", `^Output: red\n`},
		"deletes its own directory": {`mkdir d && cd d && rm -r ../d && echo x >f; echo done`, nil, "", "", `^Output: .*No such file or directory\ndone$`},
		"a line of 100 kB":          {`: ` + strings.Repeat("x", 100_000) + `; echo a`, nil, "", "", `^Output: a$`},
		"a line of 200 kB":          {`: ` + strings.Repeat("x", 200_000) + `; echo a`, nil, failed, "", `^The command could not be started: .*argument list too long.* put a very long command into a script\.$`},
		"ends by a signal":          {`kill -SEGV $$`, nil, "", "", `^Signal: SIGSEGV\nOutput: \(empty\)$`},
		"ends its own group":        {`kill -9 0`, nil, "", "", `^Signal: SIGKILL\nOutput: \(empty\)$`},
		"stops itself":              {`kill -STOP $$`, nil, failed, idle, `\nSignal: SIG(TERM|KILL)\nOutput: \(empty\)$`},
		"is no command":             {`nothing-of-that-name`, nil, "", "", `^Exit Code: 127\nOutput: .*not found`},
		"is no syntax":              {`if`, nil, "", "", `^Exit Code: 2\nOutput: .*syntax error`},
	}
}

// Commands that hang or flood: each returns, the result states what happened, and no process is left when the session
// ends.
func TestHostileCommands(t *testing.T) {
	t.Parallel()
	for name, h := range hostileCommands() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil && h.command == doubleFork {
				t.Skip("python3 is not installed")
			}
			h.try(t, name, false)
		})
	}
}

// The same is true at a terminal. A command that prompts the user reads the end of its input.
func TestHostileCommandsAtATerminal(t *testing.T) {
	t.Parallel()
	all := hostileCommands()
	hangsUp := `^(Background PIDs: .*\n)?Output: started$` // a race of the daemon with the end of the terminal
	for name, h := range map[string]hostile{
		"prints much":             {`yes | head -c 2000000`, nil, "", "", `^Saved Output: .*\(3000000 bytes\)\nNote: .*\nOutput: y\ny\n`}, // line ends have two bytes
		"prints nothing for ever": all["prints nothing for ever"],
		"daemonises":              {all["daemonises"].command, nil, "", "", hangsUp},
		"ignores SIGTERM":         all["ignores SIGTERM"],
		"waits on stdin":          all["waits on stdin"],
		"asks at the terminal":    {`read -r -p 'Password: ' x </dev/tty; echo $?`, nil, "", "", `^Output: Password: 1$`},
		"waits for a key":         {`stty -icanon; exec cat`, nil, fault.ShellExecuteError, idle, `\nOutput: (\(empty\)|␀)$`},
		"ignores the hangup":      {`trap '' HUP; sleep 1000 & echo started`, nil, "", "", `^Background PIDs: \d+ \(.*\)\nOutput: started$`},
		"one huge line":           all["one huge line"],
		"escape sequences":        all["escape sequences"],
		"ends its own group":      all["ends its own group"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.try(t, name, true)
		})
	}
}

func (h hostile) try(t *testing.T, name string, terminal bool) {
	o := process.Options{Grace: 50 * time.Millisecond, Quiet: 20 * time.Millisecond}
	if h.o != nil {
		h.o(&o)
	}
	if h.reason != idle {
		h.once(t, name, terminal, o)
		return
	}
	// A slow machine may need more time until the command prints; try again with a longer limit.
	for o.Idle = 150 * time.Millisecond; !h.once(t, name, terminal, o); o.Idle *= 2 {
		require.Less(t, o.Idle, 10*time.Second)
	}
}

// once runs the command in a session of its own. It returns false if only the content for the model differs, for a
// command that was ended by the idle limit.
func (h hostile) once(t *testing.T, name string, terminal bool, o process.Options) bool {
	t.Helper()
	o.SaveDir = t.TempDir()
	s := session{processes: process.New(o), terminal: terminal}.open(t)
	mark := fmt.Sprintf("HOSTILE_%d_%v_%s", os.Getpid(), terminal, regexp.MustCompile(`\W`).ReplaceAllString(name, "_"))
	r := s.Call(shell.RunShellCommand, args{"command": "export " + mark + "=1\n" + h.command})
	got := plain(t, r)
	matched := regexp.MustCompile(h.want).MatchString(got)
	require.True(t, matched || h.reason == idle, "%s\ndoes not match %s", got, h.want)
	require.Equal(t, h.code == "", r.Status == scheduler.StatusSuccess)
	if h.code != "" {
		require.Equal(t, h.code, r.Result.Error.Code)
		require.Equal(t, h.reason, r.Result.Error.Reason)
		require.NotEmpty(t, r.Result.Error.Remedy)
	}
	require.NoError(t, s.processes.Close())
	require.Empty(t, withMark(t, mark))
	if testing.Verbose() {
		reason := string(h.code)
		if h.reason != "" {
			reason += " / " + string(h.reason)
		}
		t.Logf("| %s | `%.80s` | %s | %s | `%.260s` |", name, strings.ReplaceAll(h.command, "\n", "⏎"), r.Status, reason, strings.ReplaceAll(got, "\n", "⏎"))
	}
	return matched
}

// Output of 1 GB (with FETTLE_FULL; otherwise 100 MB) is counted and saved, and not kept in memory.
func TestHugeOutput(t *testing.T) {
	size := 100_000_000
	if os.Getenv("FETTLE_FULL") != "" {
		size = 1_000_000_000
	}
	s := newSession(t, process.Options{SaveDir: t.TempDir()})
	debug.FreeOSMemory()
	before := heap()
	highest := uint64(0)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-stop:
				return
			case <-again.C:
				highest = max(highest, heap())
			}
		}
	})
	begun := time.Now()
	got := s.sh(fmt.Sprintf("yes 123456789 | head -c %d", size))
	took := time.Since(begun)
	close(stop)
	watching.Wait()
	require.Regexp(t, fmt.Sprintf(`^Saved Output: \S+ \(%d bytes\)\nNote: .*\nOutput: 123456789\n`, size), got)
	require.Less(t, len(got), 50_000)
	require.Less(t, highest-min(before, highest), uint64(64<<20))
	t.Logf("%d bytes in %v, %d kB of heap more", size, took, (highest-min(before, highest))>>10)
	saved := regexp.MustCompile(`Saved Output: (\S+)`).FindStringSubmatch(got)[1]
	require.Equal(t, 1, len(must(filepath.Glob(filepath.Dir(saved)+"/*"))))
}

func must[T any](v T, _ error) T { return v }

// heap returns the bytes of all objects in memory, including those not collected yet.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// 50 concurrent commands, some of which hang until they are cancelled: each returns its own result.
func TestFiftyAtOnce(t *testing.T) {
	t.Parallel()
	s := newSession(t, process.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ending, hanging sync.WaitGroup
	got := make([]scheduler.Response, 50)
	for i := range got {
		if i%10 == 9 {
			hanging.Go(func() {
				got[i] = s.CallContext(ctx, shell.RunShellCommand, args{"command": "sleep 1000"})
			})
			continue
		}
		ending.Go(func() {
			got[i] = s.Call(shell.RunShellCommand, args{"command": fmt.Sprintf("seq %d | tail -n 1; exit %d", 1000+i, i)})
		})
	}
	ending.Wait()
	cancel()
	hanging.Wait()
	for i, r := range got {
		switch {
		case i%10 == 9:
			require.Equal(t, fault.Cancelled, r.Result.Error.Code)
		case i == 0:
			require.Equal(t, "Output: 1000", plain(t, r))
		default:
			require.Equal(t, fmt.Sprintf("Exit Code: %d\nOutput: %d", i, 1000+i), plain(t, r))
		}
	}
}

// withMark returns the live processes with a variable in their environment.
func withMark(t testing.TB, variable string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !alive(pid) {
			continue
		}
		if environ, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && strings.Contains(string(environ), variable+"=") {
			pids = append(pids, pid)
		}
	}
	return pids
}
