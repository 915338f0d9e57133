//go:build unix

package checkpoint_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// inPlace returns a committer that rewrites files with several names.
func inPlace(t *testing.T) *commit.Committer {
	return commit.New(commit.Options{RecoveryDir: t.TempDir()})
}

func (p *project) restored(c *commit.Committer, text string) *checkpoint.Report {
	p.t.Helper()
	report, err := p.r.Restore(p.t.Context(), c, p.plan(what(text)))
	require.NoError(p.t, err)
	require.Empty(p.t, report.Failed)
	return report
}

// CM-15: the names of one file are restored together, and so is the rest of the turn.
func TestSeveralNames(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("hl", "h\n")
	require.NoError(t, os.Link(p.path("hl"), p.path("hl2")))
	p.write("aa", "a\n")
	p.write("zz", "z\n")
	before := p.tree()
	p.shell(func() {
		for _, name := range []string{"hl", "zz", "aa"} {
			p.write(name, "new "+name+"\n")
		}
		require.NoError(t, os.Chmod(p.path("hl2"), 0o600))
	})
	after := p.tree()
	require.Len(t, p.restored(inPlace(t), "1").Steps, 4)
	require.Equal(t, before, p.tree())
	require.Len(t, p.restored(inPlace(t), "2").Steps, 4)
	require.Equal(t, after, p.tree())
	one, err := os.Stat(p.path("hl"))
	require.NoError(t, err)
	two, err := os.Stat(p.path("hl2"))
	require.NoError(t, err)
	require.True(t, os.SameFile(one, two))

	t.Run("that were several files", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		for _, name := range []string{"a", "b", "c", "d"} {
			p.write(name, "old "+name+"\n")
		}
		p.write("d", "old a\n")
		before := p.tree()
		p.shell(func() {
			p.write("a", "new\n")
			for _, name := range []string{"b", "c", "d"} {
				require.NoError(t, os.Remove(p.path(name)))
				require.NoError(t, os.Link(p.path("a"), p.path(name)))
			}
		})
		p.restored(inPlace(t), "1")
		require.Equal(t, before, p.tree())
	})
}

// CM-15: a restore of a command's changes changes no other name of a file. One of a call that has named
// the file changes all names, as the call did.
func TestOtherNames(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("a", "a\n")
	p.write("b", "b\n")
	before := p.tree()
	p.shell(func() {
		require.NoError(t, os.Remove(p.path("b")))
		require.NoError(t, os.Link(p.path("a"), p.path("b")))
	})
	p.restored(inPlace(t), "1")
	require.Equal(t, before, p.tree())

	require.NoError(t, os.Remove(p.path("b")))
	require.NoError(t, os.Link(p.path("a"), p.path("b")))
	p.r.BeginTurn("a call that names one of them")
	p.edit("a", "new\n")
	require.Equal(t, "new\n", p.read("b"))
	p.restored(inPlace(t), "3")
	require.Equal(t, []string{"a\n", "a\n"}, []string{p.read("a"), p.read("b")})
	one, err := os.Stat(p.path("a"))
	require.NoError(t, err)
	two, err := os.Stat(p.path("b"))
	require.NoError(t, err)
	require.True(t, os.SameFile(one, two))
}

// CM-15: a path that cannot be restored is reported, and the others are restored.
func TestOneFails(t *testing.T) {
	saves := true
	var p *project
	p = newProject(t, checkpoint.Options{Hook: func(s checkpoint.Step) error {
		if s == checkpoint.StepRestored && saves {
			saves = false
			p.write("b", "mine\n")
		}
		return nil
	}})
	for _, name := range []string{"a", "b", "c"} {
		p.write(name, "old\n")
	}
	p.shell(func() {
		for _, name := range []string{"a", "b", "c", "new"} {
			p.write(name, "new\n")
		}
	})
	report, err := p.r.Restore(t.Context(), committer(), p.plan(what("1")))
	require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err), "%v", err)
	require.Equal(t, fault.Changed, fault.As(err).Reason)
	require.Contains(t, fault.As(err).Message, "Paths restored: 3. Not restored: 1: "+p.path("b"))
	require.Len(t, report.Steps, 3)
	require.Len(t, report.Failed, 1)
	require.Equal(t, checkpoint.Name(p.path("b")), report.Failed[0].Path)
	require.Equal(t, []string{"old\n", "mine\n", "old\n"}, []string{p.read("a"), p.read("b"), p.read("c")})
	require.NoFileExists(t, p.path("new"))
	p.undo("2")
	require.Equal(t, []string{"new\n", "mine\n", "new\n"}, []string{p.read("a"), p.read("b"), p.read("c")})
}

// CM-15: if a file cannot be created in place of a link or a directory, that stays.
func TestPutBack(t *testing.T) {
	for name, replace := range map[string]func(p *project) error{
		"link":      func(p *project) error { return os.Symlink("other", p.path("f")) },
		"directory": func(p *project) error { return os.Mkdir(p.path("f"), 0o711) },
		"two names": func(p *project) error { return os.Link(p.path("other"), p.path("f")) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, checkpoint.Options{})
			p.write("f", "old\n")
			p.write("other", "other\n")
			before := p.tree()
			p.shell(func() {
				p.write("other", "changed\n")
				require.NoError(t, os.Remove(p.path("f")))
				require.NoError(t, replace(p))
			})
			after := p.tree()
			full := commit.New(commit.Options{RecoveryDir: t.TempDir(), Hook: func(s commit.Step) error {
				if s == commit.StepTempWritten {
					return syscall.ENOSPC
				}
				return nil
			}})
			report, err := p.r.Restore(t.Context(), full, p.plan(what("1")))
			require.Equal(t, fault.NoSpaceLeft, fault.CodeOf(err), "%v", err)
			require.Len(t, report.Failed, 2)
			if name == "two names" { // no file can be written, and the report names the way back
				require.Contains(t, report.Notes[0], "Nothing is at "+p.path("f"))
				p.restored(inPlace(t), "2")
			}
			require.Equal(t, after, p.tree())
			p.restored(inPlace(t), "1")
			require.Equal(t, before, p.tree())
		})
	}
}
