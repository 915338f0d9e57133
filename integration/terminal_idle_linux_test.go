package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// longAnswers are prompts and answers of code and diffs, of 10,000 lines in all.
func longAnswers() (turns []map[string]string) {
	for i := range 10 {
		var b strings.Builder
		fmt.Fprintf(&b, "Change %d:\n\n```go\n", i)
		for j := range 490 {
			fmt.Fprintf(&b, "\tif err := check(%d, %q); err != nil { // step %d\n", j, "a text", i)
		}
		b.WriteString("```\n\n```diff\n--- a/f.go\n+++ b/f.go\n@@ -1,250 +1,250 @@\n")
		for j := range 250 {
			fmt.Fprintf(&b, "-\treturn old(%d, %d)\n+\treturn updated(%d, %d)\n", i, j, i, j)
		}
		fmt.Fprintf(&b, "```\n\nThat was change %d.", i)
		turns = append(turns, map[string]string{"text": b.String()})
	}
	return turns
}

// UI-04: a session with a transcript of 10,000 lines takes less than 1 % of a processor
// while it waits for input, and at most 60 MB of memory. It runs with FETTLE_FULL=1 and
// prints its figures.
func TestTerminalIdle(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("it measures for seconds; set FETTLE_FULL=1")
	}
	d := newTerminal(t)
	d.write("../.fettle/settings.json", "{}") // with animations, as by default
	program := filepath.Join(d.home, "program")
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", program, "../cli/fettle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	turns := longAnswers()
	script, err := json.Marshal(map[string]any{"turns": turns})
	require.NoError(t, err)
	d.write("../turns.json", string(script))

	p := d.run(program, "--model", "script:../turns.json")
	p.shows("type a prompt")
	for i := range turns {
		p.types(fmt.Sprintf("Prompt %d", i))
		p.press("Enter")
		p.shows(fmt.Sprintf("That was change %d.", i))
		p.shows("type a prompt")
	}
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())

	again := d.run(program, "--model", "script:../turns.json", "--resume=latest")
	again.shows("That was change 9.")
	again.shows("type a prompt")
	measured(t, again, "resumed")
	for range 40 {
		again.press("PgUp")
	}
	again.press("C-End")
	again.resize("120", "40")
	again.shows("type a prompt")
	measured(t, again, "scrolled and resized")
}

// measured measures an idle program for six seconds.
func measured(t *testing.T, p *pane, state string) {
	t.Helper()
	const during = 6 * time.Second
	number, err := os.ReadFile(p.code + ".pid")
	require.NoError(t, err)
	proc := "/proc/" + strings.TrimSpace(string(number))
	last, since := ticks(t, proc), time.Now()
	p.poll("the end of the work", func() bool {
		if now := ticks(t, proc); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	})
	before := ticks(t, proc)
	begun := time.Now()
	<-time.After(during)
	share := float64(ticks(t, proc)-before) / 100 / time.Since(begun).Seconds()
	status, err := os.ReadFile(proc + "/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	t.Logf("%s: %.2f %% of a processor, %.1f MB resident", state, 100*share, float64(kilobytes)*1024/1e6)
	require.Less(t, share, 0.01, state)
	require.LessOrEqual(t, float64(kilobytes)*1024/1e6, 60.0, state)
}

// ticks returns the processor time of a process, in hundredths of a second.
func ticks(t *testing.T, proc string) (sum int) {
	t.Helper()
	stat, err := os.ReadFile(proc + "/stat")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		sum += n
	}
	return sum
}
