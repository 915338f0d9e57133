package commit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// displace has another program save twice during a commit, so that the first save is kept next to
// the target.
func displace(t *testing.T, fx *fixture, s system, first, second string, more func(Step) error) Outcome {
	t.Helper()
	require.NoError(t, os.WriteFile(fx.file, []byte(oldText), 0o644))
	out, err := newOn(s, Options{Hook: func(s Step) error {
		switch s {
		case StepRechecked:
			return saves["rename"](fx, first)
		case StepExchanged:
			return saves["rename"](fx, second)
		}
		return more(s)
	}}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, second, fx.content())
	return out
}

func nothing(Step) error { return nil }

// TestKeptOnce checks that equal bytes of one target are kept once, however often they are
// displaced, and that different bytes are kept too.
func TestKeptOnce(t *testing.T) { // FS-60
	fx := newFixture(t, "")
	var kept []string
	for range 5 {
		for _, text := range []string{extText, "", "another text"} {
			out := displace(t, fx, kernel{}, text, "newest", nothing)
			requireKept(t, out, text)
			require.True(t, strings.HasPrefix(filepath.Base(out.KeptFiles[0]), "target.txt.fettle-kept-"+sumOf([]byte(text))[:16]))
			kept = append(kept, out.KeptFiles...)
		}
	}
	require.Len(t, fx.names(), 4)
	require.Subset(t, kept[:3], kept)
}

// TestKeptNameTaken checks that an existing file counts only if it has the bytes and is not being
// written to.
func TestKeptNameTaken(t *testing.T) { // FS-60
	for name, take := range map[string]func(t *testing.T, path string){
		"edited": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("edited since"), 0o644))
		},
		"of equal length": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("#", len(extText))), 0o644))
		},
		"open for writing": func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
		},
		"a directory": func(t *testing.T, path string) {
			require.NoError(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o755)))
		},
		"a link": func(t *testing.T, path string) {
			require.NoError(t, errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, "")
			first := displace(t, fx, kernel{}, extText, "newest", nothing)
			take(t, first.KeptFiles[0])
			before, err := os.Lstat(first.KeptFiles[0])
			require.NoError(t, err)
			second := displace(t, fx, kernel{}, extText, "newest", nothing)
			require.Equal(t, []string{first.KeptFiles[0] + "-2"}, second.KeptFiles)
			requireKept(t, second, extText)
			after, err := os.Lstat(first.KeptFiles[0])
			require.NoError(t, err)
			require.Equal(t, before.ModTime(), after.ModTime())
			third := displace(t, fx, kernel{}, extText, "newest", nothing)
			require.Equal(t, second.KeptFiles, third.KeptFiles)
		})
	}
	t.Run("too often", func(t *testing.T) {
		fx := newFixture(t, "")
		first := displace(t, fx, kernel{}, extText, "newest", nothing)
		for _, suffix := range []string{"", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"} {
			require.NoError(t, os.WriteFile(first.KeptFiles[0]+suffix, nil, 0o644))
		}
		requireKept(t, displace(t, fx, kernel{}, extText, "newest", nothing), extText)
	})
}

// TestKeptTwinChanges checks that changes while a duplicate is dropped lose nothing.
func TestKeptTwinChanges(t *testing.T) { // FS-59, FS-60
	for name, act := range map[string]func(kept string) error{
		"removed": os.Remove,
		"replaced": func(kept string) error {
			return errors.Join(os.WriteFile(kept+".tmp", nil, 0o644), os.Rename(kept+".tmp", kept))
		},
	} {
		t.Run("the kept file is "+name, func(t *testing.T) {
			fx := newFixture(t, "")
			first := displace(t, fx, kernel{}, extText, "newest", nothing)
			second := displace(t, fx, kernel{}, extText, "newest", at(StepDuplicateDropped, func() error { return act(first.KeptFiles[0]) }))
			requireKept(t, second, extText)
		})
	}
	t.Run("the dropped file is written to", func(t *testing.T) {
		fx := newFixture(t, "")
		displace(t, fx, kernel{}, extText, "newest", nothing)
		var late *os.File
		defer func() { late.Close() }()
		out := displace(t, fx, noLeases{kernel{}}, extText, "newest", func(s Step) (err error) {
			switch s {
			case StepUndone: // the first save is at the path again, for a moment
				late, err = os.OpenFile(fx.file, os.O_RDWR, 0)
				return err
			case StepDuplicateDropped:
				_, err = late.WriteString("late")
			}
			return err
		})
		require.Len(t, out.KeptFiles, 2)
		var texts []string
		for _, path := range out.KeptFiles {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			texts = append(texts, string(data))
		}
		require.ElementsMatch(t, []string{extText, "late" + extText[4:]}, texts)
	})
}

// TestLateBytesKeptOnce checks that bytes that arrive after the old name was removed are not copied
// if they are kept already.
func TestLateBytesKeptOnce(t *testing.T) { // FS-59
	fx := newFixture(t, oldText)
	for range 3 {
		require.NoError(t, os.WriteFile(fx.file, []byte(oldText), 0o644))
		out, err := newOn(&lateOpener{kernel{}, t, 4, extText}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		requireKept(t, out, extText)
	}
	require.Len(t, fx.names(), 2)
}

// TestLeftoversKeptOnce checks that one of several leftovers with the same bytes stays, and none
// next to a kept file with these bytes.
func TestLeftoversKeptOnce(t *testing.T) { // FS-60, FS-65
	leave := func(t *testing.T, fx *fixture) {
		t.Helper()
		for _, random := range []string{"0", "1", "2"} {
			name := tempPrefix + strings.Repeat("a", 16) + "-" + strings.Repeat("b", 16) + "-" + strings.Repeat(random, 16)
			require.NoError(t, os.WriteFile(filepath.Join(fx.path, name), []byte(extText), 0o600))
		}
	}
	t.Run("alone", func(t *testing.T) {
		fx := newFixture(t, oldText)
		leave(t, fx)
		c, clock := timed(kernel{})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		requireKept(t, out, extText)
		require.Len(t, fx.names(), 2)
		leave(t, fx)
		clock.add(1e9)
		out, err = c.Commit(t.Context(), fx.request(newText, oldText))
		require.NoError(t, err)
		require.Len(t, fx.names(), 2)
		require.LessOrEqual(t, len(out.KeptFiles), 1)
	})
	t.Run("beside a kept file", func(t *testing.T) {
		fx := newFixture(t, "")
		kept := displace(t, fx, kernel{}, extText, oldText, nothing).KeptFiles
		leave(t, fx)
		out, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, kept, out.KeptFiles)
		require.Len(t, fx.names(), 2)
	})
}
