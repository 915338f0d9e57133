package integration_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BE-03: the size of the program. A release is limited to releaseSize; its growth is visible before,
// because the page states the size.
const (
	releaseSize = 42_000_000
	statedSlack = 1.0 // MB between the program and the page
)

// howToShrink is the remedy of a program that is too large.
const howToShrink = `See which packages grew: go build -o fettle ./cli/fettle && go tool nm -size -sort size fettle | head -50.
A library that registers its types before main keeps all of their methods. Link less of it, or call the service without it.
If the growth is intended, state the new size in docs/rough_edges.md and docs/benchmarks.md.`

// The size of the stripped program differs little from the one that the page states, and the linker
// can omit unused methods: no function looks methods up by a name that it computes.
func TestSizeIsStated(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the page states the size on Linux and amd64")
	}
	text, err := os.ReadFile("../docs/rough_edges.md")
	require.NoError(t, err)
	page := regexp.MustCompile(`\*\*The program has ([0-9.]+) MB`).FindStringSubmatch(string(text))
	require.Len(t, page, 2, "docs/rough_edges.md states the size of the program")
	stated, err := strconv.ParseFloat(page[1], 64)
	require.NoError(t, err)

	program := filepath.Join(t.TempDir(), "fettle")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -dumpdep", "-o", program, "./cli/fettle")
	build.Dir = ".."
	out, err := build.CombinedOutput()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		require.NotContains(t, line, "<ReflectMethod>", "this function keeps every exported method in the program; do not call it")
	}
	info, err := os.Stat(program)
	require.NoError(t, err)
	size := float64(info.Size()) / 1e6
	t.Logf("%.1f MB", size)
	require.LessOrEqual(t, math.Abs(size-stated), statedSlack, "the program has %.1f MB, and docs/rough_edges.md states %.1f MB. %s", size, stated, howToShrink)
}
