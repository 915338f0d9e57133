package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runBench runs the command in this process.
func runBench(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

func TestFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"unknown":       {[]string{"-fast"}, "-fast"},
		"argument":      {[]string{"read"}, "-run"},
		"regexp":        {[]string{"-run", "("}, "-run"},
		"no case":       {[]string{"-run", "^nothing$"}, "-list"},
		"time":          {[]string{"-time", "-1s"}, "-time"},
		"write of some": {[]string{"-write", "-run", "read"}, "-run"},
		"from and full": {[]string{"-from", "x", "-full"}, "-full"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runBench(t.Context(), tt.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tt.says)
		})
	}
	code, _, stderr := runBench(t.Context(), "-h")
	require.Zero(t, code)
	for _, flag := range []string{"-run", "-full", "-json", "-write", "-list", "-time", "-from"} {
		require.Contains(t, stderr, "  "+flag)
	}
}

func TestList(t *testing.T) {
	code, stdout, _ := runBench(t.Context(), "-list", "-run", "^read/1mb$")
	require.Zero(t, code)
	require.Contains(t, stdout, "read/1mb\n")
	require.Contains(t, stdout, "floor    read, SHA-256, JSON by hand\n")
	require.NotContains(t, stdout, "read/1kb")
}

// Every case has one subject, contestants with different names, and budgets that refer to one of
// them.
func TestCases(t *testing.T) {
	cases, err := allCases()
	require.NoError(t, err)
	require.Greater(t, len(cases), 80)
	plots := map[string]bool{}
	for _, p := range growthPlots() {
		plots[p.Key] = true
	}
	for _, c := range cases {
		require.Regexp(t, regexp.MustCompile(`^[a-z]+/[a-z0-9-]+$`), c.ID)
		require.NotEmpty(t, c.Title, c.ID)
		require.True(t, strings.HasSuffix(c.Description, "."), c.ID)
		require.True(t, c.Growth == nil || plots[c.Growth.Plot], c.ID)
		subjects, names := 0, map[string]bool{}
		for _, contestant := range c.Contestants {
			require.False(t, names[contestant.Name], "%s, %s", c.ID, contestant.Name)
			names[contestant.Name] = true
			if contestant.Role == Ours {
				subjects++
			}
		}
		require.Equal(t, 1, subjects, c.ID)
		for _, b := range c.Budgets {
			require.True(t, b.Kind == Absolute || names[b.Against], "%s: a budget speaks of %q", c.ID, b.Against)
		}
	}
}

// The whole command with quick cases: a table, JSON lines of the documented form that can be shown
// again, and a page with plots.
func TestCommand(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PATH", t.TempDir()) // no peer is installed
	file := filepath.Join(t.TempDir(), "run.jsonl")
	code, stdout, stderr := runBench(t.Context(), "-run", "^(noise/hash|read/1mb|registry/lookup-.*)$", "-time", "1ms", "-json", file)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "fettle ÷ it")
	require.Contains(t, stdout, "read, SHA-256, JSON by hand")
	require.Contains(t, stdout, "READING\n")
	require.Contains(t, stdout, "skipped: ")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "no scratch is left")

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	kinds := map[string]int{}
	for line := range bytes.Lines(data) {
		var kind struct{ Kind string }
		require.NoError(t, json.Unmarshal(line, &kind))
		kinds[kind.Kind]++
		switch kind.Kind {
		case kindRun:
			r := decoded[runLine](t, line)
			require.NotEmpty(t, r.Date)
			require.NotEmpty(t, r.Versions["Go"])
			require.Positive(t, r.Machine.Cores)
		case kindMeasurement:
			m := decoded[measurementLine](t, line)
			require.Positive(t, m.Least)
			require.LessOrEqual(t, m.Least, m.Median)
			require.GreaterOrEqual(t, m.Turns, 5)
		case kindBudget:
			decoded[budgetLine](t, line)
		case kindMissing:
			decoded[missingLine](t, line)
		default:
			t.Errorf("kind %q", kind.Kind)
		}
	}
	require.Equal(t, 2, kinds[kindRun])
	require.Equal(t, 2, kinds[kindBudget])
	require.GreaterOrEqual(t, kinds[kindMeasurement], 8)

	docs := t.TempDir()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", pageName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(docs, pageName), page, 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(docs, plotDirName), 0o755))
	stale := filepath.Join(docs, plotDirName, "ratios-old.svg")
	require.NoError(t, os.WriteFile(stale, nil, 0o644))
	other := filepath.Join(docs, plotDirName, "curve-files.svg") // of the command growth
	require.NoError(t, os.WriteFile(other, nil, 0o644))
	code, again, stderr := runBench(t.Context(), "-from", file, "-write", "-docs", docs)
	require.Zero(t, code, stderr)
	require.Equal(t, stdout, again, "the same table")
	require.NoFileExists(t, stale)
	require.FileExists(t, other)
	written, err := os.ReadFile(filepath.Join(docs, pageName))
	require.NoError(t, err)
	text := string(written)
	require.Contains(t, text, "read, SHA-256, JSON by hand |")
	require.Contains(t, text, "of 2 budgets are met.")
	require.Contains(t, text, "## Benchmarks of single packages", "the prose stays")
	for _, picture := range []string{"ratios-read.svg", "growth-registry.svg"} {
		require.Contains(t, text, "("+plotDirName+"/"+picture+")")
		svg, err := os.ReadFile(filepath.Join(docs, plotDirName, picture))
		require.NoError(t, err)
		wellFormed(t, svg)
		require.Contains(t, string(svg), `fill="#ffffff"`)
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestCommandInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	code, _, stderr := runBench(ctx, "-run", "^noise/hash$")
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, stderr, "interrupted")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// The page has a block for each part of a run.
func TestPageHasBlocks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", pageName))
	require.NoError(t, err)
	for _, key := range blockKeys() {
		_, err := replaceBlock(string(page), key, "x")
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(page), blockStart(key)+"\n"), key)
	}
	_, err = replaceBlock("nothing", "read", "x")
	require.ErrorContains(t, err, "<!-- bench: read -->")
	_, err = replaceBlock("<!-- bench: read -->\n", "read", "x")
	require.ErrorContains(t, err, blockEnd)
	twice, err := replaceBlock("a\n<!-- bench: read -->\nold\n<!-- bench: end -->\nb\n", "read", "new")
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- bench: read -->\nnew\n<!-- bench: end -->\nb\n", twice)
}

func TestFromRefuses(t *testing.T) {
	for name, tt := range map[string][2]string{
		"another kind": {`{"kind":"other"}`, "line 1: kind"},
		"no run":       {``, "-json"},
		"old case":     {`{"kind":"measurement","case":"read/gone"}`, "measure again"},
		"no JSON":      {`read`, "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "f")
			require.NoError(t, os.WriteFile(file, []byte(tt[0]), 0o644))
			code, _, stderr := runBench(t.Context(), "-from", file)
			require.Equal(t, exitFailed, code)
			require.Contains(t, stderr, tt[1])
		})
	}
}

func TestBusy(t *testing.T) {
	require.Empty(t, (&RunInfo{Load: 0.4, Machine: Machine{Cores: 2}}).busy())
	require.Empty(t, (&RunInfo{Load: -1, Machine: Machine{Cores: 2}}).busy(), "the load is unknown")
	require.Contains(t, (&RunInfo{Load: 3, Machine: Machine{Cores: 2}}).busy(), "3.0 on 2 cores")
	require.Contains(t, runBlock(RunInfo{Load: 3, Machine: Machine{Cores: 2}}), "3.0 on 2 cores")
}
