package transaction_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transaction"
)

// FK-04, FK-08: nothing leads out of a fork, neither through links of the project nor through those of the fork.
func TestForkEscapes(t *testing.T) {
	attempts := 500
	if os.Getenv("FETTLE_FULL") != "" {
		attempts = 20_000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	var links []string
	var targets []string
	f := newForked(t, func(dir string) {
		top := filepath.Dir(dir)
		outside := filepath.Join(top, "outside")
		must := func(err error) { require.NoError(t, err) }
		buildModel(dir)
		must(os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755))
		must(os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("config\n"), 0o644))
		must(os.MkdirAll(filepath.Join(outside, "d"), 0o755))
		must(os.WriteFile(filepath.Join(outside, "secret"), []byte("outside\n"), 0o644))
		must(os.Link(filepath.Join(outside, "secret"), filepath.Join(dir, "hard")))
		must(os.Link(filepath.Join(dir, "a"), filepath.Join(outside, "hard")))
		below, err := os.Open(dir)
		must(err)
		t.Cleanup(func() { below.Close() })
		t.Chdir(dir)
		targets = []string{
			outside, outside + "/secret", outside + "/new", outside + "/d", "../outside/secret", "../outside", "..", "../..", "/", top,
			dir, dir + "/a", dir + "/new", dir + "/d", filepath.Join(top, "state", "upper"), filepath.Join(top, "state", "upper", "a"),
			"/proc/self/root" + dir, "/proc/self/root" + dir + "/a", "/proc/self/root" + outside + "/secret", "/proc/self/root",
			"/proc/self/cwd", "/proc/self/cwd/a", "/proc/self/cwd/../outside/secret", "/proc/thread-self/cwd/a",
			fmt.Sprintf("/proc/self/fd/%d", below.Fd()), fmt.Sprintf("/proc/self/fd/%d/a", below.Fd()), fmt.Sprintf("/dev/fd/%d/a", below.Fd()),
			".git", ".git/config", ".git/hooks/new", "d/../.git/config", "d/../../project/a", "d/../../outside/secret", "to-d/../../outside/secret",
		}
		for i, target := range targets {
			name := fmt.Sprintf("below%d", i)
			must(os.Symlink(target, filepath.Join(dir, name)))
			links = append(links, name)
		}
	})
	for i, target := range targets {
		name := fmt.Sprintf("above%d", i)
		require.NoError(t, f.files.MakeLink(f.path(name), target, false))
		links = append(links, name)
	}
	top := filepath.Dir(f.dir)
	before, outside := tree(t, f.dir), tree(t, filepath.Join(top, "outside"))
	names := append(append([]string{"hard", "a", "d/a", ".git", ".git/config", ".git/hooks/x", ".git/hooks", "d/.git/config", ".GIT/config"}, links...), targets[:12]...)
	suffixes := []string{"", "", "/a", "/new", "/secret", "/project/a", "/project/.git/config", "/..", "/../outside/secret", "/d/new", "/outside/secret", "/.git/config"}
	done := 0
	for range attempts {
		name := names[r.IntN(len(names))] + suffixes[r.IntN(len(suffixes))]
		p, err := f.files.Resolve(name)
		if err != nil {
			require.Equal(t, fault.PathNotInWorkspace, fault.As(err).Code)
			continue
		}
		rel, ctx := p.Rel(), t.Context()
		text := ""
		if file, err := f.files.OpenRead(p); err == nil {
			data, _ := os.ReadFile(file.Name())
			text = string(data)
			var buf [1 << 12]byte
			n, _ := file.ReadAt(buf[:], 0)
			text = string(buf[:n])
			require.NoError(t, file.Close())
		}
		set := func(kind transaction.Kind) error {
			_, err := f.sets.Commit(ctx, []transaction.Operation{{Kind: kind, Path: p, To: f.path("moved"), Base: sum(text), Data: []byte("written\n")}})
			return err
		}
		var what string
		switch r.IntN(10) {
		case 0:
			what, err = "create", f.put(ctx, rel, "", "written\n")
		case 1:
			what, err = "write", f.put(ctx, rel, sum(text), text+"written\n")
		case 2:
			what, err = "remove", f.remove(ctx, rel, sum(text))
		case 3:
			what, err = "delete", set(transaction.Delete)
		case 4:
			what, err = "move", set(transaction.Move)
		case 5:
			what, err = "chmod", f.files.Chmod(p, 0o777)
		case 6:
			what, err = "mkdir", f.files.MakeDir(p, 0o755)
		case 7:
			what, err = "link", f.files.MakeLink(p, "/etc/passwd", false)
		case 8:
			var undo func()
			if undo, err = f.files.MakeParents(p); err == nil {
				undo()
			}
			what = "parents"
		case 9:
			if info, looking := f.files.Lstat(p); looking == nil && !info.Mode.IsDir() && filepath.Dir(rel) == "." {
				continue // a link of the test
			}
			what, err = "drop", f.files.RemoveEntry(p)
		}
		require.Equal(t, before, tree(t, f.dir), "%s %s: %v", what, name, err)
		require.Equal(t, outside, tree(t, filepath.Join(top, "outside")), "%s %s: %v", what, name, err)
		require.ElementsMatch(t, []string{"project", "state", "outside", "recovery"}, entriesOf(t, top, "recovery"))
		require.ElementsMatch(t, []string{"upper", "work"}, entriesOf(t, filepath.Join(top, "state")))
		if err == nil {
			done++
		}
		if e := fault.As(err); e != nil && errors.Is(err, os.ErrPermission) {
			require.Equal(t, fault.PermissionDenied, e.Code)
		}
	}
	require.NoDirExists(t, filepath.Join(f.upper, ".git"))
	require.NoFileExists(t, filepath.Join(f.upper, "d", ".git"))
	t.Logf("%d attempts, %d of them changed the fork", attempts, done)
	require.Greater(t, done, attempts/50)
}

// entriesOf returns the names in a directory, with others that need not exist.
func entriesOf(t testing.TB, dir string, others ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := others
	for _, e := range entries {
		if len(others) == 0 || e.Name() != others[0] {
			names = append(names, e.Name())
		}
	}
	return names
}
