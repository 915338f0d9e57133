package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/process"
)

// standIn is a program with docker's command line that runs a command directly, in another session
// and environment: like a container it outlives the program. STATE holds its calls, and a file for
// each running container.
const standIn = `#!/bin/bash
printf '%s\n' "$*" >> "$STATE/calls"
case $1 in
--version) echo "$VERSION"; exit ;;
kill) read -r pid < "$STATE/$2" && rm "$STATE/$2" && kill -KILL -- "-$pid"; exit ;;
rm) : > "$STATE/$3.removed"; [ ! -e "$STATE/$3" ] || "$0" kill "$3"; exit ;;
run) shift ;;
*) echo "unknown command $1" >&2; exit 125 ;;
esac
[ -z "$BROKEN" ] || { echo "cannot reach the daemon" >&2; exit 125; }
env=() name= dir=/ entry=(echo the program of the image got)
while [[ $1 == -* ]]; do
	case $1 in
	--rm|--init|-i|-t|--userns=*) shift ;;
	--name) name=$2; shift 2 ;;
	-w) dir=$2; shift 2 ;;
	--entrypoint) entry=("$2"); shift 2 ;;
	-e) [[ $2 == *_COMMAND_ID=* ]] || env+=("$2"); shift 2 ;;
	--tmpfs|-v|--network|--user) shift 2 ;;
	*) echo "unknown option $1" >&2; exit 125 ;;
	esac
done
[ "$1" = image ] || { echo "no such image: $1" >&2; exit 125; }
shift
cd "$dir" || exit 125
exec 3<&0
env -i PATH="$PATH" "${env[@]}" setsid bash -c 'echo $$ > "$0"; [ -e "$0.removed" ] || exec "$@"' "$STATE/$name" "${entry[@]}" "$@" <&3 &
wait=$!
[ -n "$DEAF" ] || trap 'read -r pid < "$STATE/$name" && kill -TERM -- "-$pid"' TERM
[ -z "$DEAF" ] || trap '' TERM
while :; do
	wait "$wait"; code=$?
	kill -0 "$wait" 2>/dev/null || exit "$code"
done
`

// contained is a Service whose commands run by a stand-in for docker.
type contained struct {
	*process.Service
	t         testing.TB
	ws, state string
}

func newContained(t testing.TB, o process.Options, env ...string) contained {
	t.Helper()
	c := contained{t: t, ws: tempDir(t), state: t.TempDir()}
	program := filepath.Join(t.TempDir(), "tank")
	require.NoError(t, os.WriteFile(program, []byte(standIn), 0o700)) //nolint:gosec // it is to be run
	o.Environ = func() []string { return append(append(os.Environ(), "STATE="+c.state), env...) }
	o.Confinement.Kind, o.Confinement.Program, o.Confinement.Image = process.Container, program, "image"
	o.Confinement.Writable = append(o.Confinement.Writable, c.ws)
	require.NoError(t, o.Confinement.Check(t.Context()))
	c.Service = newService(t, o)
	return c
}

func (c contained) run(ctx context.Context, line string) (process.Result, error) {
	return c.Run(ctx, process.Command{Line: line, Dir: c.ws})
}

// calls returns the command lines that the stand-in received.
func (c contained) calls() []string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.state, "calls"))
	require.NoError(c.t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// pid waits for the number that a command writes to the file pid.
func (c contained) pid() int {
	c.t.Helper()
	var pid int
	require.Eventually(c.t, func() bool {
		data, err := os.ReadFile(filepath.Join(c.ws, "pid"))
		if err != nil || !strings.HasSuffix(string(data), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	return pid
}

// A command in a container behaves as one without: its output, exit code, directory, input.
func TestContainerRuns(t *testing.T) {
	c := newContained(t, process.Options{})
	for line, want := range map[string]process.Result{
		"echo out; echo err >&2; exit 7":  {Exit: process.Exit{Code: 7}, Text: "out\nerr\n"},
		"pwd; echo $PWD":                  {Text: c.ws + "\n" + c.ws + "\n"},
		`echo "$0 $# $HOME$STATE$USER"`:   {Text: "bash 0 \n"},
		"echo $FETTLE $TERM $PAGER":       {Text: "1 dumb cat\n"},
		"-x":                              {Exit: process.Exit{Code: 127}, Text: "bash: line 1: -x: command not found\n"},
		"cat":                             {},
		"printf '%s\\n' 'a \"b'; # $(no)": {Text: "a \"b\n"},
		"cat <<'E'\nx\nE":                 {Text: "x\n"},
		`test -w "$TMPDIR" && mktemp >/dev/null && echo "${TMPDIR##*/}" | grep -c ^fettle-`: {Text: "1\n"},
	} {
		t.Run(line, func(t *testing.T) {
			r, err := c.run(t.Context(), line)
			require.NoError(t, err)
			require.Equal(t, want.Text, r.Text)
			require.Equal(t, want.Exit, r.Exit)
		})
	}

	info, err := c.Start(t.Context(), process.Command{Line: "read -r a; echo got $a; exit 3", Dir: c.ws})
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), info.ID, "x\n", true))
	u, err := c.Read(t.Context(), info.ID, process.ReadOptions{Wait: time.Minute, ForEnd: true})
	require.NoError(t, err)
	require.Equal(t, "got x\n", u.Text)
	require.Equal(t, 3, u.Code)
}

// The program receives docker's command line, with the settings of the confinement.
func TestContainerArguments(t *testing.T) {
	more := tempDir(t)
	c := newContained(t, process.Options{Confinement: process.Confinement{Writable: []string{more + "/", more}, NoTCP: true}})
	_, err := c.run(t.Context(), "true && : done")
	require.NoError(t, err)
	_, err = c.Run(t.Context(), process.Command{Line: "true", Dir: "/usr", PTY: true})
	require.NoError(t, err)
	calls := c.calls()
	require.Len(t, calls, 2)

	first := strings.Fields(calls[0])
	name := first[5]
	require.Regexp(t, `^fettle-[0-9a-f]{16}-1$`, name)
	var mounts, env []string
	for i, word := range first {
		switch word {
		case "-v":
			mounts = append(mounts, first[i+1])
		case "-e":
			env = append(env, first[i+1])
		}
	}
	require.Contains(t, calls[0], "run --rm --init -i --name "+name+" --tmpfs /tmp -v ")
	require.Contains(t, calls[0], " -w "+c.ws+" -e FETTLE=1 -e FETTLE_COMMAND_ID=")
	require.Regexp(t, ` --network none --entrypoint bash image -c .* /\S+/\.`+name+` true && : done$`, calls[0])
	require.Len(t, mounts, 3)
	require.Contains(t, mounts, c.ws+":"+c.ws)
	require.Contains(t, mounts, more+":"+more)
	require.Len(t, env, 9)

	require.Contains(t, calls[1], "-2 -t --tmpfs /tmp ")
	require.Contains(t, calls[1], " -v /usr:/usr:ro -w /usr ")
	require.Contains(t, calls[1], " -e TERM=xterm-256color ")
}

// A failure of the program is distinguished from a command that ends with the same code.
func TestContainerFails(t *testing.T) {
	c := newContained(t, process.Options{})
	for _, line := range []string{"exit 125", "find $TMPDIR -type f -delete; exit 125"} {
		r, err := c.run(t.Context(), line)
		require.NoError(t, err)
		require.Equal(t, 125, r.Code)
	}
	broken := newContained(t, process.Options{}, "BROKEN=1")
	r, err := broken.run(t.Context(), "true")
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.ErrorContains(t, err, "/tank could not run a container of the image image: cannot reach the daemon")
	require.NotEmpty(t, fault.As(err).Remedy)
	require.Equal(t, 125, r.Code)

	// Commands that cannot be started at all.
	c = newContained(t, process.Options{})
	_, err = c.Run(t.Context(), process.Command{Line: "true", Dir: filepath.Join(c.ws, "no")})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.NoError(t, os.RemoveAll(c.ws))
	_, err = c.run(t.Context(), "true")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.NoError(t, os.Mkdir(c.ws, 0o700))

	// No mark file is left.
	r, err = c.run(t.Context(), "ls -A $TMPDIR | wc -l")
	require.NoError(t, err)
	require.Equal(t, "1\n", strings.TrimLeft(r.Text, " "))
}

// Every way of ending a command ends its container, although that is not the program.
func TestContainerEnds(t *testing.T) {
	const line = "trap '' TERM; echo $$ > pid; while :; do sleep 1000; done"
	short := process.Options{Grace: 50 * time.Millisecond}
	for name, deaf := range map[string]string{"": "DEAF=", ", of a program that ignores it": "DEAF=1"} {
		t.Run("cancelled"+name, func(t *testing.T) {
			c := newContained(t, short, deaf)
			ctx, cancel := context.WithCancel(t.Context())
			var r process.Result
			var err error
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r, err = c.run(ctx, line)
			}()
			pid := c.pid()
			cancel()
			<-ended
			require.NoError(t, err)
			require.Equal(t, process.Cancelled, r.Ending)
			requireEnds(t, pid)
			calls := c.calls()
			require.Len(t, calls, 3)
			container := strings.TrimPrefix(calls[1], "kill ")
			require.Contains(t, calls[0], "--name "+container+" ")
			require.Equal(t, "rm -f "+container, calls[2])
		})
	}
	t.Run("by a limit", func(t *testing.T) {
		for o := short; ; o.Idle *= 2 {
			o.Idle = max(o.Idle, 100*time.Millisecond)
			c := newContained(t, o)
			r, err := c.run(t.Context(), line)
			require.NoError(t, err)
			require.Equal(t, process.IdleLimit, r.Ending)
			if _, err := os.Stat(filepath.Join(c.ws, "pid")); err == nil { // otherwise it was too slow
				requireEnds(t, c.pid())
				return
			}
		}
	})
	t.Run("in the background", func(t *testing.T) {
		c := newContained(t, short)
		info, err := c.Start(t.Context(), process.Command{Line: line, Dir: c.ws})
		require.NoError(t, err)
		pid := c.pid()
		_, err = c.Kill(t.Context(), info.ID)
		require.NoError(t, err)
		requireEnds(t, pid)
	})
	t.Run("with the session", func(t *testing.T) {
		c := newContained(t, short)
		_, err := c.Start(t.Context(), process.Command{Line: line, Dir: c.ws})
		require.NoError(t, err)
		pid := c.pid()
		require.NoError(t, c.Close())
		requireEnds(t, pid)
	})
	t.Run("when somebody else ends the program", func(t *testing.T) {
		c := newContained(t, short)
		info, err := c.Start(t.Context(), process.Command{Line: line + " >/dev/null 2>&1", Dir: c.ws})
		require.NoError(t, err)
		pid := c.pid()
		p, err := os.FindProcess(info.PID)
		require.NoError(t, err)
		require.NoError(t, p.Kill())
		requireEnds(t, info.PID)
		_, err = c.Kill(t.Context(), info.ID)
		require.NoError(t, err)
		requireEnds(t, pid)
	})
}

// Files that a command creates belong to the user, with podman's options and with docker's.
func TestContainerUser(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.Mkdir(filepath.Join(top, "all"), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(top, "all"), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(top, "tank"), []byte(standIn), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(top, "tank"), 0o755))
	})
	if !ok {
		return
	}
	for version, want := range map[string]string{
		"podman version 4.9.3":         " --userns=keep-id --tmpfs ",
		"Docker version 27.1, build x": " --user 65534:65534 -e HOME=/",
		"":                             " --user 65534:65534 -e HOME=/",
	} {
		state, err := os.MkdirTemp(filepath.Join(top, "all"), "")
		require.NoError(t, err)
		t.Setenv("TMPDIR", state)
		s := newService(t, process.Options{
			Environ:     func() []string { return append(os.Environ(), "STATE="+state, "VERSION="+version) },
			Confinement: process.Confinement{Kind: process.Container, Program: filepath.Join(top, "tank"), Image: "image", Writable: []string{state}},
		})
		r, err := s.Run(t.Context(), process.Command{Line: "echo x > f && ls f", Dir: state})
		require.NoError(t, err)
		require.Equal(t, "f\n", r.Text)
		calls, err := os.ReadFile(filepath.Join(state, "calls"))
		require.NoError(t, err)
		require.Contains(t, string(calls), want)
	}
}

// A real container runtime, if one answers and has the image.
func TestContainerReal(t *testing.T) {
	const image = "debian:stable-slim"
	for _, program := range []string{"docker", "podman"} {
		t.Run(program, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if out, err := exec.CommandContext(ctx, program, "image", "inspect", image).CombinedOutput(); err != nil { //nolint:gosec // two names
				t.Skipf("%s has no %s: %v: %s", program, image, err, out)
			}
			ws, out := t.TempDir(), t.TempDir()
			s := newService(t, process.Options{Confinement: process.Confinement{
				Kind: process.Container, Program: program, Image: image, Writable: []string{ws}, NoTCP: true}})
			r := runIn(t, s, ws, out, `echo x > f && ! test -e $OUT && test ! -e /proc/1/root$HOME/.docker && echo y > $(mktemp) && exit 125`)
			require.Equal(t, 125, r.Code, r.Text)
			require.Equal(t, "f", names(t, ws))
			info, err := os.Stat(filepath.Join(ws, "f"))
			require.NoError(t, err)
			require.NotNil(t, info)

			c, err := s.Start(t.Context(), process.Command{Line: "echo on; sleep 1000", Dir: ws})
			require.NoError(t, err)
			u, err := s.Read(t.Context(), c.ID, process.ReadOptions{Wait: time.Minute})
			require.NoError(t, err)
			require.Equal(t, "on\n", u.Text)
			require.NoError(t, s.Close())
			left, err := exec.CommandContext(t.Context(), program, "ps", "-aq", "--filter", "name=fettle-").Output() //nolint:gosec // two names
			require.NoError(t, err)
			require.Empty(t, string(left))
		})
	}
}

// docker without its daemon fails with its own error, and the command does not run.
func TestContainerWithoutDaemon(t *testing.T) {
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("docker is not here")
	}
	ws := t.TempDir()
	nowhere := func() []string { return append(os.Environ(), "DOCKER_HOST=unix://"+ws+"/no.sock") }
	s := newService(t, process.Options{Environ: nowhere, Confinement: process.Confinement{
		Kind: process.Container, Program: "docker", Image: "image", Writable: []string{ws}}})
	_, err := s.Run(t.Context(), process.Command{Line: "echo > ran", Dir: ws})
	require.Equal(t, fault.ShellExecuteError, fault.CodeOf(err))
	require.ErrorContains(t, err, "docker could not run a container")
	require.NoFileExists(t, filepath.Join(ws, "ran"))
}
