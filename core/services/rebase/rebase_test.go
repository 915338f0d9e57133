package rebase_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/rebase"
)

// numberedLines returns the lines from first to last, some of them replaced.
func numberedLines(first, last int, replaced map[int]string) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		line, ok := replaced[n]
		if !ok {
			line = fmt.Sprintf("line %d\n", n)
		}
		b.WriteString(line)
	}
	return b.String()
}

// ST-02: a change carries over if no place of the other side is near.
func TestCarry(t *testing.T) {
	t.Parallel()
	base := numberedLines(1, 20, nil)
	at := func(replaced map[int]string) string { return numberedLines(1, 20, replaced) }
	for name, tt := range map[string]struct{ base, ours, theirs, want string }{
		"far apart":             {base, at(map[int]string{2: "ours\n"}), at(map[int]string{15: "theirs\n"}), at(map[int]string{2: "ours\n", 15: "theirs\n"})},
		"three lines between":   {base, at(map[int]string{6: "ours\n"}), at(map[int]string{2: "theirs\n"}), at(map[int]string{6: "ours\n", 2: "theirs\n"})},
		"two lines between":     {base, at(map[int]string{5: "ours\n"}), at(map[int]string{2: "theirs\n"}), ""},
		"the same line":         {base, at(map[int]string{5: "ours\n"}), at(map[int]string{5: "theirs\n"}), ""},
		"the same change":       {base, at(map[int]string{5: "both\n"}), at(map[int]string{5: "both\n"}), ""},
		"insertions":            {base, at(map[int]string{3: "ours\nline 3\n"}), at(map[int]string{12: "line 12\ntheirs\n"}), at(map[int]string{3: "ours\nline 3\n", 12: "line 12\ntheirs\n"})},
		"deletion and growth":   {base, at(map[int]string{18: ""}), "first\n" + base, "first\n" + at(map[int]string{18: ""})},
		"ours on both sides":    {base, at(map[int]string{1: "a\n", 20: "b\n"}), at(map[int]string{10: ""}), at(map[int]string{1: "a\n", 10: "", 20: "b\n"})},
		"final newline":         {base, strings.TrimSuffix(base, "\n"), at(map[int]string{2: "theirs\n"}), ""},
		"their final newline":   {base, at(map[int]string{2: "ours\n"}), strings.TrimSuffix(base, "\n"), ""},
		"byte-order mark":       {base, at(map[int]string{2: "ours\n"}), "\ufeff" + base, ""},
		"all endings":           {base, at(map[int]string{2: "ours\n"}), strings.ReplaceAll(base, "\n", "\r\n"), ""},
		"one ending elsewhere":  {base, at(map[int]string{2: "ours\n"}), at(map[int]string{12: "line 12\r\n"}), at(map[int]string{2: "ours\n", 12: "line 12\r\n"})},
		"no final newline":      {"a\nb\nc\nd\ne\nf", "A\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\nF", "A\nb\nc\nd\ne\nF"},
		"empty base":            {"", "ours\n", "theirs\n", ""},
		"emptied":               {base, at(map[int]string{2: "ours\n"}), "", ""},
		"a block that may move": {"x\n{\n}\n{\n}\n{\n}\ny\n", "x\n{\n}\n{\n}\ny\n", "X\n{\n}\n{\n}\n{\n}\ny\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, conflict := rebase.Carry(tt.base, tt.ours, tt.theirs)
			if tt.want == "" {
				require.NotNil(t, conflict)
				require.NotEmpty(t, conflict.Reason)
				return
			}
			require.Nil(t, conflict)
			require.Equal(t, tt.want, result)
		})
	}
}

func TestConflictNamesTheLines(t *testing.T) {
	t.Parallel()
	base := numberedLines(1, 9, nil)
	_, conflict := rebase.Carry(base, numberedLines(1, 9, map[int]string{4: "ours\n", 5: ""}), numberedLines(1, 9, map[int]string{6: "line 6\nnew\n"}))
	require.Equal(t, &rebase.Conflict{Ours: [2]int{4, 5}, Theirs: [2]int{7, 6},
		Reason: "The change replaces lines 4 to 5, and another writer replaced nothing before line 7."}, conflict)
}

// triple generates a base, and two changes of it with known edits, of different lines if disjoint.
// clash: they change a line differently.
func triple(r *rand.Rand) (base, ours, theirs, both string, disjoint, clash bool) {
	words := []string{"{\n", "}\n", "\n", "return\n", "a\n", "b\n"}
	lines := make([]string, 4+r.IntN(40))
	for i := range lines {
		if lines[i] = words[r.IntN(len(words))]; r.IntN(3) > 0 {
			lines[i] = fmt.Sprintf("line %d\n", i)
		}
	}
	side := make([]int, len(lines)) // which side changes a line: 1, 2, or 3 for both
	text := func(mine int) string {
		var b strings.Builder
		for i, line := range lines {
			switch {
			case side[i]&mine == 0:
				b.WriteString(line)
			case i%3 == 0: // removed
			case i%3 == 1:
				fmt.Fprintf(&b, "%d changed %d\n", side[i]&mine, i)
			default:
				b.WriteString(line + words[i%len(words)])
			}
		}
		return b.String()
	}
	for range 1 + r.IntN(3) {
		side[r.IntN(len(lines))] |= 1
	}
	for range 1 + r.IntN(3) {
		side[r.IntN(len(lines))] |= 2
	}
	disjoint = true
	for i, s := range side {
		clash = clash || s == 3 && i%3 == 1
		disjoint = disjoint && s != 3
	}
	return text(0), text(1), text(2), text(3), disjoint, clash
}

// ST-09: generated triples give the bytes of both changes, or a conflict.
func TestCarryProperty(t *testing.T) {
	t.Parallel()
	count := 2_000
	if os.Getenv("FETTLE_FULL") != "" {
		count = 150_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	carried := 0
	for range count {
		base, ours, theirs, both, disjoint, clash := triple(r)
		result, conflict := rebase.Carry(base, ours, theirs)
		if conflict != nil {
			require.NotEqual(t, base, theirs, "nothing to carry over")
			continue
		}
		carried++
		require.False(t, clash, "%q\n%q\n%q", base, ours, theirs)
		if !disjoint || ours == base || theirs == base { // edits that undo each other
			continue
		}
		require.Equal(t, both, result, "%q\n%q\n%q", base, ours, theirs)
		mirrored, conflict := rebase.Carry(base, theirs, ours)
		require.Nil(t, conflict)
		require.Equal(t, both, mirrored)
	}
	require.Greater(t, carried, count/10)
	t.Logf("%d of %d carried over", carried, count)
}

// What carries over is what git merge-file makes of the three texts.
func TestCarryLikeGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	for n := 0; n < 100; {
		base, ours, theirs, _, _, _ := triple(r)
		result, conflict := rebase.Carry(base, ours, theirs)
		if conflict != nil {
			continue
		}
		n++
		args := []string{"merge-file", "-p"}
		for name, text := range map[string]string{"ours": ours, "base": base, "theirs": theirs} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		cmd := exec.CommandContext(t.Context(), git, append(args, "ours", "base", "theirs")...)
		cmd.Dir = dir
		merged, err := cmd.Output()
		require.NoError(t, err, "%q\n%q\n%q", base, ours, theirs)
		require.Equal(t, string(merged), result)
	}
}
