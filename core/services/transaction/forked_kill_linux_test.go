package transaction_test

import (
	"bufio"
	"fmt"
	"maps"
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
)

// forkedVariable makes TestForkedChild change a fork: the seed, the step at which it kills itself (0: none),
// and the directories of the fork.
const forkedVariable = "TRANSACTION_TEST_FORKED"

// TestForkedChild is the process that TestKilledFork kills, not a test of its own.
func TestForkedChild(t *testing.T) {
	work := strings.Split(os.Getenv(forkedVariable), ":")
	if len(work) == 1 {
		t.Skip("run by TestKilledFork")
	}
	seed, _ := strconv.ParseUint(work[0], 10, 64)
	kill, _ := strconv.Atoi(work[1])
	f := &forked{dir: work[2], upper: work[3], recovery: work[4], touched: make(map[string]string)}
	steps := 0
	require.NoError(t, f.open(func(string) error {
		if steps++; steps == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // until it is killed
		}
		return nil
	}))
	fmt.Println("ready")
	r := rand.New(rand.NewPCG(seed, 2))
	plain := newPlain(t, buildModel)
	for n := range killedChanges {
		_, do := killable(t, r, plain)
		_ = do(f) // as in the plain project, see TestForkIsLikeAPlainDirectory
		fmt.Println("done", n+1)
		_ = do(plain)
	}
}

const killedChanges = 80

// killable is change without those of several files.
func killable(t testing.TB, r *rand.Rand, plain *forked) (string, func(*forked) error) {
	for {
		what, do := change(t, r, plain, func() string { return modelNames[r.IntN(len(modelNames))] })
		if !strings.HasPrefix(what, "clear") {
			return what, do
		}
	}
}

// FK-01, TX-05: a kill at any moment of a change in a fork leaves the files as before or after it. A removed
// file of the project never shows.
func TestKilledFork(t *testing.T) {
	rounds := 40
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 3000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	kills, before, after := 0, 0, 0
	for range rounds {
		f := newForked(t, buildModel)
		below := tree(t, f.dir)
		require.NoError(t, f.files.Close())
		child, step := r.Uint64(), 0
		if r.IntN(2) == 0 {
			step = 1 + r.IntN(500)
		}
		done, killed := f.runChild(t, child, step, time.Duration(r.IntN(15000))*time.Microsecond)
		if killed {
			kills++
		}
		plain := newPlain(t, buildModel)
		changes := rand.New(rand.NewPCG(child, 2))
		var log []string
		for range done {
			what, do := killable(t, changes, plain)
			log = append(log, what)
			_ = do(plain) // compared below
		}
		was := tree(t, plain.dir)
		what, do := killable(t, changes, plain)
		_ = do(plain) // compared below
		is := tree(t, plain.dir)
		log = append(log, what)

		require.NoError(t, f.open(nil))
		left, err := f.sets.Recover(t.Context())
		require.NoError(t, err)
		for _, l := range left {
			require.NotEqual(t, commit.LeftoverUnresolved, l.State, "%v: %+v", log, l)
			require.Empty(t, l.KeptFiles, "%v", log)
		}
		got := f.shown(t)
		maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(filepath.Base(name), ".fettle-") })
		switch {
		case sameFiles(got, was):
			before++
		case sameFiles(got, is):
			after++
		default:
			require.Equal(t, was, got, "%v", log)
		}
		for name := range got {
			parents := strings.HasPrefix(what, "create") || strings.HasPrefix(what, "move") // made for a file, or for the target of a link
			require.True(t, was[name] != "" || is[name] != "" || parents, "%s: %v", name, log)
		}
		require.Equal(t, below, tree(t, f.dir))
		if shown := f.mount(t); shown != "" {
			mounted := tree(t, shown)
			maps.DeleteFunc(mounted, func(name, _ string) bool { return strings.HasPrefix(filepath.Base(name), ".fettle-") })
			require.Equal(t, got, mounted, "%v", log)
			require.NoError(t, syscall.Unmount(shown, 0))
		}
		require.NoError(t, f.files.Close())
		require.NoError(t, plain.files.Close())
	}
	t.Logf("%d killed, %d with the files before the change, %d with those after it", kills, before, after)
	require.Greater(t, kills, rounds/4)
}

// sameFiles compares all but directories, of which a killed process can leave empty ones.
func sameFiles(a, b map[string]string) bool {
	files := func(all map[string]string) map[string]string {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(_, what string) bool { return strings.HasPrefix(what, "dir") })
		return all
	}
	return maps.Equal(files(a), files(b))
}

// runChild changes the fork in a process that is killed, and returns the number of complete changes.
func (f *forked) runChild(t testing.TB, seed uint64, step int, after time.Duration) (done int, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestForkedChild$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%d:%s:%s:%s", forkedVariable, seed, step, f.dir, f.upper, f.recovery))
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if lines.Text() == "ready" && step == 0 {
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		if n, ok := strings.CutPrefix(lines.Text(), "done "); ok {
			done, err = strconv.Atoi(n)
			require.NoError(t, err)
		}
	}
	err = cmd.Wait()
	if err != nil {
		require.Equal(t, "signal: killed", err.Error())
	}
	return done, err != nil
}
