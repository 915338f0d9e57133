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

// What carries over is what git merge-file makes of the three texts.
func TestCarryLikeGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	g := generator{rand.New(rand.NewPCG(3, 4))}
	for n := 0; n < 100; {
		s := g.triple()
		base, ours, theirs := s.base, s.ours, s.theirs
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
