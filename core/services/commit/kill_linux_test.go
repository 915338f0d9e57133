package commit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// killWays are the methods of commits that are killed.
var killWays = map[string]struct {
	system system
	base   string
	links  bool
}{
	"exchange":     {kernel{}, oldText, false},
	"named":        {noUnnamed{kernel{}}, oldText, false},
	"link":         {methods[MethodLink], oldText, false},
	"rename":       {methods[MethodRename], oldText, false},
	"create":       {kernel{}, "", false},
	"create-named": {noUnnamed{kernel{}}, "", false},
	"in-place":     {kernel{}, oldText, true},
	"back":         {kernel{}, newText, false},
}

// commitUntilKilled makes one commit and kills its own process at a step. With a fifth argument
// another program saves just before the exchange.
func commitUntilKilled(args []string) error {
	directory, recovery, step := args[1], args[2], Step(args[3])
	way := killWays[args[4]]
	dir, err := os.Open(directory)
	if err != nil {
		return err
	}
	fx := &fixture{path: directory, dir: dir, file: filepath.Join(directory, "target.txt")}
	hook := func(s Step) error {
		if s == StepRechecked && len(args) > 5 {
			return saves["rename"](fx, extText)
		}
		if s == step {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			time.Sleep(time.Hour) // until it is killed; without cgo, select {} would be reported as a deadlock
		}
		return nil
	}
	_, err = newOn(way.system, Options{RecoveryDir: recovery, Hook: hook}).Commit(context.Background(), fx.request(way.base, newText))
	return err
}

// TestKilledAtStep kills a commit at each step. The target is complete, and the next run removes
// every leftover.
func TestKilledAtStep(t *testing.T) { // FS-58, FS-64
	steps := []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked, StepExchanged, StepVerified, StepSynced, StepUnlinked,
		StepRecoverySaved, StepInPlaceHalf, StepInPlaceWritten}
	for name, way := range killWays {
		t.Run(name, func(t *testing.T) {
			reached := 0
			for _, step := range steps {
				fx := newFixture(t, way.base)
				recovery := t.TempDir()
				if way.links {
					require.NoError(t, os.Link(fx.file, fx.file+"2"))
				}
				before := fx.names()
				if !runKilled(t, fx.path, recovery, string(step), name) {
					continue // not a step of this method
				}
				reached++
				c := New(Options{RecoveryDir: recovery})
				left, err := c.Recover(t.Context())
				require.NoError(t, err)
				for _, l := range left {
					require.NotEqual(t, LeftoverUnresolved, l.State, "%+v", l)
				}
				base := ""
				if state := fx.state(); state != "absent" || way.base != "" {
					require.Contains(t, []string{"file: " + oldText, "file: " + newText}, state, "killed at %s", step)
					base = fx.content()
				}
				if way.links {
					other, err := os.ReadFile(fx.file + "2")
					require.NoError(t, err)
					require.Equal(t, base, string(other))
				}
				out, err := c.Commit(t.Context(), fx.request(base, extText))
				require.NoError(t, err, "killed at %s", step)
				require.Empty(t, out.KeptFiles)
				if len(before) == 0 {
					before = []string{"target.txt"}
				}
				require.Equal(t, before, fx.names(), "killed at %s", step)
				entries, err := os.ReadDir(recovery)
				require.NoError(t, err)
				require.Empty(t, entries)
			}
			require.GreaterOrEqual(t, reached, 4)
		})
	}
}

// runKilled runs a commit that kills its own process; it reports whether it did.
func runKilled(t testing.TB, args ...string) bool {
	t.Helper()
	c := startRole(t, "killed at", args...)
	defer c.stdin.Close()
	err := c.cmd.Wait()
	if err == nil {
		return false
	}
	require.Equal(t, "signal: killed", err.Error())
	return true
}

// TestKilledOverSomebodysWork checks that the next run reports and keeps a file that a killed
// commit displaced without having verified it.
func TestKilledOverSomebodysWork(t *testing.T) { // FS-60
	fx := newFixture(t, oldText)
	require.True(t, runKilled(t, fx.path, t.TempDir(), string(StepExchanged), "exchange", "save"))
	require.Equal(t, newText, fx.content())
	for range 2 { // each run reports it
		c := New(Options{})
		out, err := c.Commit(t.Context(), fx.request(fx.content(), newText))
		require.NoError(t, err)
		requireKept(t, out, extText)
		out, err = c.Commit(t.Context(), fx.request(fx.content(), newText))
		require.NoError(t, err)
		require.Empty(t, out.KeptFiles, "once for each Committer")
	}
}

// version returns a file for the random kills: it is complete if its first line is the hash of the
// rest, which contains its number.
func version(n int) string {
	body := fmt.Sprintf("version %d\n", n) + strings.Repeat(fmt.Sprintf("line of version %d\n", n), 1000+n%7*500)
	return fmt.Sprintf("%x\n%s", sha256.Sum256([]byte(body)), body)
}

// numberOf returns the number of a complete version, -1 for any other content.
func numberOf(content string) int {
	sum, body, _ := strings.Cut(content, "\n")
	if sum != fmt.Sprintf("%x", sha256.Sum256([]byte(body))) {
		return -1
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(body, "version "), "\n")
	n, err := strconv.Atoi(word)
	if err != nil {
		return -1
	}
	return n
}

// commitForever changes the target from version to version, and prints a line before and after each
// commit.
func commitForever(args []string) error {
	directory, recovery := args[1], args[2]
	dir, err := os.Open(directory)
	if err != nil {
		return err
	}
	fx := &fixture{path: directory, dir: dir, file: filepath.Join(directory, "target.txt")}
	c := New(Options{RecoveryDir: recovery})
	for n := 1; ; n++ {
		fmt.Printf("begin %d\n", n)
		if _, err := c.Commit(context.Background(), fx.request(version(n-1), version(n))); err != nil {
			return err
		}
		fmt.Printf("done %d\n", n)
	}
}

// TestKilledAnywhere kills at random moments.
func TestKilledAnywhere(t *testing.T) { // FS-58, FS-64
	kills := number(50, 1000)
	leftovers, records, finished, during := 0, 0, 0, 0
	for i := range kills {
		fx := newFixture(t, version(0))
		recovery := t.TempDir()
		links := i%3 == 0
		if links {
			require.NoError(t, os.Link(fx.file, fx.file+"2"))
		}
		before := fx.names()
		c := startRole(t, "killed anywhere", fx.path, recovery)
		c.waitFor("begin 1")
		time.Sleep(rand.N(15 * time.Millisecond)) // the moment is random
		require.NoError(t, c.cmd.Process.Kill())
		begun, done := 1, 0
		for {
			line, err := c.out.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = fmt.Sscanf(line, "begin %d", &begun)
			_, _ = fmt.Sscanf(line, "done %d", &done)
		}
		_ = c.cmd.Wait()
		c.stdin.Close()
		if begun > done {
			during++
		}

		if !links {
			require.NotEqual(t, -1, numberOf(fx.content()), "torn before anything was recovered")
		}
		if len(fx.names()) > len(before) {
			leftovers++
		}
		next := New(Options{RecoveryDir: recovery})
		left, err := next.Recover(t.Context())
		require.NoError(t, err)
		records += len(left)
		for _, l := range left {
			require.NotEqual(t, LeftoverUnresolved, l.State, "%+v", l)
			if l.State == LeftoverFinished {
				finished++
			}
		}
		n := numberOf(fx.content())
		require.GreaterOrEqual(t, n, done, "an acknowledged version is lost")
		require.LessOrEqual(t, n, begun)
		out, err := next.Commit(t.Context(), fx.request(fx.content(), newText))
		require.NoError(t, err)
		require.Empty(t, out.KeptFiles)
		require.Equal(t, before, fx.names())
		entries, err := os.ReadDir(recovery)
		require.NoError(t, err)
		require.Empty(t, entries)
		if links {
			other, err := os.ReadFile(fx.file + "2")
			require.NoError(t, err)
			require.Equal(t, newText, string(other))
		}
	}
	t.Logf("%d kills, %d of them during a commit: %d left a temporary file, which the next run removed; %d left a recovery file, %d of these a file half rewritten, which it finished",
		kills, during, leftovers, records, finished)
}
