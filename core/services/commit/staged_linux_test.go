package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// Systems with fewer features than this one.

type noExchange struct{ system }

func (noExchange) exchange(*os.File, string, string) error { return errors.ErrUnsupported }

type noLinks struct{ system }

func (noLinks) link(*os.File, string, string) error { return errors.ErrUnsupported }

type noLeases struct{ system }

func (noLeases) lease(*os.File, bool) error { return errors.ErrUnsupported }

// unshielded lets other programs open the new file before the verdict.
type unshielded struct{ system }

func (s unshielded) lease(f *os.File, exclusive bool) error {
	if exclusive {
		return errors.ErrUnsupported
	}
	return s.system.lease(f, exclusive)
}

type noUnnamed struct{ system }

func (noUnnamed) createUnnamed(*os.File, fs.FileMode) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

// noProc makes unnamed files, but cannot give them a name.
type noProc struct{ system }

func (noProc) linkUnnamed(*os.File, *os.File, string) error { return errors.ErrUnsupported }

type noNoReplace struct{ system }

func (noNoReplace) renameNoReplace(*os.File, string, string) error { return errors.ErrUnsupported }

var methods = map[Method]system{
	MethodExchange: kernel{},
	MethodLink:     noExchange{kernel{}},
	MethodRename:   noLinks{noExchange{kernel{}}},
}

// newOn returns a Committer on a test's own system.
func newOn(s system, o Options) *Committer {
	c := New(o)
	c.system = s
	return c
}

// saves are the ways in which another program can change the target.
var saves = map[string]func(fx *fixture, bytes string) error{
	"rename": func(fx *fixture, bytes string) error {
		temp := filepath.Join(fx.path, "editor.tmp")
		return errors.Join(os.WriteFile(temp, []byte(bytes), 0o644), os.Rename(temp, fx.file))
	},
	"in place": func(fx *fixture, bytes string) error {
		f, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(bytes), 0)
		return errors.Join(err, f.Truncate(int64(len(bytes))), f.Close())
	},
	"truncating": func(fx *fixture, bytes string) error {
		return os.WriteFile(fx.file, []byte(bytes), 0o644)
	},
	"same size, old times": func(fx *fixture, _ string) error {
		info, err := os.Stat(fx.file)
		if err != nil {
			return err
		}
		bytes := strings.Repeat("#", int(info.Size()))
		return errors.Join(os.WriteFile(fx.file, []byte(bytes), 0o644), os.Chtimes(fx.file, info.ModTime(), info.ModTime()))
	},
	"emptied": func(fx *fixture, _ string) error { return os.Truncate(fx.file, 0) },
	"deleted": func(fx *fixture, _ string) error { return os.Remove(fx.file) },
	"folder": func(fx *fixture, _ string) error {
		return errors.Join(os.Remove(fx.file), os.Mkdir(fx.file, 0o755))
	},
	"link": func(fx *fixture, _ string) error {
		return errors.Join(os.Remove(fx.file), os.Symlink("/nowhere", fx.file))
	},
	"pipe": func(fx *fixture, _ string) error {
		return errors.Join(os.Remove(fx.file), unix.Mkfifo(fx.file, 0o644))
	},
}

// inPlaceSaves are those that open the target for writing.
var inPlaceSaves = []string{"in place", "truncating", "same size, old times", "emptied"}

// state describes the path: kind and content.
func (fx *fixture) state() string {
	fx.t.Helper()
	info, err := os.Lstat(fx.file)
	if errors.Is(err, os.ErrNotExist) {
		return "absent"
	}
	require.NoError(fx.t, err)
	if !info.Mode().IsRegular() {
		return info.Mode().Type().String()
	}
	return "file: " + fx.content()
}

// TestSaveDuringCommit lets another program save at each step, by each method. TE-08: before the
// exchange its state stays at the path and the commit fails; after it the commit has succeeded and
// the save came later.
func TestSaveDuringCommit(t *testing.T) { // FS-58, FS-59, FS-61
	before := []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked}
	after := []Step{StepExchanged, StepVerified, StepSynced, StepUnlinked}
	for method, system := range methods {
		for name, save := range saves {
			for _, step := range slices.Concat(before, after) {
				if method == MethodRename && (step == StepVerified || step == StepUnlinked) {
					continue // this method has no such step
				}
				t.Run(fmt.Sprintf("%s/%s/%s", method, name, step), func(t *testing.T) {
					fx := newFixture(t, oldText)
					system := system
					switch {
					case step == StepRechecked && slices.Contains(inPlaceSaves, name):
						system = noLeases{system} // with leases see TestOpenedDuringExchange
					case step == StepExchanged:
						system = unshielded{system} // with a shield see TestShield
					}
					var saved string
					reached, exchanged := false, false
					hook := func(s Step) error {
						exchanged = exchanged || s == StepExchanged
						if s != step {
							return nil
						}
						reached = true
						err := save(fx, extText)
						saved = fx.state()
						return err
					}
					out, err := newOn(system, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
					require.True(t, reached)
					require.False(t, exchanged && step != StepRechecked && slices.Contains(before, step), "what was known to be stale came to the path")
					require.Equal(t, saved, fx.state(), "what the other program did stands")
					require.Empty(t, out.KeptFiles)
					require.NotContains(t, strings.Join(fx.names(), " "), ".fettle-")
					if slices.Contains(after, step) {
						require.NoError(t, err)
						require.Equal(t, method, out.Method)
						return
					}
					switch {
					case name == "deleted":
						requireCode(t, err, fault.FileChangedSinceRead, fault.Disappeared)
					case step == StepLocked && !strings.HasPrefix(saved, "file"):
						requireCode(t, err, fault.NotARegularFile, "")
					default:
						requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
					}
				})
			}
		}
	}
}

// TestSaveTwice lets another program save before the exchange, and again before it is undone.
func TestSaveTwice(t *testing.T) { // FS-60
	const first, second = "first save of an editor\n", "second save of an editor\n"
	for method, system := range methods {
		if method == MethodRename {
			continue // it does not undo
		}
		for _, a := range []string{"rename", "in place", "truncating"} {
			for b, save := range saves {
				if b == "same size, old times" {
					continue // the saved bytes are unknown
				}
				t.Run(fmt.Sprintf("%s/%s/%s", method, a, b), func(t *testing.T) {
					fx, system := newFixture(t, oldText), system
					system = unshielded{system}
					if slices.Contains(inPlaceSaves, a) {
						system = noLeases{system}
					}
					var newest string
					hook := func(s Step) error {
						switch s {
						case StepRechecked:
							return saves[a](fx, first)
						case StepExchanged:
							err := save(fx, second)
							newest = fx.state()
							return err
						}
						return nil
					}
					out, err := newOn(system, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
					requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
					if b == "deleted" {
						require.Equal(t, "file: "+first, fx.state())
						require.Equal(t, []string{"target.txt"}, fx.names())
						return
					}
					require.Equal(t, newest, fx.state(), "the newest state is at the path")
					require.Len(t, out.KeptFiles, 1)
					kept, err := os.ReadFile(out.KeptFiles[0])
					require.NoError(t, err)
					require.Equal(t, first, string(kept))
					require.ElementsMatch(t, []string{"target.txt", filepath.Base(out.KeptFiles[0])}, fx.names())
					require.True(t, strings.HasPrefix(filepath.Base(out.KeptFiles[0]), "target.txt.fettle-kept-"))
				})
			}
		}
	}
}

// TestSaveThrice adds a save after the undo: then the loss of the first one is the editor's own
// doing.
func TestSaveThrice(t *testing.T) { // FS-60
	for method, system := range methods {
		if method == MethodRename {
			continue
		}
		t.Run(string(method), func(t *testing.T) {
			fx := newFixture(t, oldText)
			text := map[Step]string{StepRechecked: "one", StepExchanged: "two", StepUndone: "three"}
			hook := func(s Step) error {
				if text[s] == "" {
					return nil
				}
				return saves["rename"](fx, text[s])
			}
			out, err := newOn(unshielded{system}, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
			require.Len(t, out.KeptFiles, 1)
			kept, err := os.ReadFile(out.KeptFiles[0])
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"two", "three"}, []string{string(kept), fx.content()})
		})
	}
}

// TestModeDuringCommit checks that changes of the file's mode by other programs are kept.
func TestModeDuringCommit(t *testing.T) { // FS-58
	for _, step := range []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked} {
		fx := newFixture(t, oldText)
		c := New(Options{Hook: at(step, func() error { return os.Chmod(fx.file, 0o600) })})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		info, err := os.Stat(fx.file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), "changed at %s", step)
		require.Equal(t, info.Mode(), out.Info.Mode)
	}
}

// TestLinkedDuringCommit checks that a second name created meanwhile does not keep the old bytes
// while the first gets new ones.
func TestLinkedDuringCommit(t *testing.T) { // FS-64
	for _, step := range []Step{StepChecked, StepTempWritten, StepTempLinked, StepRechecked} {
		fx := newFixture(t, oldText)
		second := filepath.Join(fx.path, "second")
		c := New(Options{Hook: at(step, func() error { return os.Link(fx.file, second) })})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, oldText, fx.content())
		a, err := os.Stat(fx.file)
		require.NoError(t, err)
		b, err := os.Stat(second)
		require.NoError(t, err)
		require.True(t, os.SameFile(a, b))
	}
}

// TestNameTakenMeanwhile checks that a new file never replaces one created meanwhile.
func TestNameTakenMeanwhile(t *testing.T) { // FS-62
	systems := map[string]system{
		"unnamed":              kernel{},
		"named":                noUnnamed{kernel{}},
		"no proc":              noProc{kernel{}},
		"named, by link":       noNoReplace{noUnnamed{kernel{}}},
		"named, by last check": noLinks{noNoReplace{noUnnamed{kernel{}}}},
	}
	for name, system := range systems {
		for kind, create := range map[string]func(path string) error{
			"file":   func(path string) error { return os.WriteFile(path, []byte(extText), 0o644) },
			"folder": func(path string) error { return os.Mkdir(path, 0o755) },
			"link":   func(path string) error { return os.Symlink("/nowhere", path) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				fx := newFixture(t, "")
				var made string
				c := newOn(system, Options{Hook: at(StepTempWritten, func() error {
					err := create(fx.file)
					made = fx.state()
					if errors.Is(err, os.ErrExist) {
						return nil // the second try of "no proc"
					}
					return err
				})})
				_, err := c.Commit(t.Context(), fx.request("", newText))
				requireCode(t, err, fault.EditRequiresPriorRead, fault.NeverRead)
				require.Equal(t, made, fx.state())
				require.Equal(t, []string{"target.txt"}, fx.names())
			})
		}
		t.Run(name+"/free", func(t *testing.T) {
			fx := newFixture(t, "")
			out, err := newOn(system, Options{}).Commit(t.Context(), fx.request("", newText))
			require.NoError(t, err)
			require.Equal(t, MethodCreate, out.Method)
			require.Equal(t, "file: "+newText, fx.state())
			require.EqualValues(t, len(newText), out.Info.Size)
			require.EqualValues(t, 1, out.Info.Nlink)
			require.Equal(t, []string{"target.txt"}, fx.names())
		})
	}
}

// TestNamesThroughLinks checks that kept files and recovery files are named by the resolved
// directory, although the target's path contains a link.
func TestNamesThroughLinks(t *testing.T) { // FS-60, FS-63, FS-64
	through := func(t *testing.T) (*fixture, Request) {
		fx := newFixture(t, oldText)
		link := filepath.Join(t.TempDir(), "link.txt")
		require.NoError(t, os.Symlink(fx.file, link))
		fd, err := unix.Open(fx.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		require.NoError(t, err)
		dir := os.NewFile(uintptr(fd), ".")
		t.Cleanup(func() { dir.Close() })
		r := fx.request(oldText, newText)
		r.Dir, r.Path = dir, link
		return fx, r
	}
	t.Run("kept", func(t *testing.T) {
		fx, r := through(t)
		out, err := New(Options{Hook: func(s Step) error {
			if s == StepRechecked || s == StepExchanged {
				return saves["rename"](fx, string(s))
			}
			return nil
		}}).Commit(t.Context(), r)
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Len(t, out.KeptFiles, 1)
		require.Equal(t, fx.path, filepath.Dir(out.KeptFiles[0]))
		require.FileExists(t, out.KeptFiles[0])
	})
	t.Run("recovery", func(t *testing.T) {
		fx, r := through(t)
		require.NoError(t, os.Link(fx.file, fx.file+"2"))
		recovery := t.TempDir()
		_, err := newOn(&brokenDisk{system: kernel{}, good: 5}, Options{RecoveryDir: recovery}).Commit(t.Context(), r)
		require.Error(t, err)
		left, err := New(Options{RecoveryDir: recovery}).Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, LeftoverFinished, left[0].State)
		require.Equal(t, newText, fx.content())
	})
}

// TestLongNames checks that a kept file gets a name even if the target's own name has the maximum
// length.
func TestLongNames(t *testing.T) { // FS-60
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("\u00e9", 127)} {
		fx := newFixture(t, "")
		fx.file = filepath.Join(fx.path, name)
		require.NoError(t, os.WriteFile(fx.file, []byte(oldText), 0o644))
		out, err := New(Options{Hook: func(s Step) error {
			if s == StepRechecked || s == StepExchanged {
				return saves["rename"](fx, string(s))
			}
			return nil
		}}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		requireKept(t, out, string(StepRechecked))
		require.True(t, utf8.ValidString(out.KeptFiles[0]))
	}
}

// TestSettle checks that a late open during the wait still undoes the commit.
func TestSettle(t *testing.T) { // FS-59
	for settle, atLeast := range map[time.Duration]time.Duration{0: DefaultSettle, 3 * time.Millisecond: 3 * time.Millisecond, -1: 0} {
		fx := newFixture(t, oldText)
		var exchanged time.Time
		var waited time.Duration
		_, err := New(Options{Settle: settle, Hook: func(s Step) error {
			switch s {
			case StepExchanged:
				exchanged = time.Now()
			case StepUnlinked:
				waited = time.Since(exchanged)
			}
			return nil
		}}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.GreaterOrEqual(t, waited, atLeast)
	}
}
