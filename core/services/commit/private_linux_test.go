package commit

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// modes records the mode of each file when bytes are written to it.
type modes struct {
	system
	seen []fs.FileMode
}

func (s *modes) writeAt(f *os.File, data []byte, offset int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.seen = append(s.seen, info.Mode().Perm())
	return s.system.writeAt(f, data, offset)
}

// TestPrivateMeanwhile checks that no other user can read the content of a private file at any
// moment, whatever the umask, and that it gets its final mode.
func TestPrivateMeanwhile(t *testing.T) { // FS-58
	for name, system := range map[string]system{"unnamed": kernel{}, "named": noUnnamed{kernel{}}, "no proc": noProc{kernel{}}} {
		for _, mode := range []fs.FileMode{0o600, 0o640, 0o664} {
			fx := newFixture(t, oldText)
			require.NoError(t, os.Chmod(fx.file, mode))
			s := &modes{system: system}
			old := unix.Umask(0)
			_, err := newOn(s, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			unix.Umask(old)
			require.NoError(t, err)
			require.NotEmpty(t, s.seen)
			for _, seen := range s.seen {
				require.Zero(t, seen&^mode, "%s: written with mode %s", name, seen)
			}
			info, err := os.Stat(fx.file)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode())
		}
	}
	t.Run("kept bytes", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Chmod(fx.file, 0o640))
		s := &modes{system: &lateOpener{kernel{}, t, 4, extText}}
		old := unix.Umask(0)
		out, err := newOn(s, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		unix.Umask(old)
		require.NoError(t, err)
		requireKept(t, out, extText)
		for _, seen := range s.seen {
			require.Zero(t, seen&^0o640, "written with mode %s", seen)
		}
		info, err := os.Stat(out.KeptFiles[0])
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode())
	})
}

// TestKeptWithoutAttributes checks that late bytes are kept even if their copy lacks attributes.
func TestKeptWithoutAttributes(t *testing.T) { // FS-59
	for call, nth := range map[string]int{"attributes": 2, "sync": 3} {
		t.Run(call, func(t *testing.T) {
			fx := newFixture(t, oldText)
			s := &failing{system: &lateOpener{noSync{kernel{}}, t, 4, extText}, call: call, nth: nth, err: unix.EIO}
			out, err := newOn(s, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			require.NoError(t, err)
			require.Zero(t, s.nth, "the call failed")
			requireKept(t, out, extText)
			info, err := os.Stat(out.KeptFiles[0])
			require.NoError(t, err)
			require.Zero(t, info.Mode().Perm()&^0o644)
			if call == "attributes" {
				require.Equal(t, fs.FileMode(0o600), info.Mode())
			}
		})
	}
}
