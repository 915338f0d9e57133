package fork_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-05: an upper directory that the system's overlayfs has written is merged: the project gets the files that
// the mounted overlay shows, except for conflicts of type.
func TestMergeMountedOverlay(t *testing.T) {
	rounds := 40
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 1000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "g/a"}
	merged, conflicts, left := 0, 0, 0
	for range rounds {
		base := make(map[string]string)
		for _, name := range names {
			if r.IntN(4) > 0 {
				base[name] = fmt.Sprintf("%s %d\n", name, r.IntN(3))
			}
		}
		p := newProject(t, base)
		f := p.create("one")
		shown := t.TempDir()
		l := f.Layers()[0]
		options := fmt.Sprintf("userxattr,index=off,xino=off,lowerdir=%s,upperdir=%s,workdir=%s", l.Dir, l.Upper, l.Work)
		if err := syscall.Mount("overlay", shown, "overlay", 0, options); err != nil {
			t.Skip("overlays cannot be mounted:", err)
		}
		unmounted := false
		unmount := func() {
			if !unmounted {
				require.NoError(t, syscall.Unmount(shown, 0))
				unmounted = true
			}
		}
		t.Cleanup(unmount)
		var log []string
		for range 1 + r.IntN(8) {
			name, other := names[r.IntN(len(names))], names[r.IntN(len(names))]
			path := filepath.Join(shown, name)
			switch r.IntN(7) {
			case 0, 1:
				if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
					_ = os.WriteFile(path, fmt.Appendf(nil, "new %d\n", r.IntN(9)), 0o644)
				}
				log = append(log, "write "+name)
			case 2:
				_ = os.Remove(path)
				log = append(log, "remove "+name)
			case 3:
				if dir := filepath.Dir(path); dir != shown {
					_ = os.RemoveAll(dir)
					log = append(log, "remove all "+filepath.Dir(name))
				}
			case 4:
				if os.MkdirAll(filepath.Dir(filepath.Join(shown, other)), 0o755) == nil {
					_ = os.Rename(path, filepath.Join(shown, other))
				}
				log = append(log, "rename "+name+" "+other)
			case 5:
				_ = os.Chmod(path, 0o755)
				log = append(log, "chmod "+name)
			case 6:
				_ = os.Remove(path)
				_ = os.Symlink("no/where", path)
				log = append(log, "link "+name)
			}
		}
		want := tree(t, shown)
		unmount()
		for _, name := range names { // all records are right, because the project is unchanged
			p.touch(f, name)
		}
		report, err := p.merge(f, nil)
		require.NoError(t, err)
		got := tree(t, p.dir)
		about := strings.Join(log, ", ")
		refused := make(map[string]bool)
		for _, file := range report.Files {
			switch {
			case file.Merged:
				merged++
			case file.Verdict == fork.Conflict:
				require.Equal(t, fork.Type, file.Kind, "%s: %s", file.Path, about)
				require.Equal(t, base[file.Path], got[file.Path], about)
				refused[file.Path] = true
				conflicts++
			}
		}
		all := slices.Sorted(maps.Keys(base))
		all = append(all, slices.Sorted(maps.Keys(want))...)
		for _, name := range all {
			if !refused[name] {
				require.Equal(t, want[name], got[name], "%s: %s\n%v", name, about, verdicts(report))
			}
		}
		if len(refused) == 0 {
			left += len(tree(t, l.Upper))
		}
		again, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Zero(t, again.Clean(), about)
		require.NoError(t, f.Close())
	}
	t.Logf("%d merged, %d conflicts of type, %d files left in merged forks", merged, conflicts, left)
	require.Zero(t, left)
	require.Greater(t, merged, rounds)
}
