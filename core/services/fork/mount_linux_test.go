package fork_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/fork"
)

// ticks returns when changes that follow have a later time than the earlier ones.
func ticks(t testing.TB) {
	t.Helper()
	clock := func() time.Duration {
		var now unix.Timespec
		require.NoError(t, unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now))
		return time.Duration(now.Nano())
	}
	for begun := clock(); clock()-begun < 20*time.Millisecond; {
		time.Sleep(time.Millisecond) // the clock of files advances
	}
}

// command runs in a mounted fork, as a command does, with the mounted directory.
func (p *project) command(f *fork.Fork, run func(dir string)) {
	p.t.Helper()
	m, err := f.Mount(p.t.Context(), true)
	require.NoError(p.t, err)
	shown := p.t.TempDir()
	l := m.Layers()[0]
	options := fmt.Sprintf("userxattr,index=off,xino=off,lowerdir=%s,upperdir=%s,workdir=%s", l.Dir, l.Upper, l.Work)
	if err := syscall.Mount("overlay", shown, "overlay", 0, options); err != nil {
		p.t.Skip("overlays cannot be mounted:", err)
	}
	run(shown)
	require.NoError(p.t, syscall.Unmount(shown, 0))
	require.NoError(p.t, m.Close(p.t.Context()))
}

// changeOf is a change of files as an editor or a command makes it.
type changeOf struct {
	name string
	make func(in func(string) string) error
}

func rewrite(name, text string) changeOf {
	return changeOf{"in place", func(in func(string) string) error { return os.WriteFile(in(name), []byte(text), 0o600) }}
}

func replace(name, text string) changeOf {
	return changeOf{"by rename", func(in func(string) string) error {
		if err := os.WriteFile(in(name+"~"), []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(in(name+"~"), in(name))
	}}
}

func extend(name, text string) changeOf {
	return changeOf{"by appending", func(in func(string) string) error {
		f, err := os.OpenFile(in(name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		_ = f.Close()
		return err
	}}
}

func shorten(name, text string) changeOf {
	return changeOf{"by truncation", func(in func(string) string) error {
		f, err := os.OpenFile(in(name), os.O_TRUNC|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		_ = f.Close()
		return err
	}}
}

func remove(name string) changeOf {
	return changeOf{"by removal", func(in func(string) string) error { return os.RemoveAll(in(name)) }}
}

// moveInto replaces the directory d by another one whose files are old.
func moveInto() changeOf {
	return changeOf{"by a moved directory", func(in func(string) string) error {
		if err := os.Rename(in("d"), in("old")); err != nil {
			return err
		}
		return os.Rename(in("other"), in("d"))
	}}
}

// FK-03: no merge reverts or loses a save of an editor before, during or after a command in the fork. Without an
// editor there is no conflict.
func TestMountBesideEditor(t *testing.T) {
	const mine, theirs = "command\n", "editor\n"
	files := map[string]string{"a": ten, "d/a": ten, "d/e/a": ten, "other/a": "other\n", "other/e/a": "other\n", "z/z": "z\n"}
	commands := []changeOf{
		rewrite("d/a", mine), replace("d/a", mine), extend("d/a", mine), shorten("d/a", mine), remove("d/a"), remove("d"),
		{"by mode", func(in func(string) string) error { return os.Chmod(in("d/a"), 0o755) }},
		{"new", func(in func(string) string) error { return os.WriteFile(in("d/new"), []byte(mine), 0o600) }},
		{"new in a directory", func(in func(string) string) error {
			return os.MkdirAll(in("d/n/n"), 0o700)
		}},
		{"moved", func(in func(string) string) error { return os.Rename(in("d/a"), in("d/b")) }},
		{"directory renewed", func(in func(string) string) error {
			if err := os.RemoveAll(in("d")); err != nil {
				return err
			}
			if err := os.Mkdir(in("d"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(in("d/a"), []byte(mine), 0o600)
		}},
		{"removed and created", func(in func(string) string) error {
			if err := os.Remove(in("d/a")); err != nil {
				return err
			}
			return os.WriteFile(in("d/a"), []byte(mine), 0o600)
		}},
	}
	elsewhere := replace("a", theirs)
	elsewhere.name = "elsewhere"
	editors := []changeOf{
		{"nothing", nil}, rewrite("d/a", theirs), replace("d/a", theirs), extend("d/a", theirs), shorten("d/a", theirs), remove("d/a"), remove("d"), moveInto(),
		{"new", func(in func(string) string) error { return os.WriteFile(in("d/new"), []byte(theirs), 0o600) }}, elsewhere, replace("d/e/a", theirs),
	}
	windows := []string{"before", "at once before", "at the start", "during", "after an access", "at the end", "after"}
	part := 4
	if os.Getenv("FETTLE_FULL") != "" {
		part = 1
	}
	type round struct {
		p     *project
		f     *fork.Fork
		c, e  changeOf
		when  string
		about string
	}
	var all []round
	for _, c := range commands {
		for _, e := range editors {
			for _, when := range windows {
				if e.make == nil && when != "during" || rand.IntN(part) > 0 {
					continue
				}
				r := round{p: newProject(t, files), c: c, e: e, when: when, about: fmt.Sprintf("command %s, editor %s %s", c.name, e.name, when)}
				r.f = r.p.create("one")
				if when == "before" {
					require.NoError(t, e.make(r.p.in), r.about)
				}
				all = append(all, r)
			}
		}
	}
	ticks(t)
	clean, conflicts := 0, 0
	for _, r := range all {
		edit := func(at string) {
			if r.e.make != nil && at == r.when {
				require.NoError(t, r.e.make(r.p.in), r.about)
			}
		}
		edit("at once before")
		r.p.command(r.f, func(dir string) {
			in := func(name string) string { return filepath.Join(dir, name) }
			edit("at the start")
			if r.when == "after an access" {
				tree(t, dir)
			}
			edit("after an access")
			_ = r.c.make(in) // the editor may have removed its files
			edit("during")
			_ = r.c.make(in)
			edit("at the end")
		})
		edit("after")
		edited := tree(t, r.p.dir)
		report, err := r.p.merge(r.f, nil)
		require.NoError(t, err, r.about)
		got := tree(t, r.p.dir)
		if !strings.Contains(r.when, "before") { // otherwise the command has seen it
			for name, text := range edited {
				if text != files[name] && got[name] != text {
					require.Equal(t, "x!"+text, got[name], "%s: a change of %s was lost: %v", r.about, name, report.Files)
				}
			}
			for name := range files {
				if _, is := edited[name]; !is {
					require.NotContains(t, got, name, "%s: a removal was undone: %v", r.about, report.Files)
				}
			}
		}
		if r.e.make == nil || r.when == "before" || r.e.name == elsewhere.name {
			require.Zero(t, report.Conflicts(), "%s: %v", r.about, report.Files)
		}
		clean += report.Clean()
		conflicts += report.Conflicts()
		require.NoError(t, r.f.Close())
	}
	t.Logf("%d rounds, %d changes merged, %d conflicts", len(all), clean, conflicts)
	require.NotZero(t, clean)
	require.NotZero(t, conflicts)
}

// in returns the path of a file of the project.
func (p *project) in(name string) string { return filepath.Join(p.dir, name) }

// FK-03: mounts that write exclude all others, and the wait ends with the context.
func TestMountExcludes(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten})
	f := p.create("one")
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	one, err := f.Mount(t.Context(), false)
	require.NoError(t, err)
	two, err := f.Mount(t.Context(), false)
	require.NoError(t, err)
	_, err = f.Mount(short(), true)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.NoError(t, one.Close(t.Context()))
	require.NoError(t, one.Close(t.Context()))
	got := make(chan error)
	go func() {
		m, err := f.Mount(t.Context(), true)
		if err == nil {
			err = m.Close(t.Context())
		}
		got <- err
	}()
	require.NoError(t, two.Close(t.Context()))
	require.NoError(t, <-got)
	write, err := f.Mount(t.Context(), true)
	require.NoError(t, err)
	for _, w := range []bool{true, false} {
		_, err = f.Mount(short(), w)
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	}
	_, err = f.Hold(short())
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.NoError(t, write.Close(t.Context()))
	release, err := f.Hold(t.Context())
	require.NoError(t, err)
	_, err = f.Mount(short(), false)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	release()
	m, err := f.Mount(t.Context(), true)
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
	p.mode = fork.Copy
	c := p.create("two")
	_, err = c.Mount(t.Context(), true)
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))
}

// FK-03, FK-07: the changes of a command whose process was killed before their bases were recorded are conflicts, also
// after another command.
func TestMountKilled(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten, "d/b": ten, "d/c": ten, "e/x": ten})
	f := p.create("one")
	m, err := f.Mount(t.Context(), true)
	require.NoError(t, err)
	upper := m.Layers()[0].Upper
	require.NoError(t, os.Mkdir(filepath.Join(m.Layers()[0].Work, "work"), 0))
	writeAll(t, upper, map[string]string{"a": "command\n", "new": "new\n"})
	require.NoError(t, whiteout(filepath.Join(upper, "d")))
	require.NoError(t, os.Mkdir(filepath.Join(upper, "e"), 0o700))
	require.NoError(t, unix.Setxattr(filepath.Join(upper, "e"), "user.overlay.opaque", []byte("y"), 0))
	require.NoError(t, f.Close()) // without Close of the mount
	p.write(map[string]string{"a": "editor\n"})
	ticks(t)
	f, err = p.store().Open("one", "")
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // it is only read
	again, err := f.Mount(cancelledAfter(t, m), true)
	require.NoError(t, err)
	writeAll(t, upper, map[string]string{"later": "later\n"})
	require.NoError(t, again.Close(t.Context()))
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	doubted := "conflict unknown_base"
	require.Equal(t, map[string]string{"a": doubted, "new": doubted, "d/b": doubted, "d/c": doubted, "e/x": doubted, "later": "clean"}, verdicts(r))
	at := slices.IndexFunc(r.Files, func(f fork.File) bool { return f.Path == "a" })
	require.Contains(t, r.Files[at].Reason, "an earlier command was ended before its changes were recorded")
}

// cancelledAfter releases locks and descriptors, as the kernel does for a killed process.
func cancelledAfter(t *testing.T, m *fork.Mount) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, m.Close(ctx))
	return t.Context()
}

// FK-04: an entry that would show another file is a conflict, and so is all below it.
func TestForged(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten, "d/b": ten, "secret": "secret\n"})
	f := p.create("one")
	p.change(f, map[string]string{"a": "new\n", "d/b": "new\n", "n/x": "new\n", "fine": "new\n"})
	upper := f.Layers()[0].Upper
	for name, key := range map[string]string{"a": "metacopy", "d": "redirect", "n/x": "whiteout"} {
		require.NoError(t, unix.Setxattr(filepath.Join(upper, name), "user.overlay."+key, []byte("secret"), 0))
	}
	require.NoError(t, unix.Setxattr(filepath.Join(upper, "fine"), "user.overlay.overlay.redirect", []byte("secret"), 0)) // as a command sets it
	r, err := p.merge(f, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "conflict type", "d": "conflict type", "d/b": "unchanged", "n/x": "conflict type", "fine": "merged"}, verdicts(r))
	require.Equal(t, map[string]string{"a": ten, "d/b": ten, "secret": "secret\n", "fine": "new\n"}, tree(t, p.dir))
}

// FK-03: of many removed files only the hashes are kept. Each is merged as removed, or is a conflict if it was changed since.
func TestMountRemovesMany(t *testing.T) {
	files := map[string]string{"keep": ten}
	for n := range 1100 {
		files[fmt.Sprintf("d/%d", n)] = fmt.Sprintln("text", n)
	}
	p := newProject(t, files)
	f := p.create("one")
	ticks(t)
	p.command(f, func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "d"))) })
	bases, err := os.ReadDir(filepath.Join(p.state, f.ID, "base"))
	require.NoError(t, err)
	require.Len(t, bases, 1000)
	edited := make(map[string]string)
	for n := range 1100 {
		if n%100 == 0 {
			edited[fmt.Sprintf("d/%d", n)] = "editor\n"
		}
	}
	p.write(edited)
	r, err := p.merge(f, nil)
	require.NoError(t, err)
	require.Equal(t, len(edited), r.Conflicts())
	for _, file := range r.Files {
		if file.Verdict == fork.Conflict {
			require.Equal(t, fork.DeleteModify, file.Kind)
		}
	}
	edited["keep"] = ten
	require.Equal(t, edited, tree(t, p.dir))
}
