package stress

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loop "github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
)

// AR-04, KH-13: an agent is killed during its work repeatedly and resumed each time:
// every acknowledged turn is present, the history is valid, versions continue above
// the highest assigned one, and the next prompt works.
func TestAgentKilledAnywhere(t *testing.T) {
	kills := number(10, 200)
	dir, home := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "target"), []byte("text\n"), 0o644))
	begun, err := newTalker(t.Context(), dir, home, "talk", false)
	require.NoError(t, err)
	require.NoError(t, begun.say(t.Context(), "Hello", func(loop.Event) {}))
	require.NoError(t, begun.close())

	during := 0
	for range kills {
		turns, version, midway := killTalk(t, dir, home)
		if midway {
			during++
		}
		c, err := newTalker(t.Context(), dir, home, "talk", true)
		require.NoError(t, err)
		history := c.client.History()
		require.GreaterOrEqual(t, len(history), turns, "an acknowledged turn is lost")
		require.NoError(t, loop.ValidHistory(history))
		state, err := c.config.SessionStateService()
		require.NoError(t, err)
		highest := state.Current()
		require.GreaterOrEqual(t, highest, version, "an acknowledged version would be assigned again")
		for i, turn := range history {
			for _, r := range turn.Responses() {
				var v int64
				if at := strings.Index(string(r.Response), `\"version\":`); at >= 0 {
					_, _ = fmt.Sscanf(string(r.Response)[at:], `\"version\":%d`, &v)
				} else if at := strings.Index(string(r.Response), `"version":`); at >= 0 {
					_, _ = fmt.Sscanf(string(r.Response)[at:], `"version":%d`, &v)
				}
				require.LessOrEqual(t, v, highest, "turn %d", i)
			}
		}
		text := ""
		require.NoError(t, c.say(t.Context(), "Go on.", func(e loop.Event) { text += e.Text }))
		require.Contains(t, strings.ReplaceAll(text, `\"`, `"`), fmt.Sprintf(`"version":%d,`, highest+1))
		require.NoError(t, c.close())
	}
	sessions := listed(t, dir, home)
	require.Len(t, sessions, 1)
	t.Logf("%d kills, %d of them in the middle of a prompt; the session has %d turns", kills, during, sessions[0])
}

// killTalk kills a process that resumes the conversation at a random moment, and
// returns the acknowledged turns and version, and whether a prompt was running.
func killTalk(t *testing.T, dir, home string) (turns int, version int64, midway bool) {
	t.Helper()
	p := start(t, "talk forever", dir, home, "resume")
	note := func(line string) {
		var n int
		if _, err := fmt.Sscanf(line, "begin %d\n", &n); err == nil {
			midway = true
		}
		_, _ = fmt.Sscanf(line, "turns %d\n", &turns)
		if _, err := fmt.Sscanf(line, "version %d\n", &version); err == nil {
			midway = false
		}
	}
	for range 1 + rand.IntN(8) {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err)
		note(line)
	}
	for at, d := time.Now(), rand.N(8*time.Millisecond); time.Since(at) < d; { // a random moment
		runtime.Gosched()
	}
	require.NoError(t, p.cmd.Process.Kill())
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	_ = p.cmd.Wait() // "signal: killed"
	_ = p.stdin.Close()
	for line := range strings.Lines(string(rest)) {
		if strings.HasSuffix(line, "\n") { // otherwise it was cut
			note(line)
		}
	}
	return turns, version, midway
}

// listed returns the number of turns of each recorded session.
func listed(t *testing.T, dir, home string) (turns []int) {
	t.Helper()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(context.WithoutCancel(t.Context())))
	defer func() { require.NoError(t, c.Close()) }()
	sessions, err := config.NewTranscripts(c, nil)
	require.NoError(t, err)
	list, problems, err := sessions.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems, "a torn line is repaired")
	for _, s := range list {
		turns = append(turns, s.Turns)
	}
	return turns
}

// A session of 200 turns holds its history and little more: between turns 50 and 200
// its memory grows as its history does. After closing it the number of goroutines and
// descriptors is as before.
func TestLongSession(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "target"), []byte(strings.Repeat("a line of text\n", 200)), 0o644))
	warm, err := newTalker(t.Context(), dir, home, "warm", false) // one-time allocations of the process
	require.NoError(t, err)
	require.NoError(t, warm.say(t.Context(), "Hello", func(loop.Event) {}))
	require.NoError(t, warm.close())
	goroutines, descriptors := runtime.NumGoroutine(), open(t)

	c, err := newTalker(t.Context(), dir, home, "long", false)
	require.NoError(t, err)
	heap, size := map[int]int64{}, map[int]int64{}
	for n := 1; n <= 200; n++ {
		require.NoError(t, c.say(t.Context(), fmt.Sprintf("prompt %d", n), func(loop.Event) {}))
		if n == 50 || n == 200 {
			heap[n], size[n] = live(), sizeOf(c)
		}
	}
	require.Len(t, c.client.History(), 800)
	heapGrowth, historyGrowth := heap[200]-heap[50], size[200]-size[50]
	t.Logf("heap %d kB at 50 prompts, %d kB at 200; history %d kB and %d kB: %.2f bytes for each byte of history",
		heap[50]>>10, heap[200]>>10, size[50]>>10, size[200]>>10, float64(heapGrowth)/float64(historyGrowth))
	require.Less(t, heapGrowth, 2*historyGrowth+(1<<20), "memory grows beyond the history")
	require.NoError(t, c.close())

	for at := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(at) < 30*time.Second; {
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.LessOrEqual(t, open(t), descriptors)
}

// live returns the memory in use after garbage collection.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sizeOf returns the size of the texts of a history in bytes.
func sizeOf(t *talker) (n int64) {
	for _, turn := range t.client.History() {
		for _, p := range turn.Parts {
			n += int64(len(p.Text))
			if p.Call != nil {
				n += int64(len(p.Call.Args))
			}
			if p.Response != nil {
				n += int64(len(p.Response.Response))
			}
		}
	}
	return n
}

// open counts this process's descriptors.
func open(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(fds)
}
