package commit

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// covered requires after each system call that the target covers the file below: a kill after any of them does
// not show that file.
type covered struct {
	system
	t     *testing.T
	name  string
	calls *int
}

func (c covered) after(call string, err error) error {
	*c.calls++
	if _, looking := os.Lstat(c.name); looking != nil {
		c.t.Errorf("after %s (%v) the file below shows", call, err)
	}
	return err
}

func (c covered) exchange(dir *os.File, a, b string) error {
	return c.after("exchange", c.system.exchange(dir, a, b))
}

func (c covered) rename(dir *os.File, from, to string) error {
	return c.after("rename", c.system.rename(dir, from, to))
}

func (c covered) renameNoReplace(dir *os.File, from, to string) error {
	return c.after("rename", c.system.renameNoReplace(dir, from, to))
}

func (c covered) link(dir *os.File, from, to string) error {
	return c.after("link", c.system.link(dir, from, to))
}

func (c covered) linkUnnamed(f, dir *os.File, name string) error {
	return c.after("link", c.system.linkUnnamed(f, dir, name))
}

func (c covered) remove(dir *os.File, name string) error {
	return c.after("remove "+name, c.system.remove(dir, name))
}

func (c covered) makeWhiteout(dir *os.File, name string) error {
	return c.after("mknod", c.system.makeWhiteout(dir, name))
}

const removedText = "whiteout"

func (fx *fixture) removed() bool {
	var st syscall.Stat_t
	return syscall.Lstat(fx.file, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFCHR && st.Rdev == 0
}

func (fx *fixture) remove() error {
	if err := os.Remove(fx.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syscall.Mknod(fx.file, syscall.S_IFCHR, 0)
}

// FK-01: in an upper directory a change never shows the file below, not even between two system calls, and
// removes the rest. An error at any step leaves the target as it was.
func TestLayered(t *testing.T) {
	steps := []Step{"", StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked, StepExchanged, StepVerified, StepSynced, StepUnlinked}
	for _, tt := range []struct {
		name, before string
		do           func(c *Committer, fx *fixture, r Request) error
	}{
		{"create", removedText, func(c *Committer, fx *fixture, r Request) error { _, err := c.Commit(fx.t.Context(), r); return err }},
		{"replace", oldText, func(c *Committer, fx *fixture, r Request) error { _, err := c.Commit(fx.t.Context(), r); return err }},
		{"remove", oldText, func(c *Committer, fx *fixture, r Request) error { _, err := c.Remove(fx.t.Context(), r); return err }},
		{"create in a set", removedText, set(false)},
		{"replace in a set", oldText, set(false)},
		{"remove in a set", oldText, set(true)},
	} {
		for _, named := range []bool{false, true} {
			for _, failing := range steps {
				t.Run(tt.name+" "+string(failing), func(t *testing.T) {
					fx := newFixture(t, "")
					base := ""
					if tt.before == removedText {
						require.NoError(t, fx.remove())
					} else {
						base = tt.before
						require.NoError(t, os.WriteFile(fx.file, []byte(base), 0o644))
					}
					c := New(Options{Settle: -1, Hook: func(s Step) error {
						if s == failing {
							return syscall.ENOSPC
						}
						return nil
					}})
					calls := 0
					c.system = covered{kernel{}, t, fx.file, &calls}
					if named {
						c.system = covered{noUnnamed{kernel{}}, t, fx.file, &calls}
					}
					r := fx.request(base, newText)
					r.Layer = workspace.Covering
					err := tt.do(c, fx, r)
					require.Equal(t, []string{"target.txt"}, fx.names())
					switch {
					case err != nil:
						require.Equal(t, fault.NoSpaceLeft, fault.CodeOf(err), "%v", err)
						require.Equal(t, tt.before == removedText, fx.removed())
						if base != "" {
							require.Equal(t, base, fx.content())
						}
					case strings.HasPrefix(tt.name, "remove"):
						require.True(t, fx.removed())
					default:
						require.Equal(t, newText, fx.content())
					}
					if failing == "" {
						require.NoError(t, err)
						require.NotZero(t, calls)
					}
				})
			}
		}
	}
}

// set makes a change as one of a set, and undoes it after an error.
func set(remove bool) func(c *Committer, fx *fixture, r Request) error {
	return func(c *Committer, fx *fixture, r Request) error {
		ctx := fx.t.Context()
		locks, err := c.LockAll(ctx, []*os.File{fx.dir})
		require.NoError(fx.t, err)
		defer locks.Unlock()
		staged, err := locks.Stage(ctx, SetRequest{Request: r, Remove: remove, Temp: ".fettle-set-0-0"})
		if err != nil {
			return err
		}
		if err := staged.Exchange(ctx); err != nil {
			_, undoing := staged.Undo(ctx)
			require.NoError(fx.t, undoing)
			return err
		}
		staged.Finish(ctx)
		return nil
	}
}

// FK-01: what another program does in an upper directory meanwhile is neither lost nor covered.
func TestLayeredBesideOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		before string
		at     Step
		other  func(fx *fixture) error
		remove bool
		code   fault.Code
		left   string // removedText: a whiteout
	}{
		"removed before a replacement": {oldText, StepRechecked, (*fixture).remove, false, fault.FileChangedSinceRead, removedText},
		"removed before a removal":     {oldText, StepChecked, (*fixture).remove, true, fault.FileChangedSinceRead, removedText},
		"created in place of a whiteout": {removedText, StepTempWritten, func(fx *fixture) error {
			if err := os.Remove(fx.file); err != nil {
				return err
			}
			return os.WriteFile(fx.file, []byte(extText), 0o644)
		}, false, fault.EditRequiresPriorRead, extText},
		"replaced before a removal": {oldText, StepChecked, func(fx *fixture) error {
			if err := os.WriteFile(fx.file+"~", []byte(extText), 0o644); err != nil {
				return err
			}
			return os.Rename(fx.file+"~", fx.file)
		}, true, fault.FileChangedSinceRead, extText},
		"created after a removal": {oldText, StepExchanged, func(fx *fixture) error {
			if err := os.Remove(fx.file); err != nil {
				return err
			}
			return os.WriteFile(fx.file, []byte(extText), 0o644)
		}, true, "", extText},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, "")
			base := ""
			if tt.before == removedText {
				require.NoError(t, fx.remove())
			} else {
				base = tt.before
				require.NoError(t, os.WriteFile(fx.file, []byte(base), 0o644))
			}
			c := New(Options{Settle: -1, Hook: func(s Step) error {
				if s == tt.at {
					return tt.other(fx)
				}
				return nil
			}})
			r := fx.request(base, newText)
			r.Layer = workspace.Covering
			var err error
			if tt.remove {
				_, err = c.Remove(t.Context(), r)
			} else {
				_, err = c.Commit(t.Context(), r)
			}
			require.Equal(t, tt.code, fault.CodeOf(err), "%v", err)
			require.Equal(t, []string{"target.txt"}, fx.names())
			if tt.left == removedText {
				require.True(t, fx.removed())
			} else {
				require.Equal(t, tt.left, fx.content())
			}
		})
	}
}
