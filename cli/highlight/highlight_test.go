package highlight

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/theme"
)

var update = flag.Bool("update", false, "write the samples below testdata")

// marked returns code with the kinds of its tokens, such as «k:func».
func marked(t *testing.T, b Block, code string) string {
	t.Helper()
	names := []string{"", "k", "t", "f", "b", "s", "n", "c", "o", "key", "tag", "h", "+", "-"}
	var out strings.Builder
	for i, line := range strings.Split(code, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		joined := ""
		for _, token := range b.Line(line) {
			joined += token.Text
			if token.Kind == Other || strings.TrimSpace(token.Text) == "" || token.Kind == Operator {
				out.WriteString(token.Text)
			} else {
				fmt.Fprintf(&out, "‹%s:%s›", names[token.Kind], token.Text)
			}
		}
		require.Equal(t, line, joined, "nothing is lost")
	}
	return out.String()
}

// UI-01: every language has a sample below testdata: the code, and the code with its
// kinds.
func TestLanguages(t *testing.T) {
	h := New()
	names := map[string]bool{}
	for _, l := range append(programming(), data()...) {
		for kind, list := range [][]string{l.names, l.files} {
			for _, name := range list {
				name = fmt.Sprint(kind, name)
				require.False(t, names[name], "%s is in two languages", name)
				names[name] = true
			}
		}
		file := "testdata/" + l.names[0] + ".txt"
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		code, want, found := strings.Cut(string(data), "\n-----\n")
		require.True(t, found)
		got := marked(t, h.Block(l.names[0]), code)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(code+"\n-----\n"+got+"\n"), 0o644))
			continue
		}
		require.Equal(t, strings.TrimSuffix(want, "\n"), got, l.names[0])
		require.Equal(t, got, marked(t, h.Block(l.names[0]), code), "from memory")
	}
}

func TestNames(t *testing.T) {
	h := New()
	for file, want := range map[string]string{
		"main.go": "go", "a/b/Makefile": "make", `c:\x\App.TSX`: "typescript", "Dockerfile": "dockerfile", "Dockerfile.dev": "dockerfile", "x.Dockerfile": "dockerfile",
		".bashrc": "bash", "Cargo.lock": "toml", "Gemfile": "ruby", "data.yml": "yaml", "index.html": "html", "a.c++": "", "README": "", "": "", ".": "", "go": "", "json": "",
	} {
		got := ""
		if b := h.File(file); b.Known() {
			got = b.language.names[0]
		}
		require.Equal(t, want, got, file)
	}
	for _, name := range []string{"Go", "C++", "tsx", "sh", "shell-session"} {
		b := h.Block(name)
		require.True(t, b.Known(), name)
	}
	var none *Highlighter
	b := none.Block("go")
	require.False(t, b.Known())
	require.Equal(t, []Token{{Text: "func"}}, b.Line("func"))
	none.Until(time.Now())
	require.Zero(t, none.Missed())
}

// Every kind has a style in each coloured theme.
func TestKinds(t *testing.T) {
	for k := Keyword; k <= Removed; k++ {
		style := theme.Style{Bold: true, Underline: true}
		all := theme.Theme{Heading: style, Added: style, Removed: style}
		for i := range reflect.TypeFor[theme.Syntax]().NumField() {
			reflect.ValueOf(&all.Syntax).Elem().Field(i).Set(reflect.ValueOf(style))
		}
		require.Equal(t, style, k.Style(&all), k)
	}
	require.Zero(t, Other.Style(&theme.Theme{Text: theme.Style{Bold: true}}))
}

// Long lines and long blocks have no kinds, and do not change those of other lines.
func TestLimits(t *testing.T) {
	b := New().Block("go")
	long := "/*" + strings.Repeat("x", maxLine)
	require.Equal(t, []Token{{Text: long}}, b.Line(long))
	require.Equal(t, Keyword, b.Line("func")[0].Kind)
	for range maxBlock / maxLine {
		b.Line(strings.Repeat("x", maxLine))
	}
	require.False(t, b.Known())
	require.Equal(t, []Token{{Text: "func"}}, b.Line("func"))

	b = New().Block("typescript")
	for range 2 * maxDepth {
		b.Line("`${")
		require.LessOrEqual(t, len(strings.Fields(b.stack)), maxDepth)
	}
}

// A copy of a block does not change the block.
func TestCopies(t *testing.T) {
	b := New().Block("go")
	b.Line("/*")
	ahead := b
	ahead.Line("*/")
	require.Equal(t, Comment, b.Line("x")[0].Kind)
	require.Equal(t, Other, ahead.Line("x")[0].Kind)
}

// After the deadline only remembered lines have kinds.
func TestDeadline(t *testing.T) {
	h := New()
	now := time.Now()
	h.now = func() time.Time { return now }
	b := h.Block("go")
	b.Line("func")
	h.Until(now.Add(time.Second))
	now = now.Add(time.Minute)
	b = h.Block("go")
	require.Equal(t, Keyword, b.Line("func")[0].Kind)
	require.Zero(t, h.Missed())
	require.Equal(t, Other, b.Line("return")[0].Kind)
	require.Equal(t, Other, b.Line("func")[0].Kind, "the open constructs are unknown")
	require.Equal(t, 1, h.Missed())
	h.Until(time.Time{})
	b = h.Block("go")
	b.Line("func")
	require.Equal(t, Keyword, b.Line("return")[0].Kind)
}

// The cache is bounded, and keeps lines that are used.
func TestCache(t *testing.T) {
	h := New()
	for i := range 3 * maxCache {
		b := h.Block("ini")
		b.Line(fmt.Sprintf("x=%d", i))
		b = h.Block("ini")
		b.Line("kept=1")
	}
	require.LessOrEqual(t, len(h.recent)+len(h.old), 2*maxCache)
	_, known := h.lookup(cacheKey{byName("ini"), "", "kept=1"})
	require.True(t, known)
}

// A failure of the engine leaves the text as it is.
func TestFailure(t *testing.T) {
	for name, broken := range map[string]*language{
		"expression": {names: []string{"x"}, own: states{"root": {{`(`, kinds(keyword), ""}}}},
		"state":      {names: []string{"x"}, own: states{"root": {{`f`, kinds(keyword), "missing"}}}},
	} {
		b := New().block(broken)
		require.NotPanics(t, func() {
			require.Equal(t, []Token{{Text: "func"}}, b.Line("func"), name)
		})
	}
}

// For any text: the pieces are the text, and the same from memory.
func FuzzLine(f *testing.F) {
	all := append(programming(), data()...)
	for i, l := range all {
		data, err := os.ReadFile("testdata/" + l.names[0] + ".txt")
		require.NoError(f, err)
		f.Add(string(data), uint(i))
	}
	f.Add("\xff\xfe`${\x00\r\u2028", uint(2))
	h := New()
	f.Fuzz(func(t *testing.T, code string, n uint) {
		b := h.Block(all[n%uint(len(all))].names[0])
		require.Equal(t, marked(t, b, code), marked(t, b, code))
	})
}

func BenchmarkLine(b *testing.B) {
	data, err := os.ReadFile("highlight.go")
	require.NoError(b, err)
	lines := strings.Split(string(data), "\n")
	for b.Loop() {
		h := New()
		h.lexers = loaded(h)
		block := h.Block("go")
		for _, line := range lines {
			block.Line(line)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(lines)), "µs/line")
}

func loaded(h *Highlighter) map[*language]*lexer {
	h.lexer(byName("go"))
	return h.lexers
}

func TestSplit(t *testing.T) {
	tokens := []Token{{"ab", Keyword}, {"c", Other}, {"def", String}}
	for n := range 9 {
		head, rest := Split(tokens, n)
		texts := func(of []Token) (all string) {
			for _, token := range of {
				require.NotEmpty(t, token.Text)
				all += token.Text
			}
			return all
		}
		require.Equal(t, "abcdef"[:min(n, 6)], texts(head))
		require.Equal(t, "abcdef"[min(n, 6):], texts(rest))
		require.Equal(t, []Token{{"ab", Keyword}, {"c", Other}, {"def", String}}, tokens)
	}
	look := theme.Theme{Syntax: theme.Syntax{Keyword: theme.Style{Bold: true}}}
	require.Equal(t, "\x1b[1mab\x1b[0mcdef", Render(tokens, theme.Style{}, &look))
	require.Equal(t, "\x1b[1;4mab\x1b[0m", Render(tokens[:1], theme.Style{Underline: true}, &look))
}
