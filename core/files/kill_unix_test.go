//go:build unix

package files_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// childVariable makes the test binary a process that makes one change: the name of the change, the
// project, the directory of recovery, and the number of the step at which it kills itself.
const childVariable = "FILES_TEST_CHILD"

func TestMain(m *testing.M) {
	if work := os.Getenv(childVariable); work != "" {
		if err := child(strings.Split(work, ":")); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(memtemp.Of(m).Run())
}

// killed are the changes that are killed, for files with the content "old\n".
var killed = map[string]struct {
	change func(read func(string) files.File) []files.Change
	after  map[string]string // content of the changed files, "" for a removed one
}{
	"write": {
		func(read func(string) files.File) []files.Change {
			return []files.Change{files.Write(read("a"), []byte("new\n"))}
		},
		map[string]string{"a": "new\n"},
	},
	"create": {
		func(func(string) files.File) []files.Change {
			return []files.Change{files.Write(files.File{Name: "d/new"}, []byte("new\n"))}
		},
		map[string]string{"d/new": "new\n"},
	},
	"in place": {
		func(read func(string) files.File) []files.Change {
			return []files.Change{files.Edit(read("twin"), "old", "new")}
		},
		map[string]string{"twin": "new\n", "twin2": "new\n"},
	},
	"set": {
		func(read func(string) files.File) []files.Change {
			return []files.Change{
				files.Edit(read("a"), "old", "new"), files.Move(read("b"), "d/e/b"), files.Delete(read("c")), files.Write(files.File{Name: "f/new"}, []byte("new\n")),
			}
		},
		map[string]string{"a": "new\n", "b": "", "d/e/b": "old\n", "c": "", "f/new": "new\n"},
	},
}

func child(work []string) error {
	at, _ := strconv.Atoi(work[3])
	steps := 0
	dir, err := files.Open(work[1], files.WithHook(files.Options{Recovery: work[2], Versions: work[2] + "/../versions"}, func(string) error {
		if steps++; steps == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // until it is killed
		}
		return nil
	}))
	if err != nil {
		return err
	}
	_, err = dir.Apply(context.Background(), killed[work[0]].change(func(name string) files.File {
		f, readErr := dir.Read(context.Background(), name)
		err = errors.Join(err, readErr)
		return f
	})...)
	return errors.Join(err, dir.Close())
}

// FD-01: a process that is killed at any step leaves each file old or new; after Recover, a set is all
// old or all new, and after the next change nothing else is left.
func TestKilledAtEachStep(t *testing.T) {
	for name, c := range killed {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"a": "old\n", "b": "old\n", "c": "old\n", "twin": "old\n", "twin2": "old\n"}
			after := maps.Clone(before)
			for file, text := range c.after {
				if after[file] = text; text == "" {
					delete(after, file)
				}
			}
			ends := map[bool]int{}
			for n := 1; ; n++ {
				o := files.Options{Recovery: filepath.Join(t.TempDir(), "recovery")}
				p := open(t, o, map[string]string{"a": "old\n", "b": "old\n", "c": "old\n", "twin": "old\n"})
				require.NoError(t, os.Link(filepath.Join(p.path, "twin"), filepath.Join(p.path, "twin2")))
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{name, p.path, o.Recovery, strconv.Itoa(n)}, ":"))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) {
					require.NoError(t, err, "%s", out)
					break
				}
				require.Equal(t, "signal: killed", err.Error(), "%s", out)
				_, err = p.Recover(t.Context())
				require.NoError(t, err)
				_, err = p.Write(t.Context(), files.File{Name: "z"}, nil) // removes files that the killed process left
				require.NoError(t, err)
				tree := p.tree()
				delete(tree, "z")
				isNew := tree[firstOf(c.after)] == c.after[firstOf(c.after)]
				want := before
				if isNew {
					want = after
				}
				for _, file := range []string{"d", "f"} { // leftovers in other directories
					if _, err := os.Stat(filepath.Join(p.path, file)); err == nil {
						_, err = p.Write(t.Context(), files.File{Name: file + "/z"}, nil)
						require.NoError(t, err)
						tree = p.tree()
						delete(tree, "z")
						delete(tree, "d/z")
						delete(tree, "f/z")
					}
				}
				require.Equal(t, want, tree, "killed at step %d", n)
				ends[isNew]++
			}
			require.Positive(t, ends[false])
			require.Positive(t, ends[true])
			t.Logf("killed at %d steps: %d times old, %d times new", ends[false]+ends[true], ends[false], ends[true])
		})
	}
}

// firstOf returns a changed file that exists after the change.
func firstOf(after map[string]string) string {
	for _, name := range []string{"a", "d/new", "twin"} {
		if after[name] != "" {
			return name
		}
	}
	panic("no file")
}

// FD-01: a failure at any step of a set leaves all old files, and no others.
func TestFailedAtEachStep(t *testing.T) {
	for n := 1; ; n++ {
		steps := 0
		o := files.WithHook(complete(t), func(step string) error {
			if steps++; steps == n && step != "set committed" {
				return syscall.ENOSPC
			}
			return nil
		})
		before := map[string]string{"a": "old\n", "b": "old\n", "c": "old\n"}
		p := open(t, o, before)
		_, err := p.Apply(t.Context(), killed["set"].change(p.read)...)
		if err == nil && steps < n {
			require.Greater(t, n, 10)
			return
		}
		if err != nil {
			e := requireFault(t, err, fault.NoSpaceLeft, "")
			require.ErrorIs(t, e, syscall.ENOSPC)
			require.Equal(t, before, p.tree(), "failed at step %d", n)
		}
	}
}
