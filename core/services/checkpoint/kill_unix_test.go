//go:build unix

package checkpoint_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// childVariable makes the test binary a process that is killed: "take" or "restore", the project
// and the store, separated by colons.
const childVariable = "CHECKPOINT_TEST_CHILD"

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

// killFiles is the number of files that a command changes in a kill test.
const killFiles = 12

func contentOf(version string, i int) string {
	return strings.Repeat(fmt.Sprintf("%s %d\n", version, i), 50)
}

// child records checkpoints of a command's changes repeatedly, or makes one restore.
func child(work []string) error {
	files, err := workspace.Open(work[1])
	if err != nil {
		return err
	}
	finder := discovery.New(files)
	store := checkpoint.New(checkpoint.Options{Dir: work[2]})
	r := store.Record(checkpoint.RecorderOptions{Session: "one", Files: files, Finder: func() *discovery.Finder { return finder }})
	ctx := context.Background()
	fmt.Println("ready")
	if work[0] == "restore" {
		plan, err := store.Plan(ctx, files, what("1"))
		if err != nil {
			return err
		}
		_, err = r.Restore(ctx, commit.New(commit.Options{}), plan)
		return err
	}
	taken, err := r.Begin(ctx, checkpoint.Call{Tool: "run_shell_command"})
	if err != nil {
		return err
	}
	for i := range killFiles {
		name := fmt.Sprintf("%s/%d", work[1], i)
		switch i % 3 {
		case 0:
			err = os.WriteFile(name, []byte(contentOf("new", i)), 0o644)
		case 1:
			err = os.Remove(name)
		case 2:
			err = os.WriteFile(name+".made", []byte("made"), 0o644)
		}
		if err != nil {
			return err
		}
	}
	taken.End(ctx)
	return nil
}

// killed runs a child and kills it after some time, unless it has ended. It returns how long it
// lived.
func killed(t *testing.T, after time.Duration, work ...string) time.Duration {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(work, ":"))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "ready", lines.Text())
	begun := time.Now()
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "failed")
	}
	timer.Stop()
	_ = cmd.Wait() // it was killed, or is done
	require.Empty(t, complaints.String())
	return time.Since(begun)
}

// anyTime returns a random time up to a bit more than takes; the whole of it the first time.
func anyTime(takes time.Duration, n int) time.Duration {
	if n == 0 {
		return takes
	}
	return time.Duration(rand.Int64N(int64(takes) * 5 / 4))
}

// CM-15: a process that is killed while it records a checkpoint, while the command runs, or while
// it restores, loses nothing: another process restores everything.
func TestKilled(t *testing.T) {
	kills := 20
	if raceDetector { // which makes each process slow, and finds only races within one process
		kills = 10
	}
	if os.Getenv("FETTLE_FULL") != "" {
		kills = 500
	}
	var taken, half int
	takes, restores := time.Hour, time.Hour // as long as it takes, the first time
	for n := range kills + 1 {
		p := newProject(t, checkpoint.Options{})
		for i := range killFiles {
			p.write(fmt.Sprint(i), contentOf("old", i))
		}
		before := p.tree()
		lived := killed(t, anyTime(takes, n), "take", p.dir, p.store.Dir())
		if n == 0 {
			takes = lived
		}
		require.NoError(t, p.r.Settle(t.Context()))
		h, err := p.store.History(t.Context(), "one")
		if err != nil { // it did not get to the command
			require.Equal(t, before, p.tree())
			require.NoError(t, p.r.Close())
			continue
		}
		require.Empty(t, h.Problems)
		taken++
		require.NoError(t, p.r.Close()) // so that the child has the session
		lived = killed(t, anyTime(restores, n), "restore", p.dir, p.store.Dir())
		if n == 0 {
			restores = lived
		}
		p.r = p.session("one")
		require.NoError(t, p.r.Settle(t.Context()))
		plan := p.plan(what("1"))
		require.NoError(t, plan.Err())
		if len(plan.Steps) > 0 && len(plan.Done) > 0 {
			half++
		}
		_, err = p.r.Restore(t.Context(), committer(), plan)
		require.NoError(t, err)
		after := p.tree()
		for name := range after {
			if strings.HasPrefix(name, ".fettle-") { // leftovers of the killed restore are removed by the next write there
				delete(after, name)
			}
		}
		require.Equal(t, before, after)
		require.NoError(t, p.r.Close())
	}
	require.Positive(t, taken)
	t.Logf("%d of %d got to the command; %d restores were half done", taken, kills, half)
}
