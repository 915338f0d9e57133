//go:build unix

package transaction_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// childVariable makes the test binary a process that commits one set: the project, the recovery
// directory, the number of the step that fails (0: none), and the number or name of the one at which it kills
// itself.
const childVariable = "TRANSACTION_TEST_CHILD"

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
	fails, _ := strconv.Atoi(work[2])
	kill, _ := strconv.Atoi(work[3])
	calls := 0
	p, err := open(work[0], work[1], func(step string) error {
		calls++
		if calls == kill || step == work[3] {
			fmt.Println("at", step)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // until it is killed
		}
		if calls == fails {
			return syscall.ENOSPC
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	begun := time.Now()
	_, err = p.Commit(context.Background(), p.set())
	fmt.Println("done", err == nil, time.Since(begun))
	return nil
}

// run runs a child, which is killed after some time if that is positive. It returns its output and
// whether it was killed.
func run(t testing.TB, after time.Duration, work ...string) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(work, ":"))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		out += lines.Text() + "\n"
		if lines.Text() == "ready" && after > 0 {
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
	}
	err = cmd.Wait()
	require.Empty(t, complaints.String())
	require.NotContains(t, out, "failed")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.Equal(t, "signal: killed", err.Error())
		return out, true
	}
	require.NoError(t, err)
	return out, false
}

// recovered recovers the project after a kill, and returns whether it has the new files and what was
// reported.
func (p *project) recovered(t testing.TB, out string) (complete bool, left []commit.Leftover) {
	t.Helper()
	left, err := p.Recover(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, len(left), 1)
	for _, l := range left {
		require.NotEqual(t, commit.LeftoverUnresolved, l.State, "%+v", l)
		require.Empty(t, l.KeptFiles)
		require.NotContains(t, l.Detail, "Another program")
		require.Len(t, l.Set, 6)
	}
	tree := p.tree(t)
	_, isOld := tree["gone.txt"]
	want := after
	if isOld {
		want = before
	}
	require.Equal(t, want, tree, out)
	p.requireClean(t)
	again, err := p.Recover(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)
	return !isOld, left
}

// TestKilledAtEachStep kills a set, and the undo of a failed one, at each step.
func TestKilledAtEachStep(t *testing.T) { // TX-03, TX-05
	states := make(map[commit.LeftoverState]int)
	kills, olds, news := 0, 0, 0
	each := func(fails int, late bool) {
		for n := max(1, fails+1); ; n++ {
			p := newProject(t, nil)
			out, killed := run(t, 0, p.dir, p.recovery, strconv.Itoa(fails), strconv.Itoa(n))
			if !killed {
				require.NotZero(t, kills)
				return
			}
			kills++
			complete, left := p.recovered(t, out)
			for _, l := range left {
				states[l.State]++
			}
			if complete {
				news++
				require.False(t, late, "a failed set must be undone")
			} else {
				olds++
			}
		}
	}
	each(0, false)
	require.Positive(t, news)
	if os.Getenv("FETTLE_FULL") != "" {
		for fails := 2; fails < 40; fails += 3 {
			each(fails, false)
		}
	} else {
		each(33, false) // after some exchanges
	}
	t.Logf("%d kills: %d old, %d new, reported as %v", kills, olds, news, states)
	require.Positive(t, states[commit.LeftoverClean])
	require.Positive(t, states[commit.LeftoverUndone])
	require.Positive(t, states[commit.LeftoverFinished])
}

// TestKilledAnywhere kills sets at random moments.
func TestKilledAnywhere(t *testing.T) { // TX-03, TX-05
	kills := 30
	if testing.Short() {
		kills = 10
	}
	if os.Getenv("FETTLE_FULL") != "" {
		kills = 1000
	}
	p := newProject(t, nil)
	out, _ := run(t, 0, p.dir, p.recovery, "0", "0")
	_, took, _ := strings.Cut(strings.TrimSpace(out), "done true ")
	takes, err := time.ParseDuration(took)
	require.NoError(t, err, out)
	_, _ = p.recovered(t, out)
	during, olds, news := 0, 0, 0
	for range kills {
		p := newProject(t, nil)
		out, _ := run(t, 1+rand.N(takes), p.dir, p.recovery, "0", "0")
		complete, left := p.recovered(t, out)
		if strings.Contains(out, "done") {
			require.True(t, complete, "an acknowledged set is lost")
		}
		if len(left) > 0 {
			during++
		}
		if complete {
			news++
		} else {
			olds++
		}
	}
	t.Logf("%d kills, %d of them left a journal: %d old, %d new", kills, during, olds, news)
}

// Bytes that another program wrote after a kill stay at the path, and nothing is lost.
func TestSaveAfterKill(t *testing.T) { // TX-03
	kept := 0
	for n := 1; ; n++ {
		p := newProject(t, nil)
		out, killed := run(t, 0, p.dir, p.recovery, "0", strconv.Itoa(n))
		if !killed {
			break
		}
		p.write(t, "gone.txt", "theirs\n")
		temp := filepath.Join(p.dir, "saving")
		require.NoError(t, os.WriteFile(temp, []byte("theirs\n"), 0o600))
		require.NoError(t, os.Rename(temp, filepath.Join(p.dir, "d/b.txt")))
		left, err := p.Recover(t.Context())
		require.NoError(t, err)
		tree := p.tree(t)
		for _, l := range left {
			require.NotEqual(t, commit.LeftoverUnresolved, l.State, "%+v", l)
			for _, name := range l.KeptFiles {
				kept++
				name := strings.TrimPrefix(name, p.dir+"/")
				require.Contains(t, []string{"b 0\n", "gone\n", "theirs\n"}, tree[name])
				if name != "d/b.txt" && name != "gone.txt" {
					delete(tree, name)
				}
			}
		}
		want := after
		if tree["a.txt"] == "a 0\n" {
			want = before
		}
		require.Equal(t, with(want, map[string]string{"d/b.txt": "theirs\n", "gone.txt": "theirs\n"}), tree, out)
		p.requireClean(t)
	}
	require.Positive(t, kept)
}

// An unreadable journal, and a directory that is gone, stay unresolved; nothing is changed.
func TestUnresolved(t *testing.T) { // TX-03
	p := newProject(t, nil)
	out, killed := run(t, 0, p.dir, p.recovery, "0", "set exchanged")
	require.True(t, killed, out)
	require.NoError(t, os.Rename(filepath.Join(p.dir, "d"), filepath.Join(p.dir, "d2")))
	left, err := p.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, commit.LeftoverUnresolved, left[0].State)
	require.FileExists(t, left[0].Record)
	require.NoError(t, os.Rename(filepath.Join(p.dir, "d2"), filepath.Join(p.dir, "d")))
	p.recovered(t, out)

	broken := filepath.Join(p.recovery, "0123456789abcdef.set-exchanging")
	require.NoError(t, os.WriteFile(broken, []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.recovery, "1.set-part"), []byte("{"), 0o600))
	left, err = p.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, commit.LeftoverUnresolved, left[0].State)
	require.Equal(t, broken, left[0].Record)
	require.NoFileExists(t, filepath.Join(p.recovery, "1.set-part"))
}
