package process_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

// shellIn puts a link to the shell into dir, as a program with a path of its own.
func shellIn(t testing.TB, dir, name string) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(sh, filepath.Join(dir, name)))
}

func program(t testing.TB, s *process.Service, p process.Program) process.Output {
	t.Helper()
	if p.Dir == "" {
		p.Dir = t.TempDir()
	}
	o, err := s.Program(t.Context(), p)
	require.NoError(t, err)
	return o
}

// TO-16: a program receives its arguments unchanged, all its input and then its end; its streams
// are separate.
func TestProgram(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Marker: "OTHER"})
	dir := t.TempDir()
	shellIn(t, dir, "show")
	const show = `for a; do echo "[$a]"; done; cat; pwd; echo "$OTHER" >&2; exit 3`
	o := program(t, s, process.Program{Path: "./show", Args: []string{"-c", show, "show", "a b", "", "$HOME;*"}, Dir: dir, Stdin: []byte("in\n")})
	require.Equal(t, "[a b]\n[]\n[$HOME;*]\nin\n"+dir+"\n", string(o.Stdout))
	require.Equal(t, "1\n", string(o.Stderr))
	require.Equal(t, process.Exit{Code: 3}, o.Exit)
	require.Empty(t, o.Ending)

	o = program(t, s, process.Program{Path: filepath.Join(dir, "show"), Args: []string{"-c", show, "show", "x"}})
	require.True(t, strings.HasPrefix(string(o.Stdout), "[x]\n"))
	o = program(t, s, process.Program{Path: "sh", Args: []string{"-c", "kill -9 $$"}})
	require.Equal(t, process.Exit{Code: -1, Signal: "SIGKILL"}, o.Exit)
	require.Empty(t, o.Ending)

	much := bytes.Repeat([]byte("line\n"), 200_000) // more than a pipe holds
	require.True(t, bytes.Equal(much, program(t, s, process.Program{Path: "cat", Stdin: much}).Stdout))
	require.Empty(t, program(t, s, process.Program{Path: "true", Stdin: much}).Ending) // which does not read it
}

func TestProgramCannotStart(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte("x"), 0o600))
	for name, p := range map[string]process.Program{
		"not on the PATH": {Path: "no-program-of-that-name", Dir: dir},
		"none":            {Path: "", Dir: dir},
		"absent":          {Path: "./absent", Dir: dir},
		"not executable":  {Path: "./data", Dir: dir},
		"no directory":    {Path: "true", Dir: filepath.Join(dir, "absent")},
		"NUL":             {Path: "true", Args: []string{"\x00"}, Dir: dir},
	} {
		_, err := s.Program(t.Context(), p)
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err), name)
		require.NotEmpty(t, fault.As(err).Remedy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Program(ctx, process.Program{Path: "true", Dir: dir})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.NoError(t, s.Close())
	_, err = s.Program(t.Context(), process.Program{Path: "true", Dir: dir})
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// A program always ends with every process that it has started, and no more of its output is kept
// than the limit.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line string
		p    process.Program
		want process.Ending
	}{
		"prints without an end":    {`exec yes`, process.Program{MaxBytes: 1000}, process.OutputLimit},
		"to stderr":                {`exec yes >&2`, process.Program{MaxBytes: 1000}, process.OutputLimit},
		"a little too much":        {`printf %1001s`, process.Program{MaxBytes: 1000}, process.OutputLimit},
		"as much as it may":        {`printf %1000s; printf %1000s >&2`, process.Program{MaxBytes: 1000}, ""},
		"takes too long":           {`exec sleep 1000`, process.Program{Total: 50 * time.Millisecond}, process.TotalLimit},
		"ignores SIGTERM":          {`trap '' TERM; while :; do sleep 1000; done`, process.Program{Total: 50 * time.Millisecond}, process.TotalLimit},
		"its children":             {`setsid sleep 1000 & sleep 1000 & wait`, process.Program{Total: 50 * time.Millisecond}, process.TotalLimit},
		"leaves one with its pipe": {`sleep 1000 & echo left`, process.Program{}, ""},
		"does not read":            {`exec sleep 1000`, process.Program{Total: 50 * time.Millisecond, Stdin: make([]byte, 1<<20)}, process.TotalLimit},
		"one left that does not":   {`(exec sleep 1000) <&0 & echo left`, process.Program{Stdin: make([]byte, 1<<20)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, process.Options{Grace: 50 * time.Millisecond, Quiet: 20 * time.Millisecond})
			mark := fmt.Sprintf("PROGRAM=%d_%s", os.Getpid(), strings.ReplaceAll(name, " ", "_"))
			tt.p.Path, tt.p.Args = "sh", []string{"-c", "export " + mark + "; " + tt.line}
			o := program(t, s, tt.p)
			require.Equal(t, tt.want, o.Ending)
			if tt.want == "" {
				require.Equal(t, process.Exit{}, o.Exit)
			}
			require.LessOrEqual(t, len(o.Stdout), 1000)
			require.LessOrEqual(t, len(o.Stderr), 1000)
			require.NoError(t, s.Close())
			require.Empty(t, withEnvironment(t, mark), "processes are left")
		})
	}
}

func TestProgramIsCancelled(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]process.Ending{"its context": process.Cancelled, "the session": process.Closed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, process.Options{})
			dir := t.TempDir()
			require.NoError(t, unix.Mkfifo(filepath.Join(dir, "started"), 0o600))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan process.Output)
			go func() {
				o, err := s.Program(ctx, process.Program{Path: "sh", Args: []string{"-c", ": >started; exec sleep 1000"}, Dir: dir})
				if err != nil {
					t.Error(err)
				}
				ended <- o
			}()
			_, err := os.ReadFile(filepath.Join(dir, "started")) // waits for the program to open it
			require.NoError(t, err)
			if want == process.Cancelled {
				cancel()
			} else {
				require.NoError(t, s.Close())
			}
			o := <-ended
			require.Equal(t, want, o.Ending)
			require.Equal(t, "SIGTERM", o.Signal)
		})
	}
}

// EX-07: the shell runs a line, with its own variables; of a long output the beginning is kept, and
// the program is not ended because of it.
func TestProgramOfALine(t *testing.T) {
	s := process.New(process.Options{})
	defer s.Close()
	out, err := s.Program(t.Context(), process.Program{
		Line: `head -c 200000 /dev/zero | tr '\0' x; echo end >&2; exit $CODE`, Dir: t.TempDir(), Env: []string{"CODE=3"}, MaxBytes: 100, Drops: true,
	})
	require.NoError(t, err)
	require.Equal(t, 3, out.Code)
	require.Empty(t, out.Ending)
	require.Len(t, out.Stdout, 100)
	require.EqualValues(t, 199_900, out.Dropped)
	require.Equal(t, "end\n", string(out.Stderr))

	out, err = s.Program(t.Context(), process.Program{Line: "-c", Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, 127, out.Code, "a line is no option of the shell")
}
