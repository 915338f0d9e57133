package stress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/integration/memtemp"
)

// Other processes run the test binary, with their role in roleVar and its arguments
// in argsVar.
const (
	roleVar = "FETTLE_STRESS_ROLE"
	argsVar = "FETTLE_STRESS_ARGS"
)

// roles are the roles of other processes; each receives its arguments.
var roles = map[string]func(args []string) error{
	"patch forever":    patchForever,
	"patcher":          patchCounter,
	"rebaser":          patchSection,
	"program":          editSection,
	"editor by rename": editByRename,
	"editor in place":  editInPlace,
	"reader":           readForever,
	"talk forever":     talkForever,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(memtemp.Of(m).Run())
	}
	if err := roles[role](strings.Split(os.Getenv(argsVar), "\n")); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a process in a role. It runs until its standard input is closed.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func start(t testing.TB, role string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])}
	p.cmd.Env = append(os.Environ(), roleVar+"="+role, argsVar+"="+strings.Join(args, "\n"),
		"GORACE=atexit_sleep_ms=0") // otherwise a second per process
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.stdin, p.out = stdin, bufio.NewReader(stdout)
	require.NoError(t, p.cmd.Start())
	return p
}

// ready waits until the process has printed "ready".
func (p *process) ready() {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	require.Equal(p.t, "ready\n", line)
}

// stop ends the process and returns the lines that it printed since, as fields.
func (p *process) stop() [][]string {
	p.t.Helper()
	require.NoError(p.t, p.stdin.Close())
	return p.wait()
}

// wait waits for the end of the process and returns the lines that it printed since,
// as fields.
func (p *process) wait() [][]string {
	p.t.Helper()
	out, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	require.NoError(p.t, p.cmd.Wait())
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// errDone ends the loop of [untilStopped].
var errDone = errors.New("done")

// untilStopped prints "ready", calls f with 1, 2, 3 … until standard input is closed
// or f returns [errDone], and then prints the text that f wrote to out.
func untilStopped(f func(i int, out io.Writer) error) error {
	stopped := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stopped)
	}()
	fmt.Println("ready")
	var out bytes.Buffer
	for i := 1; ; i++ {
		select {
		case <-stopped:
			_, err := out.WriteTo(os.Stdout)
			return err
		default:
			err := f(i, &out)
			if errors.Is(err, errDone) {
				_, err = out.WriteTo(os.Stdout)
				return err
			}
			if err != nil {
				return err
			}
		}
	}
}
