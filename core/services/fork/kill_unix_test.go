//go:build unix

package fork_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// childVariable makes the test binary a process that does something with a fork: the action, the project, the mode, and
// the number of the step at which it kills itself.
const childVariable = "FORK_TEST_CHILD"

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

func child(work []string) error {
	kill, _ := strconv.Atoi(work[3])
	calls := 0
	at := func() error {
		if calls++; calls == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // until it is killed
		}
		return nil
	}
	ctx := context.Background()
	dir, recovery := filepath.Join(work[1], "p"), filepath.Join(work[1], "recovery")
	s := fork.New(fork.Options{Dir: filepath.Join(work[1], "state"), Hook: func(fork.Step) error { return at() }})
	switch work[0] {
	case "create":
		_, err := s.Create(ctx, fork.Request{Name: "one", Dirs: []string{dir}, Mode: fork.Mode(work[2])})
		return err
	case "drop":
		return s.Drop(ctx, "one", true)
	case "command":
		return childCommand(ctx, s, work[1], at)
	}
	f, err := s.Open("one", "")
	if err != nil {
		return err
	}
	files, err := workspace.Open(dir)
	if err != nil {
		return err
	}
	_, err = f.Merge(ctx, fork.MergeOptions{
		Files: files, RecoveryDir: recovery, Committer: commit.New(commit.Options{RecoveryDir: recovery, Settle: -1, Hook: func(commit.Step) error { return at() }}),
		Hook: func(transaction.Step) error { return at() }, Markers: work[0] == "markers",
	})
	return err
}

// killed runs a child, and reports whether it was killed at the step.
func (p *project) killed(action string, step int) bool {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{action, filepath.Dir(p.dir), string(p.mode), strconv.Itoa(step)}, ":"))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	require.NoError(p.t, err, string(out))
	return false
}

// FK-07: a kill at any step of a creation or removal leaves a whole fork or none, and nothing else after the next list.
func TestKilledStore(t *testing.T) {
	modes(t, func(t *testing.T, mode fork.Mode) {
		files := map[string]string{"a": ten, "d/b": "x!b\n", "l": "-> a"}
		for step := 1; ; step++ {
			p := newProject(t, files)
			p.mode = mode
			killed := p.killed("create", step)
			list, err := p.store().List(t.Context())
			require.NoError(t, err)
			if len(list) == 0 {
				require.NoError(t, p.create("one").Close())
			}
			p.left(1)
			require.Equal(t, files, tree(t, p.dir))
			if !killed {
				require.Greater(t, step, 3)
				break
			}
		}
		for step := 1; ; step++ {
			p := newProject(t, files)
			p.mode = mode
			require.NoError(t, p.create("one").Close())
			killed := p.killed("drop", step)
			_, err := p.store().List(t.Context())
			require.NoError(t, err)
			p.left(0)
			require.Equal(t, files, tree(t, p.dir))
			if !killed {
				require.Equal(t, 3, step)
				break
			}
		}
	})
}

// left requires the number of directories in the store.
func (p *project) left(want int) {
	p.t.Helper()
	entries, err := os.ReadDir(p.state)
	require.NoError(p.t, err)
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		}
	}
	require.Len(p.t, dirs, want)
}

// FK-05: a merge that is killed at any step is completed by the next one; nothing is doubled or lost.
func TestKilledMerge(t *testing.T) {
	base := map[string]string{"a": ten, "b": ten, "gone": "g\n", "l": "-> a", "run": "r\n", "old": "-> a", "c": ten}
	theirs := map[string]string{"a": last(ten), "c": strings.Replace(ten, "1\n", "uno\n", 1)}
	ours := map[string]string{"a": first(ten), "b": first(ten), "gone": "gone", "l": "-> b", "run": "x!r\n", "new/n": "x!n\n", "old": "gone", "nl": "-> n", "c": first(ten)}
	want := map[string]string{"a": last(first(ten)), "b": first(ten), "l": "-> b", "run": "x!r\n", "new/n": "x!n\n", "nl": "-> n", "c": theirs["c"]}
	stride := 1
	if testing.Short() {
		stride = 5
	}
	for _, action := range []string{"merge", "markers"} {
		modes(t, func(t *testing.T, mode fork.Mode) {
			steps := 0
			for step := 1; ; step += stride {
				p := newProject(t, base)
				p.mode = mode
				f := p.create("one")
				p.change(f, ours)
				require.NoError(t, f.Close())
				p.write(theirs)
				killed := p.killed(action, step)
				f, err := p.store().Open("one", "")
				require.NoError(t, err)
				r, err := p.merge(f, func(o *fork.MergeOptions) { o.Markers = action == "markers" })
				require.NoError(t, err)
				got := tree(t, p.dir)
				if action == "markers" {
					require.Equal(t, 1, strings.Count(got["c"], "<<<<<<<"), got["c"])
					got["c"] = want["c"]
					require.Zero(t, r.Conflicts())
				} else {
					require.Equal(t, 1, r.Conflicts(), "%v", verdicts(r))
				}
				require.Equal(t, want, got, "step %d", step)
				r, err = f.Compare(t.Context(), nil)
				require.NoError(t, err)
				require.Zero(t, r.Clean())
				require.NoFileExists(t, filepath.Join(p.state, f.ID, "merge.json"))
				left, err := os.ReadDir(p.recovery)
				require.NoError(t, err)
				for _, e := range left {
					require.NotContains(t, e.Name(), "journal")
				}
				require.NoError(t, f.Close())
				if !killed {
					break
				}
				steps++
			}
			t.Log(steps, "kills")
			require.Greater(t, steps*stride, 30)
		})
	}
}
