package pager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

func savedFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "output.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// UI-04: of a large file, only the positions of some lines are kept.
func TestFileIsNotHeld(t *testing.T) {
	p, err := OpenFile("t", savedFile(t, strings.Repeat("output\n", 100_000)))
	require.NoError(t, err)
	require.LessOrEqual(t, len(p.file.marks), 100_000/markEvery+1)
}

// Files that are no regular files, empty or gone are errors.
func TestFileThatDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(savedFile(t, "x\n"), link))
	for _, path := range []string{"", dir, link, filepath.Join(dir, "none"), savedFile(t, "")} {
		_, err := OpenFile("t", path)
		require.Error(t, err, path)
	}
}

// UI-04: the wheel scrolls each kind of page, and keeps it within its ends.
func TestScroll(t *testing.T) {
	v := blocks.Style{Columns: 40, Theme: new(theme.Theme)}
	text := strings.Repeat("line\n", 50)
	file, err := OpenFile("t", savedFile(t, text))
	require.NoError(t, err)
	for name, p := range map[string]*Model{
		"text": New("t", strings.Repeat("- line\n", 50)), "output": NewOutput("t", strings.Split(strings.TrimSpace(text), "\n")), "file": file,
	} {
		t.Run(name, func(t *testing.T) {
			start := view(p, v, 12)
			p.Scroll(3)
			moved := view(p, v, 12)
			require.NotEqual(t, start, moved)
			p.Scroll(1000)
			end := view(p, v, 12)
			require.NotEqual(t, moved, end)
			require.Len(t, end, 12)
			p.Scroll(-1000)
			require.Equal(t, start, view(p, v, 12))
		})
	}
}

// A page is within its rows and columns at every size.
func TestSizes(t *testing.T) {
	text := "# 日本語\n\n" + strings.Repeat("word 日本語 e\u0301 👩‍👩‍👧\t", 40)
	file, err := OpenFile("日本語", savedFile(t, text))
	require.NoError(t, err)
	for _, p := range []*Model{New("日本語", text), NewOutput("日本語", blocks.Lines(text)), file} {
		for columns := 8; columns < 90; columns += 3 {
			for rows := 2; rows < 30; rows++ {
				lines := view(p, blocks.Style{Columns: columns, Theme: new(theme.Theme)}, rows)
				require.LessOrEqual(t, len(lines), max(rows, 3))
				for _, line := range lines {
					require.LessOrEqual(t, display.Width(line), columns, "%dx%d: %q", columns, rows, line)
				}
			}
		}
	}
}

func view(p *Model, v blocks.Style, rows int) []string {
	lines, _ := p.View(v, rows)
	return lines
}
