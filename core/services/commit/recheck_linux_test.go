package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// TestEqualBytesDuringFlush checks that a file that was touched, or replaced by one with the same
// bytes, while the new bytes were flushed counts as the same version. The new file gets its current
// attributes.
func TestEqualBytesDuringFlush(t *testing.T) { // FS-58, FS-59
	const attribute = "user.fettle"
	acts := map[string]struct {
		act  func(fx *fixture) error
		mode os.FileMode
		attr string
	}{
		"touched":      {func(fx *fixture) error { return os.Chtimes(fx.file, time.Unix(1e9, 0), time.Unix(1e9, 0)) }, 0o640, "old"},
		"mode changed": {func(fx *fixture) error { return os.Chmod(fx.file, 0o604) }, 0o604, "old"},
		"attribute removed": {func(fx *fixture) error {
			return unix.Removexattr(fx.file, attribute)
		}, 0o640, ""},
		"saved in place": {func(fx *fixture) error { return saves["in place"](fx, oldText) }, 0o640, "old"},
		"replaced": {func(fx *fixture) error {
			return errors.Join(saves["rename"](fx, oldText), os.Chmod(fx.file, 0o606))
		}, 0o606, ""},
	}
	for method, system := range methods {
		for name, tt := range acts {
			t.Run(fmt.Sprintf("%s/%s", method, name), func(t *testing.T) {
				fx := newFixture(t, oldText)
				require.NoError(t, os.Chmod(fx.file, 0o640))
				if err := unix.Setxattr(fx.file, attribute, []byte("old"), 0); err != nil {
					t.Skip("no extended attributes here:", err)
				}
				c := newOn(system, Options{Hook: at(StepTempLinked, func() error { return tt.act(fx) })})
				out, err := c.Commit(t.Context(), fx.request(oldText, newText))
				require.NoError(t, err)
				require.Equal(t, method, out.Method)
				require.Equal(t, newText, fx.content())
				require.Equal(t, []string{"target.txt"}, fx.names())
				info, err := os.Stat(fx.file)
				require.NoError(t, err)
				require.Equal(t, tt.mode, info.Mode())
				if tt.attr == "" {
					_, err := unix.Getxattr(fx.file, attribute, nil)
					require.ErrorIs(t, err, unix.ENODATA)
				} else {
					require.Equal(t, tt.attr, xattr(t, fx.file, attribute))
				}
			})
		}
	}
}

// TestNoHashAtThePath checks that under a lease the verdict on the displaced file reads no content:
// between the exchange and the verdict there are only a stat and a lease query.
func TestNoHashAtThePath(t *testing.T) { // FS-59
	fx := newFixture(t, oldText)
	s := &grabbing{system: kernel{}}
	c := newOn(s, Options{Hook: func(step Step) error {
		switch step {
		case StepExchanged:
			s.exchanged = true
		case StepVerified:
			s.exchanged = false
		}
		return nil
	}})
	_, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Zero(t, s.opened, "the displaced file was opened again before the verdict")
}

// grabbing counts the files opened while exchanged is set.
type grabbing struct {
	system
	exchanged bool
	opened    int
}

func (s *grabbing) openRead(dir *os.File, name string) (*os.File, error) {
	if s.exchanged {
		s.opened++
	}
	return s.system.openRead(dir, name)
}

// TestReplacedByEqualFileAtExchange checks a displaced file that has the base's bytes, but is not
// the one that was leased.
func TestReplacedByEqualFileAtExchange(t *testing.T) { // FS-59
	for _, method := range []Method{MethodExchange, MethodLink} {
		fx := newFixture(t, oldText)
		c := newOn(methods[method], Options{Hook: at(StepRechecked, func() error {
			return errors.Join(saves["rename"](fx, oldText), os.Chmod(fx.file, 0o600))
		})})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
		require.Equal(t, os.FileMode(0o600), out.Info.Mode)
		require.Equal(t, []string{"target.txt"}, fx.names())
	}
}

// TestTargetGoneMeanwhile checks that nothing is left if the target disappeared while its
// directory's other names stayed.
func TestTargetGoneMeanwhile(t *testing.T) { // FS-65
	for method, system := range methods {
		fx := newFixture(t, oldText)
		c := newOn(system, Options{Hook: at(StepRechecked, func() error {
			return os.Rename(fx.file, filepath.Join(fx.path, "moved"))
		})})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, "file_changed_since_read", "disappeared")
		require.Equal(t, []string{"moved"}, fx.names(), method)
		f, err := os.Open(filepath.Join(fx.path, "moved"))
		require.NoError(t, err)
		info, err := workspace.InfoOf(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.EqualValues(t, 1, info.Nlink)
	}
}

// TestBaseInfo checks that the bytes of a target are verified before the exchange even if its stat
// data are those that the caller has read with the base: here other bytes have the same ones.
func TestBaseInfo(t *testing.T) { // FS-58, FS-59
	other := strings.Repeat("x", len(oldText))
	systems := map[string]system{"no leases": noLeases{kernel{}}, "no leases, rename": noLeases{methods[MethodRename]}}
	for method, system := range methods {
		systems[string(method)] = system
	}
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			r := fx.request(other, newText)
			var err error
			r.BaseInfo, err = workspace.InfoOf(openFile(t, fx.file))
			require.NoError(t, err)
			exchanged := false
			_, err = newOn(system, Options{Hook: at(StepExchanged, func() error { exchanged = true; return nil })}).Commit(t.Context(), r)
			require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err))
			require.False(t, exchanged)
			require.Equal(t, oldText, fx.content())
			require.Equal(t, []string{"target.txt"}, fx.names())

			r = fx.request(oldText, newText)
			r.BaseInfo, err = workspace.InfoOf(openFile(t, fx.file))
			require.NoError(t, err)
			_, err = newOn(system, Options{}).Commit(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, newText, fx.content())
		})
	}
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}
