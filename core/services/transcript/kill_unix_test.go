//go:build unix

package transcript_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/transcript"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

// roleVar names the directory of a store. A test process with it records until it is killed.
const roleVar = "FETTLE_TRANSCRIPT_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(roleVar)
	if dir == "" {
		os.Exit(memtemp.Of(m).Run())
	}
	if err := recordForEver(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recordForEver continues a session and writes to stdout the number of turns after each
// acknowledged one.
func recordForEver(dir string) error {
	s := transcript.New(transcript.Options{Dir: dir})
	w, session, err := s.Open(context.Background(), "killed")
	if err != nil {
		return err
	}
	for n := len(session.Turns); ; n++ {
		turn := transcript.Turn{Content: user(numbered(n)), Highest: int64(n)}
		if err := w.Append(context.Background(), turn); err != nil {
			return err
		}
		if _, err := fmt.Println(n + 1); err != nil {
			return err
		}
	}
}

// numbered is the text of turn n, up to 20 kB.
func numbered(n int) string {
	return fmt.Sprintf("%d:%s", n, strings.Repeat(strconv.Itoa(n%10), n*7919%20_000))
}

// After a kill at any moment, a recording loads with every acknowledged turn, and can be continued.
func TestKilled(t *testing.T) {
	kills := 20
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		kills = 300
	case testing.Short():
		kills = 15
	}
	s, dir := store(t)
	w := create(t, s, "killed")
	say(t, w, numbered(0))
	require.NoError(t, w.Close())
	acknowledged, torn := 1, 0
	for range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(4) {
			require.True(t, lines.Scan(), "it ended by itself")
		}
		for range rand.IntN(20_000) { // varies the moment within the next turn
			_ = cmd.Process.Pid
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		last := lines.Text()
		for lines.Scan() {
			last = lines.Text()
		}
		require.EqualError(t, cmd.Wait(), "signal: killed")
		acknowledged, err = strconv.Atoi(last)
		require.NoError(t, err)

		got := load(t, s, "killed")
		require.GreaterOrEqual(t, len(got.Turns), acknowledged)
		require.LessOrEqual(t, len(got.Turns), acknowledged+1, "only the one that was being recorded is more")
		for n, text := range texts(t, got.History()) {
			if text != numbered(n) {
				t.Fatalf("turn %d differs", n)
			}
		}
		require.GreaterOrEqual(t, got.Highest, int64(acknowledged-1))
		require.LessOrEqual(t, len(got.Problems), 1)
		torn += len(got.Problems)
		if len(got.Turns) > 20 { // start again, so that a round stays short
			w, _, err := s.Open(t.Context(), "killed")
			require.NoError(t, err)
			require.NoError(t, w.Replace(t.Context(), got.History()[:1], 0))
			require.NoError(t, w.Close())
		}
	}
	t.Logf("%d kills, of which %d left an incomplete line", kills, torn)
}
