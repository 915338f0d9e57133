package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// ripgrepFlags make ripgrep equivalent to a Search:
//
//	--no-config            no defaults of the user
//	--no-ignore-global     not the user's excludes file
//	--no-ignore-dot        no .ignore and .rgignore
//	--no-ignore-parent     nothing from above the tree
//	--hidden -g !.git      hidden files, but never .git
//	--text                 the test decides about binary files: see isText
//	--crlf                 a line ends before its \r
//	--json                 lines with their numbers, bytes unchanged
//
// Its byte order marks stay enabled: both detect UTF-16 only by its mark.
var ripgrepFlags = []string{
	"--no-config", "--no-ignore-global", "--no-ignore-dot", "--no-ignore-parent",
	"--hidden", "-g", "!.git", "--text", "--crlf", "--json",
}

// ripgrep returns rg's results below top, by file: number, a mark and text of each line.
func ripgrep(t testing.TB, rg, top string, args ...string) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rg, append(ripgrepFlags, args...)...)
	cmd.Dir = top
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		require.NoError(t, err, "%q: %s", args, stderr.String())
	}
	found := make(map[string][]string)
	for line := range bytes.Lines(out) {
		var event struct {
			Type string
			Data struct {
				Path, Lines struct {
					Text  string
					Bytes []byte
				}
				LineNumber int `json:"line_number"`
			}
		}
		require.NoError(t, json.Unmarshal(line, &event))
		mark := ":"
		switch event.Type {
		case "context":
			mark = "-"
		case "match":
		default:
			continue
		}
		name := strings.TrimPrefix(event.Data.Path.Text+string(event.Data.Path.Bytes), "./")
		text := event.Data.Lines.Text + string(event.Data.Lines.Bytes)
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		found[name] = append(found[name], strconv.Itoa(event.Data.LineNumber)+mark+strings.ToValidUTF8(text, "\ufffd"))
	}
	return found
}

// isText is the rule by which a Search skips files: ripgrep's own rule reads the whole file, and
// returns the lines before the first NUL.
func isText(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		bytes.IndexByte(data[:min(len(data), binaryHead)], 0) < 0
}

// searchable fills dir with files in which patterns of expressionOf match lines. If odd, some are
// not UTF-8, or have a \r within a line.
func searchable(t testing.TB, r *rand.Rand, dir string, depth int, odd bool) {
	t.Helper()
	// No line feeds: ripgrep's wildcards match them differently from git's.
	names := []string{"a", "b", "c", "d", "a b", "é", ".x"}
	if runtime.GOOS == "linux" {
		names = append(names, "\xff")
	}
	extensions := []string{".go", ".txt", ".log", "", ".tmp"}
	for range 1 + r.IntN(5) {
		path := filepath.Join(dir, names[r.IntN(len(names))]+extensions[r.IntN(len(extensions))])
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch n := r.IntN(10); {
		case n < 3 && depth > 0:
			require.NoError(t, os.Mkdir(path, 0o755))
			searchable(t, r, path, depth-1, odd)
		case n == 3:
			require.NoError(t, os.Symlink("..", path))
		default:
			require.NoError(t, os.WriteFile(path, randomText(r, odd), 0o644))
		}
	}
	if r.IntN(3) == 0 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(plainRules(r)), 0o644))
	}
	if r.IntN(6) == 0 {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git", "info"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(plainRules(r)), 0o644))
	}
}

// plainRules are rules that ripgrep and git interpret alike; git's own interpretation is compared
// with git.
func plainRules(r *rand.Rand) string {
	rules := []string{"*.log", "a.txt", "/b.go", "c/", "!a.log", "*.tmp", "!b.tmp", "d*/", "a/**", "# x", "", "/é.*", "**/a b.go", ".x*"}
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString(rules[r.IntN(len(rules))] + "\n")
	}
	return b.String()
}

// randomText returns a file: of short lines or a huge one, with either line ending, a byte order
// mark, UTF-16, a NUL, and without a last line feed.
func randomText(r *rand.Rand, odd bool) []byte {
	words := []string{"func", "Func", "a", "b", "ab", "abba", "foo", "bar", "x1", "_", "é", "É", "k", "K", "\u212a", " ", " ", "\t", "  ", "12", "2024", "-", "(", ")", ".", "ß", "😀"}
	if odd {
		words = append(words, "\r", "\xff", "\xc3", "\xe2\x82")
	}
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	var b strings.Builder
	for range r.IntN(40) {
		for range r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))])
		}
		if r.IntN(60) == 0 {
			b.WriteString(strings.Repeat("long ", 1+r.IntN(60_000)))
			b.WriteString(words[r.IntN(len(words))])
		}
		b.WriteString(end)
	}
	text := b.String()
	if r.IntN(3) == 0 {
		text = strings.TrimSuffix(text, end)
	}
	switch r.IntN(12) {
	case 0:
		return nil
	case 1:
		return []byte("\uFEFF" + text)
	case 2:
		data := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			data = append(data, byte(u), byte(u>>8))
		}
		return data
	case 3:
		at := r.IntN(len(text) + 1)
		return []byte(text[:at] + "\x00" + text[at:])
	}
	return []byte(text)
}

// expression is a pattern in the syntax of both. Classes such as \w and assertions such as \b are
// ASCII in RE2, and are written so for ripgrep.
type expression struct{ own, ripgrep string }

func expressionOf(r *rand.Rand, odd bool) expression {
	pieces := []expression{
		{`func`, `func`}, {`a`, `a`}, {`ab`, `ab`}, {`é`, `é`}, {`k`, `k`}, {`foo|bar`, `foo|bar`}, {`(?:ab|ba)+`, `(?:ab|ba)+`}, {`\(`, `\(`}, {`\.`, `\.`},
		{`\w+`, `[0-9A-Za-z_]+`}, {`\d{2,4}`, `[0-9]{2,4}`}, {`[[:upper:]]`, `[A-Z]`}, {`[\t ]`, `[\t ]`}, {`b?`, `b?`}, {`[a-c]*`, `[a-c]*`},
		{`\b`, `(?-u:\b)`}, {`(?i:FUNC)`, `(?i:FUNC)`}, {`[éß]`, `[éß]`}, {`long long`, `long long`}, {`\x{1F600}`, `\x{1F600}`},
	}
	if !odd { // invalid UTF-8, and a \r within a line, are characters for RE2 and not for ripgrep
		pieces = append(pieces, expression{`.`, `.`}, expression{`.*`, `.*`}, expression{`[^a-z]`, `[^a-z]`}, expression{`a.{0,9}b`, `a.{0,9}b`})
	}
	var e expression
	for range 1 + r.IntN(4) {
		p := pieces[r.IntN(len(pieces))]
		e.own += p.own
		e.ripgrep += p.ripgrep
	}
	// For --crlf ripgrep rewrites $, which it then supports only at the end.
	if !odd && r.IntN(4) == 0 {
		e.own, e.ripgrep = "(?:"+e.own+")$", "(?:"+e.ripgrep+")$"
	}
	if r.IntN(4) == 0 {
		e.own, e.ripgrep = "^(?:"+e.own+")", "^(?:"+e.ripgrep+")"
	}
	return e
}

// difference describes the first lines that differ, or is "".
func difference(want, got map[string][]string) string {
	for name := range got {
		if want[name] == nil {
			want[name] = []string{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		a, b := append(want[name], "end"), append(got[name], "end")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				return fmt.Sprintf("%q: ripgrep %.300q, own %.300q", name, a[i], b[i])
			}
		}
	}
	return ""
}

// A Search returns the same lines of the same files as ripgrep, for patterns that both interpret
// alike, on trees with ignore files and nested repositories. FETTLE_FULL=1 tries many.
func TestAgainstRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	trees, patterns := 6, 8
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		trees, patterns = 300, 20
	case testing.Short():
		trees = 5
	}
	searches, files, lines := 0, 0, 0
	for seed := range uint64(trees) {
		r := rand.New(rand.NewPCG(seed, 7))
		odd := seed%3 == 0
		top, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(filepath.Join(top, ".git"), 0o755))
		searchable(t, r, top, 3, odd)
		f, w := finderOver(t, top)
		start, err := w.Resolve(".")
		require.NoError(t, err)
		for range patterns {
			e, fixed, fold := expressionOf(r, odd), r.IntN(5) == 0, r.IntN(2) == 0
			s := Search{Start: start, Context: r.IntN(3), MaxBytes: 1 << 30, LineBytes: 1 << 30}
			args := []string{"-C", strconv.Itoa(s.Context)}
			if fixed {
				e = expression{"a", "a"}
				args = append(args, "--fixed-strings")
			}
			if fold {
				args = append(args, "--ignore-case")
			}
			switch r.IntN(4) {
			case 0:
				s.Include = "*.go"
				args = append(args, "--type-add", "wanted:*.go", "--type", "wanted")
			case 1:
				s.Exclude = "*.txt"
				args = append(args, "--type-add", "unwanted:*.txt", "--type-not", "unwanted") // -g would apply to directories too
			}
			s.Pattern, err = CompilePattern(e.own, fixed, fold)
			require.NoError(t, err)
			want := ripgrep(t, rg, top, append(args, "-e", e.ripgrep, ".")...)
			for name := range want {
				data, err := os.ReadFile(filepath.Join(top, name))
				require.NoError(t, err)
				if !isText(data) {
					delete(want, name)
				}
			}
			results, err := f.Search(t.Context(), s)
			require.NoError(t, err)
			got := make(map[string][]string)
			for _, file := range results.Files {
				for _, l := range file.Lines {
					mark := map[bool]string{true: ":", false: "-"}[l.Match]
					got[file.Path.Rel()] = append(got[file.Path.Rel()], fmt.Sprint(l.Number, mark, l.Text))
				}
				lines += len(file.Lines)
			}
			require.Empty(t, difference(want, got), "tree %d, %q, %q", seed, e.own, args)
			searches++
			files += len(got)
		}
		require.NoError(t, os.RemoveAll(top))
	}
	t.Logf("%d searches of %d trees: %d lines in %d files: no difference", searches, trees, lines, files)
	require.Greater(t, lines, searches, "too little is found to prove anything")
}
