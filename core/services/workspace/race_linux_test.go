package workspace

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

const inside, secret = "inside", "from outside"

// swapping exchanges, until the test ends, ws/d, a directory with a file of the workspace, and
// ws/link, a link to an outside directory with a file of the same name.
func swapping(t *testing.T) (top string) {
	top = tree(t, "ws/d/file "+inside, "outside/file "+secret, "ws/link ->$/outside", "ws/into ->$/ws/d")
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				err := unix.Renameat2(unix.AT_FDCWD, top+"/ws/d", unix.AT_FDCWD, top+"/ws/link", unix.RENAME_EXCHANGE)
				if err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	return top
}

// watch calls read, which returns content or a refusal, until both have occurred enough times, or
// content from outside was returned, which it reports.
func watch(t *testing.T, enough int, read func() (string, error)) (leaked bool) {
	t.Helper()
	opened, refused := 0, 0
	for end := time.Now().Add(20 * time.Second); opened < enough || refused < enough; {
		if time.Now().After(end) {
			t.Fatalf("after 20 s only %d opened, %d refused", opened, refused)
		}
		content, err := read()
		switch {
		case err == nil && content == inside:
			opened++
		case err == nil:
			t.Logf("leaked after %d opened, %d refused", opened, refused)
			return true
		default:
			refused++
		}
	}
	t.Logf("%d opened, %d refused", opened, refused)
	return false
}

func rounds() int {
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		return 20_000
	case testing.Short():
		return 50
	}
	return 60
}

// KH-24: if a link replaces a directory between check and use, the use is refused.
func TestSwappedDirectory(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := swapping(t)
		w := start(top + "/ws")
		for _, path := range []string{"d/file", "link/file", "into/file"} {
			p := resolve(t, w, path)
			for name, look := range map[string]func() (string, error){
				"open": func() (string, error) { return readAll(w.OpenRead(p)) },
				"stat": func() (string, error) {
					info, err := w.Stat(p)
					return map[bool]string{true: inside, false: secret}[info.Size == int64(len(inside))], err
				},
				"locate": func() (string, error) {
					l, err := w.Locate(p)
					if err != nil {
						return "", err
					}
					defer l.Close()
					content, err := readAll(openAt(l))
					if errors.Is(err, errMoved) {
						return "", fault.Wrap(fault.ReadContentFailure, "test", "A link took the name.", "", err)
					}
					return content, err
				},
				"read dir": func() (string, error) {
					entries, err := w.ReadDir(t.Context(), resolve(t, w, filepath.Dir(path)))
					if err != nil {
						return "", err
					}
					return map[bool]string{true: inside, false: secret}[entries[0].Info.Size == int64(len(inside))], nil
				},
			} {
				t.Run(name+" "+path, func(t *testing.T) {
					leaked := watch(t, rounds(), func() (string, error) {
						content, err := look()
						if code := fault.CodeOf(err); err != nil && code != fault.PathNotInWorkspace && code != fault.ReadContentFailure {
							t.Fatal(err)
						}
						return content, err
					})
					require.False(t, leaked, "content from outside")
				})
			}
		}
		for range rounds() {
			undo, err := w.MakeParents(resolve(t, w, "d/made/deep/file"))
			if err == nil {
				undo()
			}
		}
		entries, err := os.ReadDir(top + "/outside")
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
}

// The test above would detect an implementation that checks a name and then opens it.
func TestSwappedDirectoryCatchesCheckThenUse(t *testing.T) {
	top := swapping(t)
	leaked := watch(t, math.MaxInt, func() (string, error) {
		resolved, err := filepath.EvalSymlinks(top + "/ws/d/file")
		if err != nil || !strings.HasPrefix(resolved, top+"/ws/") {
			return "", fs.ErrPermission
		}
		data, err := os.ReadFile(top + "/ws/d/file")
		return string(data), err
	})
	require.True(t, leaked, "the race never happened")
}
