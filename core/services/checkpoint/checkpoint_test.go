package checkpoint_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// CM-15: the middle one of three calls is undone, for all kinds of changes.
func TestUndoOfTheMiddleOne(t *testing.T) {
	t.Run("different files", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		for _, name := range []string{"a", "b", "c"} {
			p.write(name, "old "+name+"\n")
		}
		p.r.BeginTurn("change all three")
		for _, name := range []string{"a", "b", "c"} {
			p.edit(name, "new "+name+"\n")
		}
		plan := p.plan(what("1.2"))
		require.Len(t, plan.Steps, 1)
		require.Equal(t, "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-new b\n+old b\n", plan.Steps[0].Diff)
		report := p.undo("1.2")
		require.Equal(t, []string{"new a\n", "old b\n", "new c\n"}, []string{p.read("a"), p.read("b"), p.read("c")})
		require.Contains(t, report.Note(), p.path("b")+" (changed back)")
		require.Equal(t, 2, report.Turn)
		p.undo("2") // a restore can be undone
		require.Equal(t, "new b\n", p.read("b"))
	})
	t.Run("one file, other lines", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", ten)
		p.r.BeginTurn("three places")
		p.edit("f", strings.Replace(p.read("f"), "2\n", "two\n", 1))
		p.edit("f", strings.Replace(p.read("f"), "5\n", "five\nfive and a half\n", 1))
		p.edit("f", strings.Replace(p.read("f"), "9\n", "", 1))
		plan := p.plan(what("1.2"))
		require.True(t, plan.Steps[0].Merged)
		p.undo("1.2")
		require.Equal(t, "1\ntwo\n3\n4\n5\n6\n7\n8\n10\n", p.read("f"))
		p.undo("1.1")
		p.undo("1.3")
		require.Equal(t, ten, p.read("f"))
		require.Empty(t, p.plan(what("1")).Steps, "all of it is taken back already")
	})
	t.Run("one file, the same lines", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", ten)
		p.r.BeginTurn("one place thrice")
		p.edit("f", strings.Replace(ten, "5\n", "five\n", 1))
		p.edit("f", strings.Replace(ten, "5\n", "FIVE\n", 1))
		p.edit("f", strings.Replace(ten, "5\n", "Five!\n", 1))
		p.refused("1.2", fault.LaterWork, "1.3 write_file")
		p.undo("1.3") // the last one can be undone
		p.undo("1.2")
		require.Equal(t, strings.Replace(ten, "5\n", "five\n", 1), p.read("f"))
	})
	for name, format := range map[string]textfile.Format{
		"Latin-1":     {Encoding: "iso-8859-1"},
		"UTF-16":      {Encoding: textfile.UTF16LE, BOM: true},
		"UTF-8, mark": {Encoding: textfile.UTF8, BOM: true},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Repeat("über die größere Fläche für schöne Mädchen\n", 20)
			text := func(second, last string) string {
				data, err := format.Encode("zuerst\n" + second + "\n" + lines + last + "\n")
				require.NoError(t, err)
				return string(data)
			}
			p := newProject(t, checkpoint.Options{})
			p.write("f", text("zwei", "Ende"))
			p.r.BeginTurn("two places")
			p.edit("f", text("ZWEI", "Ende"))
			p.edit("f", text("ZWEI", "Schluß"))
			require.Contains(t, p.plan(what("1.1")).Steps[0].Diff, "\n-ZWEI\n+zwei\n über")
			p.undo("1.1")
			require.Equal(t, text("zwei", "Schluß"), p.read("f"))
		})
	}
	t.Run("in another encoding", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", "\xff\xfea\x00\n\x00")
		p.edit("f", "a\n")
		p.edit("f", "b\n")
		p.refused("1.1", fault.LaterWork, "not a text file in one encoding")
		p.undo("1.2")
		require.Equal(t, "encoding utf-8 becomes utf-16le\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+\ufeffa\n", p.plan(what("1.1")).Steps[0].Diff)
	})
	t.Run("of no text", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", "\x00a")
		for _, text := range []string{"\x00b", "\x00c", "\x00d"} {
			p.edit("f", text)
		}
		p.refused("1.2", fault.LaterWork, "not a text file")
		p.undo("1")
		require.Equal(t, "\x00a", p.read("f"))
	})
	t.Run("made, and changed later", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.edit("new/f", "a\n")
		p.r.BeginTurn("and on")
		p.edit("new/f", "b\n")
		p.refused("1", fault.LaterWork, "2.1 write_file")
		w := what("1")
		w.Since = true
		_, err := p.r.Restore(t.Context(), committer(), p.plan(w))
		require.NoError(t, err)
		require.Equal(t, map[string]string{".": "folder"}, p.tree(), "with the directory that was made for it")
	})
}

// CM-15: a later edit of another process is not lost, and is named.
func TestRefusalAfterAnOutsideEdit(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	p.write("g", "old\n")
	p.edit("f", "new\n")
	p.edit("g", "new\n")
	p.write("f", "mine\n")
	p.refused("1", fault.Changed, p.path("f"))
	require.Equal(t, "new\n", p.read("g"), "all or nothing")
	w := what("1")
	w.Partial = true
	report, err := p.r.Restore(t.Context(), committer(), p.plan(w))
	require.NoError(t, err)
	require.Equal(t, "old\n", p.read("g"))
	require.Equal(t, "mine\n", p.read("f"))
	require.Len(t, report.Skipped, 1)

	t.Run("deleted", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", "old\n")
		p.edit("f", "new\n")
		require.NoError(t, os.Remove(p.path("f")))
		p.refused("1", fault.Changed, p.path("f"))
	})
	t.Run("before a later call", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", ten)
		p.edit("f", strings.Replace(ten, "2\n", "two\n", 1))
		p.write("f", strings.Replace(p.read("f"), "6\n", "mine\n", 1))
		p.edit("f", strings.Replace(p.read("f"), "9\n", "nine\n", 1))
		p.undo("1")
		require.Equal(t, strings.Replace(ten, "6\n", "mine\n", 1), p.read("f"), "only what the calls did is taken back")
	})
	t.Run("between plan and restore", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("f", "old\n")
		p.edit("f", "new\n")
		plan := p.plan(what("1"))
		p.write("f", "mine\n")
		_, err := p.r.Restore(t.Context(), committer(), plan)
		require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err))
		require.Equal(t, "mine\n", p.read("f"))
	})
	t.Run("at the moment of the change", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.edit("f", "new\n") // to be deleted
		plan := p.plan(what("1"))
		racing := commit.New(commit.Options{Hook: func(s commit.Step) error {
			if s == commit.StepChecked {
				p.write("f", "mine\n")
			}
			return nil
		}})
		_, err := p.r.Restore(t.Context(), racing, plan)
		require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err), "%v", err)
		require.Equal(t, "mine\n", p.read("f"))
		require.Equal(t, map[string]string{".": "folder", "f": "-rw-r--r-- mine\n"}, p.tree())
	})
}

// CM-15: a shell command with every kind of file operation is undone.
func TestUndoOfAShellCommand(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	odd := "odd\nname \xff"
	p.write("changed", "old\n")
	p.write("deleted", "gone\n")
	p.write("folder/deep/file", "x")
	p.write("renamed", "moved\n")
	p.write("mode", "m")
	p.write("empty", "")
	p.write(odd, "odd")
	require.NoError(t, os.Symlink("changed", p.path("link")))
	require.NoError(t, os.Symlink("/etc/passwd", p.path("out")))
	require.NoError(t, os.Mkdir(p.path("void"), 0o755))
	before := p.tree()
	p.shell(func() {
		p.write("changed", "new\n")
		require.NoError(t, os.Remove(p.path("deleted")))
		require.NoError(t, os.RemoveAll(p.path("folder")))
		require.NoError(t, os.Rename(p.path("renamed"), p.path("other")))
		require.NoError(t, os.Chmod(p.path("mode"), 0o755))
		require.NoError(t, os.Chmod(p.path("changed"), 0o444))
		require.NoError(t, os.Remove(p.path("empty")))
		require.NoError(t, os.Remove(p.path(odd)))
		require.NoError(t, os.Remove(p.path("void")))
		p.write("new/folder/file", "n")
		p.write("zero", "")
		require.NoError(t, os.Remove(p.path("link")))
		require.NoError(t, os.Symlink("mode", p.path("link")))
		require.NoError(t, os.Remove(p.path("out")))
	})
	require.Empty(t, p.notes)
	after := p.tree()
	report := p.undo("1")
	require.Empty(t, report.Notes)
	require.Equal(t, before, p.tree())
	require.NotContains(t, p.plan(what("2")).Steps[0].Diff, "root:", "a link is never followed")
	p.undo("2")
	require.Equal(t, after, p.tree())
	for _, s := range p.plan(what("1")).Steps {
		require.NotEmpty(t, s.Diff, s.Path)
	}
}

// CM-15: a link that leads out of the workspace is neither read nor written through.
func TestLinksAreTraps(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	p.write("d/g", "old\n")
	p.shell(func() {
		p.write("f", "new\n")
		p.write("d/g", "new\n")
	})
	require.NoError(t, os.Remove(p.path("f")))
	require.NoError(t, os.Symlink(outside, p.path("f")))
	p.refused("1", fault.Changed, p.path("f"))
	require.NoError(t, os.Rename(p.path("d"), p.path("away")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), p.path("d")))
	p.refused("1", fault.Changed, p.path("d/g"))
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	require.NoError(t, filepath.WalkDir(p.store.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "secret\x00")
			require.NotEqual(t, "secret", string(data))
		}
		return err
	}))
}

// CM-15: files that are too large, beyond the total or ignored are not stored, and are listed.
func TestWhatIsNotKeptIsListed(t *testing.T) {
	p := newProject(t, checkpoint.Options{MaxFile: 100, MaxTotal: 250})
	p.write(".gitignore", "*.log\n")
	p.write("big", strings.Repeat("b", 101))
	p.write("k1", strings.Repeat("1", 100))
	p.write("k2", strings.Repeat("2", 100))
	p.write("k3", strings.Repeat("3", 100))
	p.write("x.log", "ignored")
	p.shell(func() {
		p.write("big", strings.Repeat("B", 101))
		p.write("k1", "one")
		p.write("k3", "three")
		p.write("x.log", "lost")
	})
	require.Len(t, p.notes, 2)
	require.Contains(t, p.notes[0], "larger than 100 bytes")
	require.Contains(t, p.notes[1], "exceeds the total of 250 bytes")
	h, err := p.store.History(t.Context(), "")
	require.NoError(t, err)
	var gaps []string
	for _, g := range h.Unrestorable {
		gaps = append(gaps, filepath.Base(string(g.Path))+": "+g.Reason)
	}
	require.Len(t, gaps, 3)
	require.Equal(t, "big: it is larger than 100 bytes", gaps[0])
	require.Equal(t, "k3: it exceeds the total of 250 bytes that is stored", gaps[1])
	require.Contains(t, gaps[2], "x.log: it is ignored by "+p.path(".gitignore")+", line 1")
	p.refused("1", fault.NotKept, p.path("big"))
	w := what("1")
	w.Partial = true
	_, err = p.r.Restore(t.Context(), committer(), p.plan(w))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("1", 100), p.read("k1"))
	require.Equal(t, "three", p.read("k3"))
	require.Equal(t, "lost", p.read("x.log"))

	p.r.BeginTurn("a tool that names what is ignored")
	p.edit("x.log", "by name")
	p.edit("big", strings.Repeat("c", 101))
	p.undo("3")
	require.Equal(t, "lost", p.read("x.log"))
	require.Equal(t, strings.Repeat("B", 101), p.read("big"))
}

// CM-15: a full disk is reported, and leaves nothing incomplete.
func TestDiskFull(t *testing.T) {
	for _, step := range []checkpoint.Step{checkpoint.StepObject, checkpoint.StepLine} {
		t.Run(string(step), func(t *testing.T) {
			full := false
			p := newProject(t, checkpoint.Options{Hook: func(s checkpoint.Step) error {
				if full && s == step {
					return errors.New("no space left on device")
				}
				return nil
			}})
			p.write("f", "old\n")
			full = true
			taken, err := p.r.Begin(t.Context(), checkpoint.Call{Paths: []string{p.path("f")}})
			if step == checkpoint.StepLine {
				require.Equal(t, fault.CheckpointFailed, fault.CodeOf(err))
			} else {
				require.NoError(t, err)
				p.write("f", "new\n")
				require.Contains(t, strings.Join(taken.End(t.Context()), ""), "cannot be undone")
			}
			full = false
			p.edit("f", "newer\n")
			turn, err := p.store.History(t.Context(), "")
			require.NoError(t, err)
			last := turn.Turns[0].Entries[len(turn.Turns[0].Entries)-1]
			p.undo(last.ID())
			require.NotEqual(t, "newer\n", p.read("f"))
		})
	}
}

// CM-15: two sessions work on one project: each is undone separately.
func TestTwoSessions(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", ten)
	p.write("g", "old\n")
	one, two := p.r, p.session("two")
	p.edit("f", strings.Replace(ten, "2\n", "two\n", 1))
	p.r = two
	p.edit("f", strings.Replace(p.read("f"), "8\n", "eight\n", 1))
	p.r = one
	// While a command of one runs, the other changes a file by name.
	p.shell(func() {
		p.r = two
		p.edit("g", "of two\n")
		p.r = one
		p.write("h", "of one\n")
	})
	undo := func(session, text string) {
		w := what(text)
		w.Session = session
		_, err := p.r.Restore(t.Context(), committer(), p.plan(w))
		require.NoError(t, err)
	}
	undo("one", "1.3") // 1.2 is the change of the other one in between
	require.Equal(t, "of two\n", p.read("g"), "it is the other session's")
	require.NoFileExists(t, p.path("h"))
	undo("one", "1")
	require.Equal(t, strings.Replace(ten, "8\n", "eight\n", 1), p.read("f"))
	p.r = two
	undo("two", "1")
	require.Equal(t, ten, p.read("f"))
	require.Equal(t, "old\n", p.read("g"))
}

// CM-15: two concurrent calls that may both have made a change are only undone together.
func TestSideBySide(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	a, err := p.r.Begin(t.Context(), checkpoint.Call{Tool: "run_shell_command"})
	require.NoError(t, err)
	b, err := p.r.Begin(t.Context(), checkpoint.Call{Tool: "run_shell_command", Agent: "helper"})
	require.NoError(t, err)
	p.write("f", "new\n")
	require.Empty(t, a.End(t.Context()))
	require.Empty(t, b.End(t.Context()))
	p.refused("1.1", fault.LaterWork, "1.2 run_shell_command")
	p.undo("1")
	require.Equal(t, "old\n", p.read("f"))
}

// CM-15: a change between calls belongs to no call, and stays.
func TestBetweenCalls(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	p.write("g", "old\n")
	p.shell(func() { p.write("f", "new\n") })
	p.write("g", "mine\n")
	p.shell(func() { p.write("h", "made\n") })
	h, err := p.store.History(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, h.Turns, 1)
	require.Equal(t, checkpoint.KindBetween, h.Turns[0].Entries[1].Kind)
	p.undo("1")
	require.Equal(t, map[string]string{".": "folder", "f": "-rw-r--r-- old\n", "g": "-rw-r--r-- mine\n"}, p.tree())
	p.undo("1.2") // unless it is selected
	require.Equal(t, "old\n", p.read("g"))
}

// CM-15: a rewrite with the same size in the same instant is noticed.
func TestRacilyCleanFilesAreHashed(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "aaaa")
	info, err := os.Stat(p.path("f"))
	require.NoError(t, err)
	p.shell(func() {
		p.write("f", "bbbb")
		require.NoError(t, os.Chtimes(p.path("f"), info.ModTime(), info.ModTime()))
	})
	p.undo("1")
	require.Equal(t, "aaaa", p.read("f"))
}

// CM-15: a damaged content is reported, and not restored.
func TestDamage(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	p.edit("f", "new\n")
	require.NoError(t, filepath.WalkDir(filepath.Join(p.store.Dir(), "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			if string(data) == "old\n" {
				return os.WriteFile(path, []byte("bad\n"), 0o600)
			}
		}
		return err
	}))
	p.refused("1", fault.NotKept, "damaged")
}

// CM-15: every file belongs to the owner alone, and is not scanned even if the store is inside the
// project.
func TestTheStoreIsPrivate(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	inside := checkpoint.New(checkpoint.Options{Dir: p.path("home/checkpoints")})
	p.store = inside
	p.r = p.session("inside")
	p.write("f", "old")
	p.shell(func() { p.write("f", "new") })
	p.shell(func() { p.write("f", "newer") })
	h, err := p.store.History(t.Context(), "")
	require.NoError(t, err)
	for _, e := range h.Turns[0].Entries {
		require.Len(t, e.Files, 1, "%v", e)
	}
	require.NoError(t, filepath.WalkDir(inside.Dir(), func(path string, d fs.DirEntry, err error) error {
		info, infoErr := d.Info()
		require.NoError(t, infoErr)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return err
	}))
}

// A session whose log is in use is not written to by another process.
func TestInUse(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.edit("f", "a")
	_, err := p.session("one").Begin(t.Context(), checkpoint.Call{Paths: []string{p.path("f")}})
	require.Equal(t, fault.CheckpointFailed, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "in use by another process")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.session("two").Begin(ctx, checkpoint.Call{})
	require.Error(t, err)
}

// CM-15: a restore is cancelled only if ctx ends before its last step.
func TestRestoreCancelled(t *testing.T) {
	for name, tt := range map[string]struct {
		step int
		want fault.Code
	}{
		"after the first step": {1, fault.Cancelled},
		"after the last step":  {2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			steps := 0
			p := newProject(t, checkpoint.Options{Hook: func(s checkpoint.Step) error {
				if s == checkpoint.StepRestored {
					if steps++; steps == tt.step {
						cancel()
					}
				}
				return nil
			}})
			p.write("a", "old\n")
			p.write("b", "old\n")
			p.shell(func() {
				p.write("a", "new\n")
				p.write("b", "new\n")
			})
			report, err := p.r.Restore(ctx, committer(), p.plan(what("1")))
			require.Equal(t, tt.want, fault.CodeOf(err), "%v", err)
			require.Len(t, report.Steps, tt.step)
			require.Error(t, ctx.Err())
		})
	}
}
