package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page has exactly one row for every target.
func TestPageNamesEveryTarget(t *testing.T) {
	root, targets, err := find(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(targets), 80)
	data, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	text, measured, has := strings.Cut(string(data), begin)
	require.True(t, has)
	known := map[string]bool{}
	for _, target := range targets {
		known[target.String()] = true
		require.Contains(t, text, "`"+target.String()+"`", "say which parser it is for, and what it holds")
	}
	for _, text := range []string{text, measured} {
		for row := range strings.Lines(text) {
			for i, word := range strings.Split(row, "`") {
				if i%2 == 1 && strings.Contains(word, ".Fuzz") {
					require.True(t, known[word], "there is no target %s", word)
				}
			}
		}
	}
}

// Committed inputs are small, are named by their content, run with their target, and
// contain no data of the machine where they were found.
func TestCorpus(t *testing.T) {
	root, targets, err := find(t.Context())
	require.NoError(t, err)
	archives := map[string]bool{}
	sum := 0
	for _, target := range targets {
		archives[target.archive(root)] = true
		require.NoDirExists(t, target.failures(root), "mend what fails, then run with -keep: it goes into the archive")
		all, err := archived(target.archive(root))
		require.NoError(t, err)
		require.Equal(t, len(all) > 0, target.seeded, "%s: a target calls fuzzseed.Add if it has an archive", target)
		bytes := 0
		for _, in := range all {
			bytes += len(in.data)
			require.True(t, strings.HasPrefix(string(in.data), "go test fuzz v1\n"), in.name)
			for _, s := range []string{"/root/", "/home/", "/tmp/Fuzz", "/tmp/go-build"} {
				require.NotContains(t, string(in.data), s, "%s %s", target, in.name)
			}
		}
		require.LessOrEqual(t, len(all), maxFiles+10, "%s", target)
		require.LessOrEqual(t, bytes, 2*maxBytes, "%s", target)
		sum += bytes
	}
	require.Less(t, sum, 3<<20)
	out, err := goTool(t.Context(), root, "list", "-f", "{{.Dir}}", "./...")
	require.NoError(t, err)
	for dir := range strings.Lines(string(out)) {
		found, err := filepath.Glob(filepath.Join(strings.TrimSpace(dir), "testdata", "fuzz", "*"))
		require.NoError(t, err)
		for _, file := range found {
			require.True(t, archives[file], "%s is of no target", file)
		}
	}
}

// Failing inputs and interesting ones go into the archive, which reads back
// unchanged.
func TestKeep(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GOCACHE", filepath.Join(root, "cache"))
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	const first = "go test fuzz v1\n"
	put("go.mod", "module example.com/m\n")
	put("p/p.go", "package p\n")
	put("p/testdata/fuzz/FuzzP.txtar", "-- b --\n"+first+"string(\"b\")\n")
	put("p/testdata/fuzz/FuzzP/c", first+"string(\"c\")\n")
	put("cache/fuzz/example.com/m/p/FuzzP/a", first+"string(\"-- a --\\n\")\n")
	p := target{dir: "p", name: "FuzzP"}
	for range 2 {
		n, err := keep(t.Context(), root, p)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		all, err := archived(p.archive(root))
		require.NoError(t, err)
		require.Equal(t, []input{
			{"a", []byte(first + "string(\"-- a --\\n\")\n")},
			{"b", []byte(first + "string(\"b\")\n")},
			{"c", []byte(first + "string(\"c\")\n")},
		}, all)
		require.NoDirExists(t, p.failures(root))
	}
}

func TestRead(t *testing.T) {
	const running = "fuzz: elapsed: 0s, gathering baseline coverage: 0/5 completed\nfuzz: elapsed: 3s, execs: 3000 (1000/sec), new interesting: 6 (total: 11)\nfuzz: elapsed: 1m6s, execs: 66000 (900/sec), new interesting: 16 (total: 21)\n"
	for name, tt := range map[string]struct {
		out    string
		passed bool
		want   outcome
	}{
		"passed":   {running + "PASS\n", true, outcome{Result: ok, Executions: 66000, PerSecond: 1000, Seconds: 66, New: 16}},
		"no cover": {"fuzz: elapsed: 2s, execs: 10 (5/sec)\nPASS\n", true, outcome{Result: ok, Executions: 10, PerSecond: 5, Seconds: 2}},
		"failed": {
			running + "--- FAIL: FuzzX (58.44s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:3: wrong\n    \n    Failing input written to testdata/fuzz/FuzzX/8673ea25fd443190\n    To re-run:\n    go test -run=FuzzX/8673ea25fd443190\nFAIL\n", false,
			outcome{Result: failed, Executions: 66000, PerSecond: 1000, Seconds: 66, New: 16, Input: "testdata/fuzz/FuzzX/8673ea25fd443190"},
		},
		"a file that is there fails": {"failure while testing seed corpus entry: FuzzX/8673ea25fd443190\n--- FAIL: FuzzX (0.1s)\nFAIL\n", false, outcome{Result: failed, Input: "testdata/fuzz/FuzzX/8673ea25fd443190"}},
		"a seed fails":               {"failure while testing seed corpus entry: FuzzX/seed#3\n--- FAIL: FuzzX (0.1s)\nFAIL\n", false, outcome{Result: failed, Input: "the source, as FuzzX/seed#3"}},
		"the time ended": {
			running + "--- FAIL: FuzzX (66.02s)\n    context deadline exceeded\nFAIL\nexit status 1\n", false,
			outcome{Result: ok, Executions: 66000, PerSecond: 1000, Seconds: 66, New: 16},
		},
		"another failure": {running + "--- FAIL: FuzzX (66.02s)\n    fuzzing process hung or terminated unexpectedly\nFAIL\n", false, outcome{Result: failed, Executions: 66000, PerSecond: 1000, Seconds: 66, New: 16}},
		"not built":       {"# x\n./x.go:3: undefined: y\nFAIL x [build failed]\n", false, outcome{Result: notBuilt}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, read(tt.out, tt.passed)) })
	}
}

// The number and the size of the inputs are limited, all sizes are represented,
// existing inputs count, and inputs with data of the machine are omitted.
func TestChoose(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	var found []input
	for i := range 200 {
		found = append(found, input{fmt.Sprint("n", i), bytes.Repeat([]byte("x"), 20+i)})
	}
	found = append(found, input{"large", make([]byte, maxInput+1)}, input{"host", []byte("at " + host)}, input{"temp", []byte(os.TempDir() + string(filepath.Separator) + "x")}, input{"have", []byte("x")})
	have := []input{{"have", []byte("x")}}
	got := choose(have, found)
	require.Len(t, got, maxFiles-1)
	require.Equal(t, "n0", got[0].name)
	require.Greater(t, len(got[len(got)-1].data), 200, "long ones too")
	for _, in := range got {
		require.True(t, strings.HasPrefix(in.name, "n"), in.name)
	}
	require.Empty(t, choose(make([]input, maxFiles), found))
	large := make([]input, 30)
	for i := range large {
		large[i] = input{fmt.Sprint(i), make([]byte, maxInput)}
	}
	require.Len(t, choose(nil, large), maxBytes/maxInput)
}

// Rows of targets that did not run stay if the machine is the same.
func TestMerge(t *testing.T) {
	a, b := outcome{Target: "x.FuzzA", Executions: 5, Result: ok, Date: "2026-01-01", Load: "0.5"}, outcome{Target: "x.FuzzB", Executions: 7, Result: ok, Date: "2026-01-02"}
	empty := "# Page\n" + begin + end + "the rest\n"
	one, err := merge(empty, "here", []outcome{b})
	require.NoError(t, err)
	two, err := merge(one, "here", []outcome{a})
	require.NoError(t, err)
	require.Equal(t, "# Page\n"+begin+"\nhere\n\n"+header+a.row()+b.row()+"\n2 targets, 12 executions.\n\n"+end+"the rest\n", two)
	again, err := merge(two, "here", []outcome{a})
	require.NoError(t, err)
	require.Equal(t, two, again)
	other, err := merge(two, "elsewhere", []outcome{a})
	require.NoError(t, err)
	require.NotContains(t, other, "FuzzB")
	_, err = merge("# Page\n", "here", nil)
	require.Error(t, err)
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-time", "0s"}, {"-parallel", "0"}, {"more"}, {"-run", "("}, {"-run", "nothing like it"}, {"-unknown"}} {
		var out, stderr bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &stderr), "%q", args)
		require.NotEmpty(t, stderr.String())
	}
	var out, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-list", "-run", `core/tools\.FuzzNames$`}, &out, &stderr), stderr.String())
	require.Equal(t, "core/tools.FuzzNames\n", out.String())
}
