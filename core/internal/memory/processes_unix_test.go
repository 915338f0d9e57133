//go:build unix

package memory_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/memory"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// variable is the environment variable with the role of a test process.
const variable = "FETTLE_TEST_MEMORY"

// again prepares a run of only the calling test, in that role.
func again(t *testing.T, part ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(part, "|"))
	return cmd
}

// TO-13: eight concurrent processes lose no fact.
func TestSaveFromProcesses(t *testing.T) {
	facts := 5
	if os.Getenv("FETTLE_FULL") != "" {
		facts = 50
	}
	if part := os.Getenv(variable); part != "" {
		home, worker, _ := strings.Cut(part, "|")
		fx := fixtureIn(t, home)
		for i := range facts {
			fx.save(fmt.Sprintf("fact %d of %s", i, worker))
		}
		return
	}
	const workers = 8
	fx := newFixture(t).write("# Mine\n\n# More\n")
	var running sync.WaitGroup
	for w := range workers {
		cmd := again(t, fx.home, strconv.Itoa(w))
		running.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", w, err, out)
			}
		})
	}
	running.Wait()
	requireFacts(t, fx.content(), workers, facts)
	require.Equal(t, []string{"FETTLE.md"}, fx.names())
}

// TO-13: a process killed at any step leaves the file complete, without or with the fact, and does
// not block the next one.
func TestKilled(t *testing.T) {
	if part := os.Getenv(variable); part != "" {
		home, step, _ := strings.Cut(part, "|")
		fx := fixtureIn(t, home, func(o *memory.Options) {
			o.Committer = commit.New(commit.Options{Hook: func(s commit.Step) error {
				if s == commit.Step(step) {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					time.Sleep(time.Hour) // until it is killed; without cgo, select {} would be reported as a deadlock
				}
				return nil
			}})
		})
		fx.save("one")
		return
	}
	const before = "# Mine\n"
	const after = before + "\n" + heading + "\n- one\n"
	killed := 0
	for _, step := range []commit.Step{
		commit.StepLocked, commit.StepChecked, commit.StepTempWritten, commit.StepTempLinked, commit.StepExchanged, commit.StepVerified, commit.StepUnlinked,
	} {
		fx := newFixture(t).write(before)
		if err := again(t, fx.home, string(step)).Run(); err == nil {
			continue // not a step on this platform
		}
		killed++
		require.Contains(t, []string{before, after}, fx.content(), step)
		fx.save("one")
		require.Equal(t, after, fx.content(), step)
		fx.save("two")
		require.Equal(t, after+"- two\n", fx.content(), step)
		require.Equal(t, []string{"FETTLE.md"}, fx.names(), step)
	}
	require.GreaterOrEqual(t, killed, 4)
}

// A pipe without a writer is refused without waiting.
func TestPipe(t *testing.T) {
	fx := newFixture(t)
	require.NoError(t, os.Mkdir(filepath.Dir(fx.path), 0o755))
	require.NoError(t, syscall.Mkfifo(fx.path, 0o644))
	fx.refuse("a pipe")
}
