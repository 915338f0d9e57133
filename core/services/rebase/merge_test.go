package rebase_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/rebase"
)

// FK-05: an edit that both sides have made is made once. Different edits that are near each other stay conflicts.
func TestMerge(t *testing.T) {
	t.Parallel()
	base := numberedLines(1, 20, nil)
	at := func(replaced map[int]string) string { return numberedLines(1, 20, replaced) }
	for name, tt := range map[string]struct{ base, ours, theirs, want string }{
		"the same change":       {base, at(map[int]string{5: "both\n"}), at(map[int]string{5: "both\n"}), at(map[int]string{5: "both\n"})},
		"and one of theirs":     {base, at(map[int]string{5: "both\n"}), at(map[int]string{5: "both\n", 9: "theirs\n"}), at(map[int]string{5: "both\n", 9: "theirs\n"})},
		"and a near one":        {base, at(map[int]string{2: "ours\n", 5: "both\n"}), at(map[int]string{5: "both\n"}), ""},
		"between separate ones": {base, at(map[int]string{1: "ours\n", 5: "both\n"}), at(map[int]string{5: "both\n", 9: "theirs\n"}), at(map[int]string{1: "ours\n", 5: "both\n", 9: "theirs\n"})},
		"between near ones":     {base, at(map[int]string{3: "ours\n", 5: "both\n", 6: "both\n"}), at(map[int]string{4: "theirs\n", 6: "both\n"}), ""},
		"other lines":           {base, at(map[int]string{5: "ours\n"}), at(map[int]string{5: "theirs\n"}), ""},
		"more lines":            {base, at(map[int]string{5: "both\n", 6: "ours\n"}), at(map[int]string{5: "both\n"}), ""},
		"insertions":            {base, at(map[int]string{5: "line 5\nboth\n"}), at(map[int]string{5: "line 5\nboth\n", 9: ""}), at(map[int]string{5: "line 5\nboth\n", 9: ""})},
		"other insertions":      {base, at(map[int]string{5: "line 5\nours\n"}), at(map[int]string{5: "line 5\ntheirs\n"}), ""},
		"a movable insertion":   {"a\nx\nb\nc\nd\ne\nf\ng\n", "a\nx\nx\nb\nc\nd\ne\nf\ng\n", "a\nx\nx\nB\nc\nd\ne\nf\ng\n", ""},
		"removals":              {base, at(map[int]string{5: ""}), at(map[int]string{1: "theirs\n", 5: ""}), at(map[int]string{1: "theirs\n", 5: ""})},
		"final newline":         {base, strings.TrimSuffix(base, "\n"), strings.TrimSuffix(at(map[int]string{2: "theirs\n"}), "\n"), strings.TrimSuffix(at(map[int]string{2: "theirs\n"}), "\n")},
		"one's final newline":   {base, strings.TrimSuffix(base, "\n"), at(map[int]string{2: "theirs\n"}), ""},
		"byte-order mark":       {base, "\ufeff" + base, "\ufeff" + at(map[int]string{9: "theirs\n"}), "\ufeff" + at(map[int]string{9: "theirs\n"})},
		"emptied":               {base, "", "", ""},
		"empty base":            {"", "ours\n", "theirs\n", ""},
		"repeated lines":        {"a\nx\nx\nx\nx\nb\n", "A\nx\nx\nx\nx\nb\n", "A\nx\nx\nx\nx\nB\n", ""},
		"the same addition":     {"", "both\n", "both\n", "both\n"},
		"separate ones only":    {base, at(map[int]string{2: "ours\n"}), at(map[int]string{15: "theirs\n"}), at(map[int]string{2: "ours\n", 15: "theirs\n"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sides := range [][2]string{{tt.ours, tt.theirs}, {tt.theirs, tt.ours}} {
				result, conflict := rebase.Merge(tt.base, sides[0], sides[1])
				if tt.want == "" && name != "emptied" {
					require.NotNil(t, conflict)
					require.NotEmpty(t, conflict.Reason)
					continue
				}
				require.Nil(t, conflict)
				require.Equal(t, tt.want, result)
			}
		})
	}
}

// agreeing returns a base and two sides that have made some of their edits both, often near those of one side.
func (g generator) agreeing() (base, ours, theirs string) {
	n := 1 + g.IntN(24)
	kinds := []int{3, 30, 1000}[g.IntN(3)]
	line := func() string { return fmt.Sprintf("line %d\n", g.IntN(kinds)) }
	var lines []string
	for range n {
		lines = append(lines, line())
	}
	var sides [2][]place
	for range 1 + g.IntN(5) {
		from := g.IntN(n + 1)
		p := place{from: from, to: from + g.IntN(min(3, n-from)+1)}
		for range g.IntN(3) {
			p.lines = append(p.lines, line())
		}
		which := g.IntN(4)
		for i := range sides {
			if (which >= 2 || which == i) && !anyMeets(sides[i], []place{p}) {
				sides[i] = append(sides[i], p)
			}
		}
	}
	text := func(lines []string) string { return strings.Join(lines, "") }
	base, ours, theirs = text(lines), text(made(lines, sides[0]...)), text(made(lines, sides[1]...))
	if g.IntN(8) == 0 {
		ours, theirs = strings.TrimSuffix(ours, "\n"), strings.TrimSuffix(theirs, "\n")
	}
	return base, ours, theirs
}

// FK-05: Merge merges nothing that git merge-tree or git merge-file do not merge, to the same bytes.
func TestMergeLikeGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	count := 1_000
	if os.Getenv("FETTLE_FULL") != "" {
		count = 10_000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	g := generator{rand.New(rand.NewPCG(seed, 7))}
	type triple struct{ base, ours, theirs string }
	all := make([]triple, count)
	sides := [3]map[string]string{{}, {}, {}}
	for n := range all {
		if n%4 == 0 {
			s := g.triple()
			all[n] = triple{s.base, s.ours, s.theirs}
		} else {
			all[n].base, all[n].ours, all[n].theirs = g.agreeing()
		}
		for i, text := range []string{all[n].base, all[n].ours, all[n].theirs} {
			sides[i][nameOf(n)] = text
		}
	}
	dir := t.TempDir()
	repository(t, dir, sides)
	tree, refused := mergeTree(t, dir)
	merged, conflicts, strict, carried, byFile := 0, 0, 0, 0, 0
	for n, s := range all {
		about := fmt.Sprintf("%d: %q\n%q\n%q", n, s.base, s.ours, s.theirs)
		if _, c := rebase.Carry(s.base, s.ours, s.theirs); c == nil {
			carried++
		}
		result, conflict := rebase.Merge(s.base, s.ours, s.theirs)
		isRefused := slices.Contains(refused, nameOf(n))
		switch {
		case conflict == nil && isRefused:
			t.Errorf("git refuses %s", about)
		case conflict == nil:
			merged++
			require.Equal(t, tree[nameOf(n)], result, about)
			if n%10 == 1 { // the other algorithm of git
				byFile++
				want, ok := mergeFile(t, dir, s.base, s.ours, s.theirs)
				require.True(t, ok, about)
				require.Equal(t, want, result, about)
			}
		case isRefused:
			conflicts++
		default:
			strict++
		}
	}
	t.Logf("%d merged as by git merge-tree (%d of them without equal edits), %d of them also compared with merge-file, %d conflicts of both, %d stricter",
		merged, carried, byFile, conflicts, strict)
	require.Greater(t, merged-carried, count/20)
	require.Greater(t, conflicts, count/20)
}

func nameOf(n int) string { return fmt.Sprintf("f%05d", n) }

// repository creates one with the branches base, ours and theirs.
func repository(t *testing.T, dir string, sides [3]map[string]string) {
	var in bytes.Buffer
	for i, name := range []string{"base", "ours", "theirs"} {
		fmt.Fprintf(&in, "commit refs/heads/%s\nmark :%d\ncommitter x <x> 1 +0000\ndata 0\n", name, i+1)
		if i > 0 {
			in.WriteString("from :1\n")
		}
		for file, text := range sides[i] {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", file, len(text), text)
		}
	}
	git(t, dir, nil, "init", "-q", "--bare", ".")
	git(t, dir, &in, "fast-import", "--quiet")
}

// mergeTree returns the files that git merge-tree makes of the branches, and those with conflicts.
func mergeTree(t *testing.T, dir string) (files map[string]string, refused []string) {
	out, _ := git(t, dir, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", "ours", "theirs")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	names, _ := git(t, dir, nil, "ls-tree", "-r", "--name-only", lines[0])
	var ask strings.Builder
	list := strings.Fields(names)
	for _, name := range list {
		ask.WriteString(lines[0] + ":" + name + "\n")
	}
	all, _ := git(t, dir, strings.NewReader(ask.String()), "cat-file", "--batch")
	files = make(map[string]string)
	for _, name := range list {
		var id, kind string
		var size int
		head, rest, _ := strings.Cut(all, "\n")
		_, err := fmt.Sscan(head, &id, &kind, &size)
		require.NoError(t, err)
		files[name], all = rest[:size], rest[size+1:]
	}
	return files, lines[1:]
}

func mergeFile(t *testing.T, dir, base, ours, theirs string) (string, bool) {
	for name, text := range map[string]string{"ours": ours, "base": base, "theirs": theirs} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600))
	}
	return git(t, dir, nil, "merge-file", "-p", "ours.txt", "base.txt", "theirs.txt")
}

// git runs git, and reports whether it succeeded; it requires that it did, or has found conflicts.
func git(t *testing.T, dir string, in io.Reader, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "merge.renames=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		require.Contains(t, []string{"merge-tree", "merge-file"}, args[0], "%v", err)
	}
	return string(out), err == nil
}
