package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered returns 40 lines, some of them replaced.
func numbered(replaced map[int]string) string {
	var b strings.Builder
	for n := range 40 {
		if line, ok := replaced[n]; ok {
			b.WriteString(line)
		} else {
			fmt.Fprintf(&b, "line %d\n", n)
		}
	}
	return b.String()
}

func TestJudge(t *testing.T) {
	v0 := numbered(nil)
	for name, tt := range map[string]struct {
		v1, v2 map[int]string
		want   []result
		whole  result
	}{
		"apart":    {map[int]string{3: "a\nb\n"}, map[int]string{3: "a\nb\n", 30: ""}, []result{landed, landed}, refused},
		"near":     {map[int]string{3: "a\n"}, map[int]string{3: "a\n", 5: "b\n"}, []result{refused, refused}, refused},
		"touching": {map[int]string{3: "a\n"}, map[int]string{3: "a\n", 4: "b\n"}, nil, refused},
		"undone":   {map[int]string{3: "a\n"}, map[int]string{30: "b\n"}, nil, landed},
	} {
		t.Run(name, func(t *testing.T) {
			j := judge(triple{v0, numbered(tt.v1), numbered(tt.v2)})
			require.Equal(t, tt.want, j.moved)
			require.Equal(t, tt.whole, j.whole)
			require.False(t, j.wrong())
		})
	}
	require.Equal(t, differs, outcome(v0, numbered(map[int]string{3: "a\n"}), numbered(map[int]string{30: "b\n"}), v0))
	require.True(t, judgement{moved: []result{landed, differs}}.wrong())
}

// A difference makes the second text of the first and has as few lines as possible.
func TestDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []string {
		lines := make([]string, r.IntN(12))
		for i := range lines {
			lines[i] = string(rune('a'+r.IntN(3))) + "\n"
		}
		return lines
	}
	for range 5_000 {
		a, b := text(), text()
		places := difference(a, b)
		require.Equal(t, strings.Join(b, ""), made(a, places), "%q %q", a, b)
		edited := 0
		for i, p := range places {
			require.True(t, i == 0 || places[i-1].to < p.from, "%q %q: %v", a, b, places)
			edited += p.to - p.from + len(p.lines)
		}
		common := make([][]int, len(a)+1)
		common[len(a)] = make([]int, len(b)+1)
		for i := len(a) - 1; i >= 0; i-- {
			common[i] = make([]int, len(b)+1)
			for k := len(b) - 1; k >= 0; k-- {
				if common[i][k] = max(common[i+1][k], common[i][k+1]); a[i] == b[k] {
					common[i][k] = common[i+1][k+1] + 1
				}
			}
		}
		require.Equal(t, len(a)+len(b)-2*common[0][0], edited, "%q %q: %v", a, b, places)
	}
}

func TestReplayOfARepository(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	for i, replaced := range []map[int]string{nil, {3: "a\n"}, {3: "a\n", 30: "b\n"}, {3: "a\n", 30: "c\n"}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte(numbered(replaced)), 0o600))
		git("add", ".")
		git("commit", "-q", "-m", fmt.Sprint(i))
	}
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, nil, 0, dir, ""))
	require.Contains(t, strings.Join(strings.Fields(out.String()), " "), "2 1 2 2 0 100.0 % 0 0 all", out.String())
}
