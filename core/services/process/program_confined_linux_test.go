package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

// SB-06: a program is confined on request only, and then receives no key of a provider.
func TestConfinedProgram(t *testing.T) {
	_, ws, home := inNamespaces(t, nil)
	s := process.New(process.Options{
		Environ: func() []string { return append(os.Environ(), "MY_API_KEY=a-key-of-a-provider") },
		IsKey:   func(name string) bool { return name == "MY_API_KEY" },
		Confinement: process.Confinement{
			Kind: process.Namespaces, NoTCP: true, Writable: []string{ws}, Home: home, Cache: filepath.Join(t.TempDir(), "cache"),
			IsProtected: func(path string) bool { return filepath.Base(path) == ".git" },
		},
	})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	program := process.Program{Dir: ws, Line: "touch '" + home + "/x' && echo home; mkdir .git; echo $MY_API_KEY; cat; touch a && echo ws", Stdin: []byte("in\n")}
	program.Confine = process.ConfineWrite
	out, err := s.Program(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, "\nin\nws\n", string(out.Stdout))
	require.Equal(t, []string{filepath.Join(ws, ".git")}, out.Removed)
	require.NoError(t, out.RemoveError)
	program.Confine = process.ConfineDefault
	out, err = s.Program(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, "home\na-key-of-a-provider\nin\nws\n", string(out.Stdout))
	require.Empty(t, out.Removed)
	require.DirExists(t, filepath.Join(ws, ".git"))
}

// SB-06: a program that cannot be confined is not started.
func TestProgramThatCannotBeConfined(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]process.Confinement{
		"nothing":     {},
		"a container": {Kind: process.Container, Program: "true", Image: "i", Writable: []string{dir}},
		"unknown":     {Kind: "x"},
	} {
		s := process.New(process.Options{Confinement: c})
		_, err := s.Program(t.Context(), process.Program{Line: "touch ran", Dir: dir, Confine: process.ConfineWrite})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
		require.NotEmpty(t, fault.As(err).Remedy)
		_, err = s.StartConfined(t.Context(), &exec.Cmd{Path: "/usr/bin/touch", Args: []string{"touch", "ran"}, Dir: dir})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
		require.NoFileExists(t, filepath.Join(dir, "ran"))
		require.NoError(t, s.Close())
	}
}

// server is a confined program that runs the lines that it receives.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *os.File
	out   *bufio.Reader
	ended func() ([]string, error)
}

func startServer(t *testing.T, s *process.Service, dir string) *server {
	t.Helper()
	childIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, childOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", `while read -r line; do eval "$line"; echo done; done`}, Dir: dir, Env: os.Environ(),
		Stdin: childIn, Stdout: childOut, Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	ended, err := s.StartConfined(t.Context(), cmd)
	require.NoError(t, err)
	require.NoError(t, childIn.Close())
	require.NoError(t, childOut.Close())
	return &server{t, cmd, in, bufio.NewReader(out), ended}
}

func (s *server) run(line string) {
	s.t.Helper()
	_, err := s.in.WriteString(line + "\n")
	require.NoError(s.t, err)
	answer, err := s.out.ReadString('\n')
	require.NoError(s.t, err)
	require.Equal(s.t, "done\n", answer)
}

// SB-03, SB-06: while a confined server runs, what it creates is moved away, and what unconfined
// commands of other Services and approved changes create is kept.
func TestNamesOfSeveralServices(t *testing.T) {
	names := new(process.Names)
	ws := t.TempDir()
	confined := process.Confinement{
		Kind: process.Namespaces, Writable: []string{ws}, Cache: filepath.Join(t.TempDir(), "cache"),
		IsProtected: func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") },
	}
	if err := confined.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	open := func(c process.Confinement) *process.Service {
		s := process.New(process.Options{Confinement: c, Names: names})
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	at := func(name string) string { return filepath.Join(ws, name) }
	removed, err := names.Remove()
	require.NoError(t, err)
	require.Empty(t, removed, "no confined process has run")
	shelf := startServer(t, open(confined), ws)

	_, err = open(process.Confinement{}).Run(t.Context(), process.Command{Line: "touch .env.unconfined", Dir: ws})
	require.NoError(t, err)
	_, err = open(process.Confinement{Kind: process.Namespaces, PerCommand: true}).Run(t.Context(), process.Command{Line: "touch .env.sharing", Dir: ws})
	require.NoError(t, err)
	shelf.run("touch .env.before work")
	done := names.Keep(at(".env.d/file"), at("plain"))
	require.NoFileExists(t, at(".env.before"))
	shelf.run("touch .env.meanwhile")
	require.NoError(t, os.MkdirAll(at(".env.d"), 0o700))
	require.NoError(t, os.WriteFile(at(".env.d/file"), nil, 0o600))
	done()
	shelf.run("touch .env.after")
	removed, err = names.Remove()
	require.NoError(t, err)
	require.Equal(t, []string{at(".env.after"), at(".env.before"), at(".env.meanwhile")}, removed)
	for _, kept := range []string{".env.unconfined", ".env.sharing", ".env.d/file", "work"} {
		require.FileExists(t, at(kept))
	}
	shelf.run("touch .env.end")
	require.NoError(t, shelf.in.Close())
	require.NoError(t, shelf.cmd.Wait())
	removed, err = shelf.ended()
	require.NoError(t, err)
	require.Equal(t, []string{at(".env.end")}, removed)
	require.FileExists(t, at(".env.unconfined"))
}

// SB-06: a server ends with its Service.
func TestConfinedServerEndsWithItsService(t *testing.T) {
	for _, kind := range []process.ConfinementKind{process.Namespaces, process.Landlock} {
		t.Run(string(kind), func(t *testing.T) {
			ws := t.TempDir()
			c := process.Confinement{Kind: kind, Writable: []string{ws}}
			if err := c.Check(t.Context()); err != nil {
				t.Skip(err)
			}
			s := process.New(process.Options{Confinement: c, Grace: -1})
			shelf := startServer(t, s, ws)
			shelf.run("touch work; touch ../outside 2>/dev/null")
			require.FileExists(t, filepath.Join(ws, "work"))
			require.NoFileExists(t, filepath.Join(filepath.Dir(ws), "outside"))
			waited := make(chan error, 1)
			go func() { waited <- shelf.cmd.Wait() }()
			require.NoError(t, s.Close())
			require.Error(t, <-waited)
			_, err := shelf.ended()
			require.NoError(t, err)
			_, err = s.StartConfined(t.Context(), &exec.Cmd{Path: "/bin/true"})
			require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
		})
	}
}
