package fork_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// childCommand runs a command in the fork, and calls at while it runs, when it has ended, and at each step of Close.
func childCommand(ctx context.Context, s *fork.Store, top string, at func() error) (err error) {
	f, err := s.Open("one", "")
	if err != nil {
		return err
	}
	m, err := f.Mount(ctx, true)
	if err != nil {
		return err
	}
	session := sandbox.New(sandbox.Options{})
	defer session.Close()
	l := m.Layers()[0]
	temp := filepath.Join(top, "temp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	input, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", `echo command >a; rm -r d; mkdir d; echo new >d/new; chmod 700 mode; rm gone; echo ready >ready; (while :; do date >>loop; done) & read x; kill $!`)
	cmd.Dir, cmd.Env, cmd.Stdin = l.Dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, input
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := session.Start(cmd, sandbox.Rules{Writable: []string{l.Dir}, Temp: temp, Overlays: []sandbox.Overlay{{Dir: l.Dir, Upper: l.Upper, Work: l.Work}}}); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(l.Upper, "loop")); err == nil {
			break
		}
	}
	err = at()
	_ = write.Close()
	err = errors.Join(err, cmd.Wait())
	session.Close()
	return errors.Join(err, at(), m.Close(ctx), f.Close())
}

// FK-07: after a kill during a command, or at any step before its changes are recorded, the fork can be opened, compared, used,
// merged and dropped, and later saves of an editor stay.
func TestKilledMount(t *testing.T) {
	if err := sandbox.Probe(); err != nil {
		t.Skip(err)
	}
	t.Run("caller", func(t *testing.T) { testKilledMount(t, t.TempDir) })
}

// FK-07
func TestKilledMountOfNobody(t *testing.T) {
	if err := sandbox.Probe(); err != nil {
		t.Skip(err)
	}
	top, ok := unprivileged.Run(t, func(top string) { require.NoError(t, os.Chown(top, 65534, 65534)) })
	if !ok {
		return
	}
	testKilledMount(t, func() string {
		dir, err := os.MkdirTemp(top, "")
		require.NoError(t, err)
		return dir
	})
}

func testKilledMount(t *testing.T, newTop func() string) {
	t.Helper()
	files := map[string]string{"a": ten, "d/b": ten, "d/e/f": ten, "gone": ten, "mode": ten, "other": ten}
	steps := 1
	for ; ; steps++ {
		p := newProjectIn(t, newTop(), files)
		require.NoError(t, p.create("one").Close())
		ticks(t)
		killed := p.killed("command", steps)
		p.write(map[string]string{"a": "editor\n"})
		f, err := p.store().Open("one", "")
		require.NoError(t, err)
		r, err := f.Compare(t.Context(), nil)
		require.NoError(t, err)
		require.NotEmpty(t, r.Files)
		for name, verdict := range verdicts(r) {
			if !killed {
				require.Equal(t, map[bool]string{true: "conflict text", false: "clean"}[name == "a"], verdict, name)
			} else {
				require.Contains(t, []string{"clean", "conflict unknown_base", "conflict text"}, verdict, "%s, step %d", name, steps)
			}
		}
		m, err := f.Mount(t.Context(), true) // the next command
		require.NoError(t, err)
		grows := func() int64 {
			info, err := os.Stat(filepath.Join(f.Layers()[0].Upper, "loop"))
			require.NoError(t, err)
			return info.Size()
		}
		size := grows()
		writeAll(t, f.Layers()[0].Upper, map[string]string{"later": "later\n"})
		ticks(t)
		require.Equal(t, size, grows(), "a process of the killed command is left")
		require.NoError(t, m.Close(t.Context()))
		_, err = p.merge(f, nil)
		require.NoError(t, err)
		got := tree(t, p.dir)
		require.Equal(t, "editor\n", got["a"])
		require.Equal(t, ten, got["other"])
		if steps <= 2 && killed { // nothing was recorded
			for name, text := range files {
				if name != "a" {
					require.Equal(t, text, got[name], name)
				}
			}
		}
		require.NoError(t, f.Close())
		require.NoError(t, p.store().Drop(t.Context(), "one", true))
		p.left(0)
		if !killed {
			break
		}
	}
	t.Logf("%d kills", steps-1)
	require.Greater(t, steps, 10)
}

// FK-07: a command begins only when no process of a killed one has the fork mounted.
func TestMountAfterKilled(t *testing.T) {
	if err := sandbox.Probe(); err != nil {
		t.Skip(err)
	}
	p := newProject(t, map[string]string{"a": ten})
	f := p.create("one")
	m, err := f.Mount(t.Context(), true)
	require.NoError(t, err)
	session := sandbox.New(sandbox.Options{})
	defer session.Close()
	input, write, err := os.Pipe()
	require.NoError(t, err)
	defer input.Close() //nolint:errcheck // nothing was written here
	cmd := exec.Command("/bin/sh", "-c", "read x")
	defer func() { _ = write.Close(); _ = cmd.Wait() }() // before the session, which waits for it
	l := m.Layers()[0]

	cmd.Dir, cmd.Stdin = l.Dir, input
	require.NoError(t, session.Start(cmd, sandbox.Rules{Writable: []string{l.Dir}, Temp: t.TempDir(), Overlays: []sandbox.Overlay{{Dir: l.Dir, Upper: l.Upper, Work: l.Work}}}))
	cancelledAfter(t, m) // the command still runs
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = f.Mount(short, true)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.NoError(t, write.Close())
	_ = cmd.Wait() // it fails at the end of its input
	m, err = f.Mount(t.Context(), true)
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
}
