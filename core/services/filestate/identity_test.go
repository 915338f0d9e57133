package filestate

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FS-29, FS-53, PR-29: who may be shown a file again
func TestSeen(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "1\n2\n")
	require.False(t, f.Seen(p))
	f.ranged("a", 0, 1)
	require.False(t, f.Seen(p))
	f.shown("a")
	require.True(t, f.Seen(p))
	f.write("a", "other")
	require.True(t, f.Seen(p), "as it was at some time")
	f.replace("a", "another")
	require.True(t, f.Seen(p))
	require.NoError(t, os.Remove(p.String()))
	require.False(t, f.Seen(p))

	f = newFixture(t, func(o *Options) { o.MayShow = func(workspace.Path) bool { return false } })
	f.write("a", "x")
	f.shown("a")
	require.False(t, f.Seen(f.path("a")))
}

// RC-02: an unread file that reuses the inode number of a removed file is a different file, unless
// size and mtime are equal too: then it is the same file under another name.
func TestInodeNumberAloneIsNoIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*workspace.Info)
		same   bool
	}{
		"another size":  {func(i *workspace.Info) { i.Size++ }, false},
		"another mtime": {func(i *workspace.Info) { i.MtimeNS++ }, false},
		"another ctime": {func(i *workspace.Info) { i.CtimeNS++ }, true}, // as after a rename
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("gone", "x")
			f.shown("gone")
			dead := f.info("gone")
			if !dead.Identified() {
				t.Skip("files have no inode numbers here")
			}
			require.NoError(t, os.Remove(f.name("gone")))
			tt.change(&dead)
			p := f.write("new", "unread")
			f.disk.statAs = func(workspace.Info) workspace.Info { return dead }
			require.Equal(t, tt.same, f.Seen(p))
			refusal := f.Decide(Check{Path: p, Verb: editing})
			if tt.same {
				require.Nil(t, refusal)
				return
			}
			f.requireRefusal(refusal, fault.EditRequiresPriorRead, fault.NeverRead)
		})
	}
}

// The same with an inode number that the file system itself reused.
func TestReusedInodeIsNotSeen(t *testing.T) {
	f := newFixture(t)
	f.write("gone", "x")
	f.shown("gone")
	info := f.info("gone")
	require.NoError(t, os.Remove(f.name("gone")))
	for i := range 100 {
		name := fmt.Sprint("new", i)
		f.write(name, "unread")
		require.False(t, f.Seen(f.path(name)))
		f.requireRefusal(f.edit(name), fault.EditRequiresPriorRead, fault.NeverRead)
		if f.info(name).Ino == info.Ino {
			return
		}
	}
	t.Skip("this file system does not reuse inode numbers")
}

// The refusals of a change that was allowed when it was planned.
func TestRefuseMoved(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "x")
	f.shown("a")
	c := Check{Path: p, Verb: overwriting}
	f.requireRefusal(f.RefuseMoved(c, fault.Changed), fault.FileChangedSinceRead, fault.Changed)
	f.requireRefusal(f.RefuseMoved(c, fault.NeverRead), fault.EditRequiresPriorRead, fault.NeverRead)
	c.Proof = Sum([]byte("x"))
	require.Equal(t, StateMismatch, f.RefuseMoved(c, fault.Changed).Message)
	f.requireRefusal(f.RefuseMoved(c, fault.Disappeared), fault.FileChangedSinceRead, fault.Disappeared)
	require.Zero(t, f.Cache.Len())
}

// A path outside of the workspace keeps its own code.
func TestDecideOutside(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, os.Symlink(os.TempDir(), f.name("out")))
	r := f.Decide(Check{Path: f.path("out/x"), Verb: editing})
	f.requireRefusal(r, fault.PathNotInWorkspace, "")
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("out/x")})
	require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
}
