package stress

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// version returns the content of the file's n-th version. A torn one can be detected.
func version(n int) string {
	body := fmt.Sprintf("version %d\n%s", n, strings.Repeat(fmt.Sprintf("line of version %d\n", n), 50+n%50))
	return body + "sum " + sumOf([]byte(body)) + "\n"
}

// versionOf returns the version number of a content, -1 if it is not a whole version.
func versionOf(content []byte) int {
	head, _, _ := strings.Cut(strings.TrimPrefix(string(content), "version "), "\n")
	n, err := strconv.Atoi(head)
	if err != nil || version(n) != string(content) {
		return -1
	}
	return n
}

// replaceAll returns a diff that replaces one text by another completely.
func replaceAll(from, to string) string {
	var b strings.Builder
	b.WriteString("@@ -1 +1 @@\n")
	for line := range strings.Lines(from) {
		b.WriteString("-" + line)
	}
	for line := range strings.Lines(to) {
		b.WriteString("+" + line)
	}
	return b.String()
}

// patchForever patches a file from version to version and reports before and after
// each call.
func patchForever(args []string) error {
	a, err := newAgent(args[0], args[1])
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		fmt.Printf("begin %d\n", n)
		report, r, err := a.patch("target", replaceAll(version(n-1), version(n)), sumOf([]byte(version(n-1))))
		if err != nil {
			return err
		}
		if !report.Success {
			return r.Result.Error
		}
		fmt.Printf("done %d\n", n)
	}
}

// FS-58, FS-64: a process killed during its calls leaves a whole version, not older
// than the last acknowledged one; the next session in the directory continues and
// removes the leftovers. Every third file has two names and is therefore written in
// place: it is whole after a session has recovered it.
func TestKilledAnywhere(t *testing.T) {
	kills := number(25, 1000)
	during, leftovers, recovered := 0, 0, 0
	for i := range kills {
		dir, home := t.TempDir(), t.TempDir()
		target := filepath.Join(dir, "target")
		require.NoError(t, os.WriteFile(target, []byte(version(0)), 0o640))
		want := 1
		if linked := i%3 == 2; linked {
			require.NoError(t, os.Link(target, target+"2"))
			want = 2
		}
		begun, done := killAtRandom(t, dir, home)
		if begun > done {
			during++
		}
		if want == 1 {
			content, err := os.ReadFile(target)
			require.NoError(t, err)
			requireVersion(t, content, done, begun)
		}
		names, err := os.ReadDir(dir)
		require.NoError(t, err)
		leftovers += len(names) - want

		a, err := newAgent(dir, home)
		require.NoError(t, err)
		left, err := a.config.Recover(t.Context())
		require.NoError(t, err)
		recovered += len(left)
		content, err := os.ReadFile(target)
		require.NoError(t, err)
		n := requireVersion(t, content, done, begun)
		shown, err := a.read("target")
		require.NoError(t, err)
		require.Equal(t, string(content), *shown.Content)
		report, r, err := a.patch("target", replaceAll(version(n), version(n+1)), *shown.SHA256)
		require.NoError(t, err)
		require.True(t, report.Success, "%v", r.Result.Error)
		require.Empty(t, report.KeptFiles, "no bytes of the killed process are kept")
		require.NoError(t, a.config.Close())

		names, err = os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, names, want, "%v", names)
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(dir, name.Name()))
			require.NoError(t, err)
			require.Equal(t, version(n+1), string(content))
			info, err := name.Info()
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode())
		}
		require.Empty(t, recoveryFiles(t, home))
	}
	t.Logf("%d kills, %d of them in the middle of a call; %d temporary files were left and removed, %d recovery files were left and handled",
		kills, during, leftovers, recovered)
}

// killAtRandom kills a patching process after a random number of calls and at a
// random moment, and returns the last versions that it started and finished.
func killAtRandom(t *testing.T, dir, home string) (begun, done int) {
	t.Helper()
	p := start(t, "patch forever", dir, home)
	calls := 1 + rand.IntN(4)
	for begun < calls {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err)
		note(line, &begun, &done)
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
		note(line, &begun, &done)
	}
	return begun, done
}

func note(line string, begun, done *int) {
	_, _ = fmt.Sscanf(line, "begin %d\n", begun)
	_, _ = fmt.Sscanf(line, "done %d\n", done)
}

func requireVersion(t *testing.T, content []byte, done, begun int) int {
	t.Helper()
	n := versionOf(content)
	require.NotEqual(t, -1, n, "torn: %.60q", content)
	require.GreaterOrEqual(t, n, done, "an acknowledged version is lost")
	require.LessOrEqual(t, n, begun)
	return n
}

// recoveryFiles lists the files in the recovery directories of the home directory.
func recoveryFiles(t *testing.T, home string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".fettle", "tmp", "*", "recovery", "*"))
	require.NoError(t, err)
	return found
}
