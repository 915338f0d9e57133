package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

func pattern(t testing.TB, text string, flags ...string) *Pattern {
	t.Helper()
	p, err := CompilePattern(text, strings.Contains(strings.Join(flags, " "), "fixed"), strings.Contains(strings.Join(flags, " "), "fold"))
	require.NoError(t, err)
	return p
}

// search searches from a directory or file and returns the results as lines: name:number:text for
// matches, name-number-text for context.
func search(t testing.TB, f *Finder, w *workspace.Workspace, start string, s Search) ([]string, Results) {
	t.Helper()
	p, err := w.Resolve(start)
	require.NoError(t, err)
	s.Start = p
	r, err := f.Search(t.Context(), s)
	require.NoError(t, err)
	return shown(r), r
}

func shown(r Results) []string {
	var lines []string
	for _, file := range r.Files {
		for _, l := range file.Lines {
			mark := "-"
			if l.Match {
				mark = ":"
			}
			lines = append(lines, fmt.Sprint(file.Path.Rel(), mark, l.Number, mark, l.Text))
		}
	}
	return lines
}

// TO-05: lines by regular expression, with file and line, sorted.
func TestSearch(t *testing.T) {
	f, w := finderOver(t, tree(t, "b/c.go x\nfunc Main() {\ny\n", "a.go func main() {\r\nfunc other\r\n", "b.txt func main", ".gitignore ignored/\n",
		"ignored/x.go func main", ".git/x.go func main", "link ->a.go", "empty ", "binary.go func main\x00", "z/d.go \n\nfunc main"))
	for name, tt := range map[string]struct {
		start  string
		search Search
		want   []string
	}{
		"expression":                 {".", Search{Pattern: pattern(t, `^func \w+\(`)}, []string{"a.go:1:func main() {", "b/c.go:2:func Main() {"}},
		"case":                       {".", Search{Pattern: pattern(t, "func main", "fold")}, []string{"a.go:1:func main() {", "b.txt:1:func main", "b/c.go:2:func Main() {", "z/d.go:3:func main"}},
		"minding case":               {".", Search{Pattern: pattern(t, "func main")}, []string{"a.go:1:func main() {", "b.txt:1:func main", "z/d.go:3:func main"}},
		"fixed":                      {".", Search{Pattern: pattern(t, "() {", "fixed")}, []string{"a.go:1:func main() {", "b/c.go:2:func Main() {"}},
		"end of line":                {".", Search{Pattern: pattern(t, "other$")}, []string{"a.go:2:func other"}},
		"include":                    {".", Search{Pattern: pattern(t, "func main"), Include: "*.txt"}, []string{"b.txt:1:func main"}},
		"include path":               {".", Search{Pattern: pattern(t, "func main"), Include: "z/**"}, []string{"z/d.go:3:func main"}},
		"braces":                     {".", Search{Pattern: pattern(t, "func main"), Include: "*.{txt,rs}"}, []string{"b.txt:1:func main"}},
		"exclude":                    {".", Search{Pattern: pattern(t, "func main"), Exclude: "*.go"}, []string{"b.txt:1:func main"}},
		"folder":                     {"b", Search{Pattern: pattern(t, "func", "fold")}, []string{"b/c.go:2:func Main() {"}},
		"file":                       {"b.txt", Search{Pattern: pattern(t, "main")}, []string{"b.txt:1:func main"}},
		"ignored, but named":         {"ignored", Search{Pattern: pattern(t, "main")}, []string{"ignored/x.go:1:func main"}},
		"an ignored file, named":     {"ignored/x.go", Search{Pattern: pattern(t, "main")}, []string{"ignored/x.go:1:func main"}},
		"none":                       {".", Search{Pattern: pattern(t, "absent")}, nil},
		"context":                    {"b", Search{Pattern: pattern(t, "Main"), Context: 1}, []string{"b/c.go-1-x", "b/c.go:2:func Main() {", "b/c.go-3-y"}},
		"names only":                 {".", Search{Pattern: pattern(t, "func"), NamesOnly: true}, nil},
		"context over the beginning": {"b", Search{Pattern: pattern(t, "x"), Context: 9}, []string{"b/c.go:1:x", "b/c.go-2-func Main() {", "b/c.go-3-y"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := search(t, f, w, tt.start, tt.search)
			require.Equal(t, tt.want, got)
			require.False(t, r.More)
			if name == "names only" {
				require.Equal(t, 4, r.Matches)
			}
		})
	}
	_, r := search(t, f, w, ".", Search{Pattern: pattern(t, "func main")})
	require.Equal(t, 1, r.Binary)
	require.Equal(t, 1, r.Tally.Ignored)
	require.Equal(t, "ignored/", r.Tally.Reasons[0].Pattern)
}

// Limits return the first results, and report that there are more.
func TestSearchLimits(t *testing.T) {
	var entries []string
	for i := range 100 {
		entries = append(entries, fmt.Sprintf("d%02d/f hit 1\nhit 2\nhit 3\n", i))
	}
	f, w := finderOver(t, tree(t, entries...))
	hit := pattern(t, "hit")
	for range 5 {
		got, r := search(t, f, w, ".", Search{Pattern: hit, Total: 4})
		require.Equal(t, []string{"d00/f:1:hit 1", "d00/f:2:hit 2", "d00/f:3:hit 3", "d01/f:1:hit 1"}, got)
		require.True(t, r.More)
		require.True(t, r.Files[1].More)
	}
	got, r := search(t, f, w, ".", Search{Pattern: hit, PerFile: 1})
	require.Len(t, got, 100)
	require.False(t, r.More)
	require.True(t, r.Files[0].More)
	_, r = search(t, f, w, ".", Search{Pattern: hit, Total: 300})
	require.Equal(t, 300, r.Matches)
	require.False(t, r.More)
	got, r = search(t, f, w, ".", Search{Pattern: hit, MaxBytes: 12})
	require.Len(t, got, 3)
	require.True(t, r.More)
	got, r = search(t, f, w, "d00/f", Search{Pattern: hit, Total: 2})
	require.Len(t, got, 2)
	require.True(t, r.More)
	_, r = search(t, f.With(Options{MaxFiles: 3}), w, ".", Search{Pattern: hit})
	require.Len(t, r.Files, 3)
	require.True(t, r.More)
}

// A huge line is clipped around its match.
func TestSearchClipsLines(t *testing.T) {
	line := strings.Repeat("ä", 1_000_000) + "needle" + strings.Repeat("ö", 1_000_000)
	f, w := finderOver(t, tree(t, "f "+line+"\nneedle\n"))
	got, r := search(t, f, w, ".", Search{Pattern: pattern(t, "needle"), LineBytes: 100})
	require.Len(t, got, 2)
	require.Contains(t, got[0], "ä"+"needle"+"ö")
	require.Less(t, len(got[0]), 130)
	require.True(t, r.Files[0].Lines[0].Clipped)
	require.Equal(t, Line{Number: 2, Text: "needle", Match: true}, r.Files[0].Lines[1])
	got, _ = search(t, f, w, ".", Search{Pattern: pattern(t, "^ä"), LineBytes: 100})
	require.True(t, strings.HasPrefix(got[0], "f:1:ää"))
	got, _ = search(t, f, w, ".", Search{Pattern: pattern(t, "ä.*ö"), LineBytes: 100})
	require.Len(t, got, 1, "a match longer than what is shown")
}

func TestSearchUTF16(t *testing.T) {
	text := "one\nnädel 😀 two\nthree " + strings.Repeat("x😀", 5000) + "\nlast"
	for name, bytes := range map[string]func(u uint16) []byte{
		"little": func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		"big":    func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		data := bytes(0xfeff)
		for _, u := range utf16.Encode([]rune(text)) {
			data = append(data, bytes(u)...)
		}
		f, w := finderOver(t, tree(t, "f "+string(data), "odd "+string(data)+"x"))
		got, _ := search(t, f, w, "f", Search{Pattern: pattern(t, "nädel|last")})
		require.Equal(t, []string{"f:2:nädel 😀 two", "f:4:last"}, got, name)
		got, _ = search(t, f, w, "odd", Search{Pattern: pattern(t, "^last")})
		require.Equal(t, []string{"odd:4:last\ufffd"}, got, name)
	}
	f, w := finderOver(t, tree(t, "f \uFEFFfirst\n"))
	got, _ := search(t, f, w, ".", Search{Pattern: pattern(t, "^first")})
	require.Equal(t, []string{"f:1:first"}, got, "a UTF-8 mark is no text")
}

// Windows are invisible: the results in a large file are those of a simple loop over its lines.
func TestSearchLargeFile(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 3*window; i++ {
		fmt.Fprintf(&b, "line %d %s\n", i+1, strings.Repeat("x", i%97))
		if i == 70_000 {
			b.WriteString(strings.Repeat("y", window+window/2) + " 7\n")
		}
	}
	f, w := finderOver(t, tree(t, "f "+b.String()))
	for _, expression := range []string{"^line 9*7 ", "7$", "line .*9 x{95}$", " 7$"} {
		want := plainSearch(b.String(), expression, 2)
		require.NotEmpty(t, want)
		got, _ := search(t, f, w, ".", Search{Pattern: pattern(t, expression), Context: 2, MaxBytes: 1 << 30, LineBytes: 1 << 30})
		require.Equal(t, want, got, expression)
	}
}

// plainSearch returns the expected result for a file named f.
func plainSearch(text, expression string, context int) []string {
	re := regexp.MustCompile(expression)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		return nil
	}
	mark := make([]string, len(lines))
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		if re.MatchString(lines[i]) {
			for j := max(0, i-context); j <= min(i+context, len(lines)-1); j++ {
				mark[j] += "-"
			}
			mark[i] += ":"
		}
	}
	var found []string
	for i, line := range lines {
		switch {
		case strings.Contains(mark[i], ":"):
			found = append(found, fmt.Sprint("f:", i+1, ":", line))
		case mark[i] != "":
			found = append(found, fmt.Sprint("f-", i+1, "-", line))
		}
	}
	return found
}

// The prefilter changes no results: random expressions over random text.
func TestSearchRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	pieces := []string{"a", "b", "ab", "K", "s", "é", "[ab]", "a*", "(a|bc)", "b+", ".", "^", "$", `\b`, "(ab){1,2}", "(?:a|b|k)", "x?", "(?i:Sk)", `\s`, "a|b", "[^a]"}
	letters := []string{"a", "b", "c", "k", "K", "\u212a", "s", "S", "\u017f", "é", "É", " ", "\n", "\n", "x", "\r\n"}
	rounds := 300
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 20_000
	}
	top := tree(t)
	f, w := finderOver(t, top)
	found := 0
	for range rounds {
		var text, expression strings.Builder
		for range r.IntN(60) {
			text.WriteString(letters[r.IntN(len(letters))])
		}
		for range 1 + r.IntN(4) {
			expression.WriteString(pieces[r.IntN(len(pieces))])
		}
		fold, context := r.IntN(2) == 0, r.IntN(3)
		p, err := CompilePattern(expression.String(), false, fold)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(top+"/f", []byte(text.String()), 0o644))
		compared := expression.String()
		if fold {
			compared = "(?i)" + compared
		}
		got, _ := search(t, f, w, ".", Search{Pattern: p, Context: context})
		require.Equal(t, plainSearch(text.String(), compared, context), got, "%q in %q, %d lines of context", compared, text.String(), context)
		found += len(got)
	}
	require.Greater(t, found, rounds)
}

// For any content of a file, the lines found are those of a simple search.
func FuzzScan(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\xff\n\nab\r"), "a|b$", 1)
	f.Add([]byte("\n\n"), "^$", 0)
	f.Add([]byte("\r\n\ufeffa"), `\ba`, 3)
	f.Fuzz(func(t *testing.T, data []byte, expression string, context int) {
		if bytes.IndexByte(data, 0) >= 0 || byteOrderMark(data) != nil || bytes.HasPrefix(data, []byte("\uFEFF")) {
			return
		}
		p, err := CompilePattern(expression, false, false)
		if err != nil {
			return
		}
		s := &scanner{pattern: p.matcher(never), context: max(0, context%5), most: 1 << 20, width: 1 << 20, budget: 1 << 30}
		if err := s.search(bytes.NewReader(data), int64(len(data))); !errors.Is(err, errDone) {
			require.NoError(t, err)
		}
		got := shown(Results{Files: []FileMatches{{Lines: s.got.lines}}})
		want := plainSearch(string(data), expression, s.context)
		require.Len(t, got, len(want))
		for i, line := range want {
			require.Equal(t, strings.ToValidUTF8(line, "\ufffd"), "f"+got[i])
		}
	})
}

// The cost of searching for a letter of either case does not depend on the distance of the other
// case: this took minutes.
func TestSearchOfAnyCaseIsLinear(t *testing.T) {
	f, w := finderOver(t, tree(t, "f "+strings.Repeat("quit\n", 300_000)))
	for _, expression := range []string{"QUIT", "qui[t]|zzz"} {
		_, r := search(t, f, w, ".", Search{Pattern: pattern(t, expression, "fold"), MaxBytes: 1 << 30})
		require.Equal(t, 300_000, r.Matches)
	}
}

func TestCompilePattern(t *testing.T) {
	for _, bad := range []string{"", "(", "[a", "a**", `\1`, "(?=a)", strings.Repeat("a", maxPattern+1), "(a{1000}){1000}",
		"a{1001}", strings.Repeat(`.{1000}`, 50), strings.Repeat(`(\w{100}\s){9}`, 50), "((a{1,30}){1,30}){2}" + strings.Repeat("(b{900})", 50)} {
		_, err := CompilePattern(bad, false, true)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), bad)
		require.NotEmpty(t, fault.As(err).Remedy)
	}
	for text, want := range map[string]string{"abc": "abc", "a.*needle": "needle", "foo|barbaz": "foo,barbaz", "(?:x|yz)?": "", "[a-c]+d": "d", "(hello)+": "hello"} {
		var texts []string
		for _, l := range pattern(t, text).literals {
			texts = append(texts, string(l.text))
		}
		require.Equal(t, want, strings.Join(texts, ","), text)
	}
	require.Equal(t, "earching_ta", string(pattern(t, "searching_task", "fold").literals[0].text), "k has a case outside ASCII")
}

// A pattern that makes backtracking engines hang takes linear time.
func TestSearchCatastrophicPattern(t *testing.T) {
	f, w := finderOver(t, tree(t, "f "+strings.Repeat("a", 100_000)))
	got, _ := search(t, f, w, ".", Search{Pattern: pattern(t, "(a+)+$"), LineBytes: 1})
	require.Len(t, got, 1)
	got, _ = search(t, f, w, ".", Search{Pattern: pattern(t, "(a|a)*b")})
	require.Empty(t, got)
}

// A line that is searched in pieces is reported once, and a match across two pieces is found.
func TestSearchInPieces(t *testing.T) {
	line := bytes.Repeat([]byte("0123456789abcde\t"), longestLine/16+1<<16)
	copy(line[longestLine-4:], "straddling")
	copy(line[10:], "often")
	copy(line[longestLine+1<<18:], "often")
	top := tree(t, "f x\n")
	f, w := finderOver(t, top)
	file, err := os.OpenFile(top+"/f", os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	for _, data := range [][]byte{line, []byte("\nlast often")} {
		_, err = file.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, file.Close())
	for expression, want := range map[string][]int{"straddling": {2}, "often": {2, 3}, "[s]traddlin[g]": {2}, "^(last|x)": {1, 3}, "absent": nil} {
		_, r := search(t, f, w, ".", Search{Pattern: pattern(t, expression), LineBytes: 20, Context: 1})
		var got []int
		for _, found := range r.Files {
			for _, l := range found.Lines {
				require.LessOrEqual(t, len(l.Text), 20+2*len("…"))
				if l.Match {
					got = append(got, l.Number)
				}
			}
		}
		require.Equal(t, want, got, expression)
	}
}

// A pattern for which package regexp takes minutes ends with its context.
func TestSearchEndsWithinALine(t *testing.T) {
	f, w := finderOver(t, tree(t, "f ä"+strings.Repeat("ab", 4<<20)))
	p, err := w.Resolve(".")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	slow := pattern(t, "[ab]*a[ab]{900}c")
	m := slow.matcher(func() bool { cancel(); return ctx.Err() != nil })
	require.False(t, m.match([]byte("ä"+strings.Repeat("ab", 4<<20))))
	require.Error(t, ctx.Err(), "it asked")
	require.Negative(t, m.dfa.room, "too much for an automaton")
	_, err = f.Search(ctx, Search{Pattern: slow, Start: p})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

func TestSearchErrors(t *testing.T) {
	top := tree(t, "f x", "dir/")
	f, w := finderOver(t, top)
	p, err := w.Resolve("absent")
	require.NoError(t, err)
	_, err = f.Search(t.Context(), Search{Pattern: pattern(t, "x"), Start: p})
	require.Equal(t, fault.FileNotFound, fault.CodeOf(err))
	start, err := w.Resolve(".")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []string{".", "f"} {
		p, err := w.Resolve(p)
		require.NoError(t, err)
		_, err = f.Search(ctx, Search{Pattern: pattern(t, "x"), Start: p})
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	}
	require.NoError(t, w.Close())
	_, err = f.Search(t.Context(), Search{Pattern: pattern(t, "x"), Start: start})
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = f.Walk(t.Context(), Walk{Start: start, Depth: -1}, func(File) bool { return true })
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// growing is a reader over a file that appends to it at the first read.
type growing struct {
	*os.File
	more func()
}

func (g *growing) Read(p []byte) (int, error) {
	g.more()
	return g.File.Read(p)
}

// A file is searched up to its size when it was opened, even if more is written during the search.
func TestSearchGrowingFile(t *testing.T) {
	top := tree(t, "f hit\n")
	file, err := os.Open(top + "/f")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // a test
	other, err := os.OpenFile(top+"/f", os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // a test
	grown := 0
	g := &growing{file, func() {
		n, err := other.WriteString("hit\n")
		require.NoError(t, err)
		grown += n
	}}
	s := &scanner{pattern: pattern(t, "hit").matcher(never), most: 10, width: 10, budget: 100}
	require.NoError(t, s.search(g, 4))
	require.Equal(t, 1, s.got.matches)
	require.Positive(t, grown)

	require.NoError(t, other.Truncate(0))
	g.more = func() {}
	require.NoError(t, s.search(g, 4), "it has shrunk")
}
