package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

func TestLeftovers(t *testing.T) {
	oldSum, newSum := sumOf([]byte(oldText))[:16], sumOf([]byte(newText))[:16]
	temp := ".fettle-" + oldSum + "-" + newSum + "-0123456789abcdef"
	part := fmt.Sprintf(".fettle-part-%x-%s-0123456789abcdef", len(newText), newSum)
	tests := map[string]struct {
		name    string
		content string
		removed bool
		kept    bool
	}{
		"new bytes, not yet exchanged":     {temp, newText, true, false},
		"old bytes, already exchanged":     {temp, oldText, true, false},
		"somebody's work":                  {temp, extText, false, true},
		"a torn part":                      {part, newText[:len(newText)-1], false, true},
		"shorter than a part":              {part, "#", false, true},
		"a whole part":                     {part, newText, true, false},
		"a part not begun":                 {part, "", true, false},
		"as long as a part":                {part, strings.Repeat("#", len(newText)), false, true},
		"longer than a part":               {part, newText + "#", false, true},
		"an old part":                      {".fettle-part-0123456789abcdef", "half of", false, true},
		"an old part, not begun":           {".fettle-part-0123456789abcdef", "", true, false},
		"not a name of ours":               {".fettle-notes", extText, false, false},
		"almost a name of ours":            {temp + "0", oldText, false, false},
		"kept before":                      {"target.txt.fettle-kept-0123456789abcdef", extText, false, false},
		"the project's settings directory": {".fettle/settings.json", extText, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			path := filepath.Join(fx.path, tt.name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o644))
			out, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
			require.NoError(t, err)
			if tt.removed {
				require.NoFileExists(t, path)
			} else {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, tt.content, string(data))
			}
			if tt.kept {
				require.Equal(t, []string{path}, out.KeptFiles)
			} else {
				require.Empty(t, out.KeptFiles)
			}
		})
	}
	t.Run("open for writing", func(t *testing.T) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, temp)
		f, err := os.Create(path)
		require.NoError(t, err)
		defer f.Close()
		_, err = f.WriteString(oldText)
		require.NoError(t, err)
		out, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, []string{path}, out.KeptFiles)
		require.FileExists(t, path)
	})
	t.Run("opened while it is looked at", func(t *testing.T) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, temp)
		require.NoError(t, os.WriteFile(path, []byte(oldText), 0o644))
		out, err := newOn(&lateOpener{kernel{}, t, 1, ""}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, []string{path}, out.KeptFiles)
	})
	t.Run("a directory by that name", func(t *testing.T) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, temp)
		require.NoError(t, os.Mkdir(path, 0o755))
		out, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, []string{path}, out.KeptFiles)
	})
	t.Run("reported with a refusal", func(t *testing.T) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, temp)
		require.NoError(t, os.WriteFile(path, []byte(extText), 0o644))
		out, err := New(Options{}).Commit(t.Context(), fx.request("other", newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, []string{path}, out.KeptFiles)
	})
	t.Run("not where others may be at work", func(t *testing.T) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, temp)
		require.NoError(t, os.WriteFile(path, []byte(oldText), 0o644))
		_, err := newOn(noLocks{kernel{}}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.FileExists(t, path)
	})
}

func TestRecover(t *testing.T) { // FS-64
	half := newText[:len(newText)/2] + oldText[len(newText)/2:]
	tests := map[string]struct {
		now   string // content of the file when the next run starts
		state LeftoverState
		then  string
	}{
		"not begun":              {oldText, LeftoverClean, oldText},
		"complete":               {newText, LeftoverClean, newText},
		"half":                   {half, LeftoverFinished, newText},
		"written, not truncated": {newText + "tail", LeftoverUnresolved, newText + "tail"},
		"changed by others":      {extText, LeftoverUnresolved, extText},
		"emptied by others":      {"", LeftoverUnresolved, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fx, c := killedInPlace(t)
			require.NoError(t, os.WriteFile(fx.file, []byte(tt.now), 0o644))
			left, err := c.Recover(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, tt.state, left[0].State, left[0].Detail)
			require.Equal(t, fx.file, left[0].Path)
			require.NotEmpty(t, left[0].Detail)
			require.Equal(t, tt.then, fx.content())
			if tt.state == LeftoverUnresolved {
				require.FileExists(t, left[0].Record)
			} else {
				require.NoFileExists(t, left[0].Record)
			}
		})
	}
	t.Run("shrinking", func(t *testing.T) {
		require.True(t, isMixture([]byte("newLonger"), []byte("oldLonger"), []byte("new")))
		require.True(t, isMixture([]byte("newL"), []byte("old"), []byte("newLonger")))
		require.False(t, isMixture([]byte("ne"), []byte("old"), []byte("newLonger")))
		require.False(t, isMixture([]byte("nxw"), []byte("old"), []byte("new")))
	})
	for name, replace := range saves {
		if name == "in place" || name == "truncating" || name == "emptied" || name == "same size, old times" {
			continue
		}
		t.Run("replaced: "+name, func(t *testing.T) {
			fx, c := killedInPlace(t)
			require.NoError(t, replace(fx, extText))
			before := fx.state()
			left, err := c.Recover(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, LeftoverUnresolved, left[0].State)
			require.FileExists(t, left[0].Record)
			require.Equal(t, before, fx.state())
		})
	}
	t.Run("directory gone", func(t *testing.T) {
		fx, c := killedInPlace(t)
		require.NoError(t, os.RemoveAll(fx.path))
		left, err := c.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, LeftoverUnresolved, left[0].State)
	})
	t.Run("open elsewhere", func(t *testing.T) {
		fx, c := killedInPlace(t)
		f, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, kernel{}.tryLock(f))
		c.options.LeaseWait = 0
		left, err := c.Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, LeftoverUnresolved, left[0].State)
		kernel{}.unlock(f)
		left, err = c.Recover(t.Context())
		require.NoError(t, err)
		require.Equal(t, LeftoverFinished, left[0].State)
	})
	t.Run("damaged", func(t *testing.T) {
		fx, c := killedInPlace(t)
		records, err := filepath.Glob(filepath.Join(c.options.RecoveryDir, "*"+recoverySuffix))
		require.NoError(t, err)
		require.Len(t, records, 1)
		whole, err := os.ReadFile(records[0])
		require.NoError(t, err)
		before := fx.content()
		var damaged [][]byte
		for i := range whole {
			flipped := slices.Clone(whole)
			flipped[i] ^= 1
			damaged = append(damaged, whole[:i], flipped)
		}
		for _, bytes := range damaged {
			require.NoError(t, os.WriteFile(records[0], bytes, 0o600))
			left, err := c.Recover(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, LeftoverUnresolved, left[0].State)
			require.NotEmpty(t, left[0].Detail)
			require.Equal(t, before, fx.content())
			require.FileExists(t, records[0])
		}
	})
	t.Run("part", func(t *testing.T) {
		dir := t.TempDir()
		part := filepath.Join(dir, "0123.recovery.part")
		require.NoError(t, os.WriteFile(part, []byte("begun"), 0o600))
		writer, err := os.Open(part)
		require.NoError(t, err)
		require.NoError(t, kernel{}.tryLock(writer))
		c := New(Options{RecoveryDir: dir})
		left, err := c.Recover(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
		require.FileExists(t, part, "its writer lives")
		require.NoError(t, writer.Close())
		_, err = c.Recover(t.Context())
		require.NoError(t, err)
		require.NoFileExists(t, part)
	})
	t.Run("nothing to do", func(t *testing.T) {
		for _, dir := range []string{"", filepath.Join(t.TempDir(), "absent"), t.TempDir()} {
			left, err := New(Options{RecoveryDir: dir}).Recover(t.Context())
			require.NoError(t, err)
			require.Empty(t, left)
		}
	})
	t.Run("a commit under way is left alone", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Link(fx.file, fx.file+"2"))
		recovery := t.TempDir()
		done := make(chan []Leftover)
		c := New(Options{RecoveryDir: recovery, Hook: at(StepInPlaceHalf, func() error {
			go func() {
				left, _ := New(Options{RecoveryDir: recovery}).Recover(t.Context())
				done <- left
			}()
			return nil
		})})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Empty(t, <-done)
		require.Equal(t, newText, fx.content())
	})
}

// starting lets a session start at each lock of a recovery file, before it and when it gets its name.
type starting struct {
	system
	start    func()
	recovery string
	held     []string // recovery files that were locked when their directory was flushed
}

func (s *starting) tryLock(f *os.File) error {
	if strings.HasSuffix(f.Name(), partSuffix) && s.start != nil {
		start := s.start
		s.start = nil
		start()
	}
	return s.system.tryLock(f)
}

func (s *starting) sync(f *os.File) error {
	if f.Name() == s.recovery {
		found, _ := filepath.Glob(filepath.Join(s.recovery, "*"+recoverySuffix))
		for _, name := range found {
			if f, err := os.Open(name); err == nil {
				if errors.Is(s.system.tryLock(f), errBusy) {
					s.held = append(s.held, name)
				}
				closeFile(f)
			}
		}
	}
	return s.system.sync(f)
}

// TestStartDuringRecord starts sessions while a recovery file is written. They do not remove it,
// from its creation until it has its own name.
func TestStartDuringRecord(t *testing.T) { // FS-64
	fx, recovery := linked(t), t.TempDir()
	s := &starting{system: kernel{}, recovery: recovery}
	s.start = func() {
		left, err := New(Options{RecoveryDir: recovery}).Recover(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
	}
	_, err := newOn(s, Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Nil(t, s.start, "it has started")
	require.Len(t, s.held, 1, "the lock covers the rename")
	require.Equal(t, newText, fx.content())
	entries, err := os.ReadDir(recovery)
	require.NoError(t, err)
	require.Empty(t, entries)

	t.Run("that looks at it", func(t *testing.T) {
		fx, recovery := linked(t), t.TempDir()
		s := &starting{system: kernel{}}
		s.start = func() { // it has opened and locked the file, and not removed it yet
			found, err := filepath.Glob(filepath.Join(recovery, "*"+partSuffix))
			require.NoError(t, err)
			require.Len(t, found, 1)
			f, err := os.Open(found[0])
			require.NoError(t, err)
			t.Cleanup(func() { closeFile(f) })
			require.NoError(t, kernel{}.tryLock(f))
		}
		_, err := newOn(s, Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
		entries, err := os.ReadDir(recovery)
		require.NoError(t, err)
		require.Empty(t, entries)
	})
	t.Run("without locks", func(t *testing.T) {
		dir := t.TempDir()
		part := filepath.Join(dir, "0123.recovery.part")
		require.NoError(t, os.WriteFile(part, []byte("begun"), 0o600))
		_, err := newOn(noLocks{kernel{}}, Options{RecoveryDir: dir}).Recover(t.Context())
		require.NoError(t, err)
		require.FileExists(t, part, "its writer may live")
	})
}

// killedInPlace returns a file that a killed run left half rewritten, and the next run's Committer.
func killedInPlace(t *testing.T) (*fixture, *Committer) {
	t.Helper()
	fx := newFixture(t, oldText)
	require.NoError(t, os.Link(fx.file, fx.file+"2"))
	recovery := t.TempDir()
	require.True(t, runKilled(t, fx.path, recovery, string(StepInPlaceHalf), "in-place"))
	require.True(t, strings.HasPrefix(fx.content(), newText[:len(newText)/2]))
	return fx, New(Options{RecoveryDir: recovery})
}
