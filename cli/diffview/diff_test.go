package diffview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

func named(name string, p colorprofile.Profile) *theme.Theme {
	t := theme.New(theme.Options{Name: name, Profile: p})
	return &t
}

func dark() *theme.Theme { return named(theme.OnDark, colorprofile.TrueColor) }

// drawn returns the lines of a diff, and checks that the plain ones have the same text.
func drawn(t *testing.T, text string, s Style) []string {
	l := New(text, "f.go", highlight.New()).Layout(s)
	lines := l.Lines(0, l.Len())
	for i, plain := range l.Plain(0, l.Len()) {
		require.Equal(t, ansi.Strip(plain), ansi.Strip(lines[i]))
	}
	return lines
}

func stripped(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, strings.TrimRight(ansi.Strip(line), " "))
	}
	return out
}

const small = "--- a/f\n+++ b/f\n@@ -9,3 +9,4 @@ func f() -1 +1\n nine\n-\tx := call(old, 1)\n+\tx := call(newer, 1)\n+// more\r\n ten\n@@ -99 +100 @@\n--- no header\n+++ nor this\n\\ No newline at end of file\n"

// Without colours the signs tell which lines have changed (UI-01).
func TestOneColumn(t *testing.T) {
	want := []string{
		"  9   9  nine",
		" 10     -        x := call(old, 1)",
		"     10 +        x := call(newer, 1)",
		"     11 +// more␍",
		" 11  12  ten",
		"    ⋯",
		" 99     --- no header",
		"    100 +++ nor this",
		`        \ No newline at end of file`,
	}
	for name, look := range map[string]*theme.Theme{
		"plain": {}, "no colour": named(theme.None, colorprofile.ASCII), "16": named(theme.ANSI, colorprofile.ANSI), "256": named(theme.OnDark, colorprofile.ANSI256), "dark": dark(),
	} {
		require.Equal(t, want, stripped(drawn(t, small, Style{Columns: 80, Theme: look})), name)
	}
	require.Equal(t, want, stripped(drawn(t, small, Style{Columns: 200, TwoColumns: true, Theme: named(theme.None, colorprofile.ASCII)})), "two columns need colours")

	d := New(small, "", nil)
	added, removed := d.Stat()
	require.Equal(t, [2]int{3, 2}, [2]int{added, removed})
}

// Pairs of lines are next to each other, with their own numbers (UI-01).
func TestTwoColumns(t *testing.T) {
	lines := drawn(t, small, Style{Columns: 81, TwoColumns: true, Theme: dark()})
	require.Equal(t, []string{
		"  9  nine                               │  9  nine",
		" 10 -        x := call(old, 1)          │ 10 +        x := call(newer, 1)",
		"                                        │ 11 +// more␍",
		" 11  ten                                │ 12  ten",
		"    ⋯",
		" 99 --- no header                       │100 +++ nor this",
		`                                        │    \ No newline at end of file`,
	}, stripped(lines))
	long := "@@ -1 +1 @@\n-" + strings.Repeat("a", 40) + "\n+b\n"
	require.Equal(t, []string{
		"1 -" + strings.Repeat("a", 27) + "│1 +b",
		"  -" + strings.Repeat("a", 13) + strings.Repeat(" ", 14) + "│",
	}, stripped(drawn(t, long, Style{Columns: 61, TwoColumns: true, Theme: dark()})))
	require.Equal(t, []string{"1   -aaaaaaaaaaaaaaa", "    -aaaaaaaaaaaaaaa", "    -aaaaaaaaaa", "  1 +b"}, stripped(drawn(t, long, Style{Columns: 20, TwoColumns: true, Theme: dark()})), "too narrow")
}

// Changed words are marked, unless the lines have little in common (UI-01).
func TestWords(t *testing.T) {
	for _, tt := range []struct{ before, after, marked string }{
		{"x := call(old, 1)", "x := call(newer, 1)", "x := call([old], 1) | x := call([newer], 1)"},
		{"return a b, 1, 2", "return c d, 1, 2", "return [a b], 1, 2 | return [c d], 1, 2"},
		{"same words here", "same words here and more", "same words here | same words here[ and more]"},
		{"nothing alike", "completely different", "nothing alike | completely different"},
		{"naïve e\u0301te\u0301", "naïve e\u0301tes", "naïve [e\u0301te\u0301] | naïve [e\u0301tes]"},
		{"a 👩‍👩‍👧 family", "a 👩‍👩‍👦 family", "a [👩‍👩‍👧] family | a [👩‍👩‍👦] family"},
		{"", "x", " | x"},
		{strings.Repeat("a ", 501), strings.Repeat("a ", 502), strings.Repeat("a ", 501) + " | " + strings.Repeat("a ", 502)},
	} {
		olds, news := compare(tt.before, tt.after)
		require.Equal(t, tt.marked, marked(tt.before, olds)+" | "+marked(tt.after, news))
	}
	a, b := "begin "+strings.Repeat("same ", 90), "begin "+strings.Repeat("same ", 90)
	for i := range 9 {
		a, b = a+fmt.Sprintf("x%d,", i), b+fmt.Sprintf("y%d,", i)
	}
	olds, _ := compare(a, b)
	require.NotEmpty(t, olds)
}

func marked(line string, marks []span) string {
	for i := len(marks) - 1; i >= 0; i-- {
		m := marks[i]
		line = line[:m.from] + "[" + line[m.from:m.to] + "]" + line[m.to:]
	}
	return line
}

// Of unequal numbers of lines, the similar ones are pairs.
func TestPairs(t *testing.T) {
	run := func(removed, added []string) []row {
		var b strings.Builder
		b.WriteString("@@ -1 +1 @@\n")
		for _, l := range removed {
			b.WriteString("-" + l + "\n")
		}
		for _, l := range added {
			b.WriteString("+" + l + "\n")
		}
		return New(b.String(), "", nil).rows[1:]
	}
	require.Equal(t, []row{{-1, 2}, {1, 3}, {-1, 4}}, run([]string{"if a == 1 {"}, []string{"// comment", "if a == 2 {", "other()"}))
	require.Equal(t, []row{{1, 3}, {2, -1}}, run([]string{"abc", "def"}, []string{"ghi"}))
	many := strings.Split(strings.Repeat("line,", 120), ",")
	require.Len(t, run(many, many), len(many))
}

// Backgrounds reach the right edge, and changed words have their own (UI-01).
func TestBackgrounds(t *testing.T) {
	look := dark()
	for _, two := range []bool{false, true} {
		text := strings.Join(drawn(t, small, Style{Columns: 100, TwoColumns: two, Theme: look}), "\n")
		require.Contains(t, text, look.AddedWord.Render("newer"))
		require.Contains(t, text, look.RemovedWord.Render("old"))
		require.Contains(t, text, "    "+theme.Reset)
		require.Contains(t, text, look.Syntax.Comment.On(look.AddedLine).Render("// more␍"))
	}
	for i, line := range drawn(t, small, Style{Columns: 60, Theme: look}) {
		if strings.Contains("1 2 3 6 7", fmt.Sprint(i)) {
			require.Equal(t, 60, display.Width(line))
		}
	}
	sixteen := named(theme.ANSI, colorprofile.ANSI)
	text := strings.Join(drawn(t, small, Style{Columns: 100, Theme: sixteen}), "\n")
	require.NotContains(t, text, "\x1b[4")
	require.Contains(t, text, sixteen.AddedWord.Render("newer"))
	require.Contains(t, text, sixteen.AddedLine.Render("// more␍"))
}

// No line is wider than the terminal, and nothing is lost (UI-01).
func TestWidths(t *testing.T) {
	text := small + " 漢字漢字漢字漢字\n-\t\x1b[2J\u202e👩‍👩‍👧 \"e\u0301\n+\t👩‍👩‍👦 🇩🇪🇫🇷 \"\u0301x`\ufe0f" + strings.Repeat("wide 漢 ", 40) + "\n"
	for columns := -1; columns <= 200; columns++ {
		for _, two := range []bool{false, true} {
			lines := drawn(t, text, Style{Columns: columns, TwoColumns: two, Theme: dark()})
			for _, line := range lines {
				require.LessOrEqual(t, display.Width(line), max(columns, 1), "%d: %q", columns, line)
				require.NotContains(t, ansi.Strip(line), "\x1b")
			}
			if columns > 12 {
				// The unchanged line is in both columns.
				require.Contains(t, []int{44, 48}, strings.Count(strings.Join(stripped(lines), ""), "漢"))
			}
		}
	}
	for _, odd := range []string{"", "no diff\n", "@@\n+x", "@@ -x +y @@\n-\n", "@@ -99999999999999999999 +1 @@\n\\\n", "@@\n\n", "@@\n\\\n+a\n\\ b\n-c"} {
		for columns := range 90 {
			drawn(t, odd, Style{Columns: columns, TwoColumns: true, Theme: dark()})
		}
	}
}

// A window on a long diff is drawn without the rest, and continues to find colours
// where the time of the last frame ended.
func TestLong(t *testing.T) {
	var b strings.Builder
	for h := range 10 {
		fmt.Fprintf(&b, "@@ -%d +%d @@\n", h*1000+1, h*1000+1)
		for i := range 500 {
			fmt.Fprintf(&b, "-func f%d(a int) { return %d }\n+func f%d(a string) { return %d }\n", i, i, i, i+1)
		}
	}
	h := highlight.New()
	d := New(b.String(), "f.go", h)
	l := d.Layout(Style{Columns: 100, Theme: dark()})
	require.Equal(t, 10_009, l.Len())
	h.Until(time.Now().Add(-time.Second))
	plain := l.Lines(l.Len()-1000, l.Len()-990)
	require.NotContains(t, strings.Join(plain, ""), dark().Syntax.Keyword.On(dark().AddedLine).Render("func"))
	require.NotZero(t, h.Missed())
	h.Until(time.Time{})
	l.Lines(l.Len()-1000, l.Len()-990)
	known := 0
	for _, tokens := range d.tokens {
		if tokens != nil {
			known++
		}
	}
	require.Less(t, known, 1100, "only the hunk of the window")
}

func BenchmarkLayout(b *testing.B) {
	var text strings.Builder
	text.WriteString("@@ -1 +1 @@\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "-func f%d(a int) { return %d }\n+func f%d(a string) { return %d }\n", i, i, i, i+1)
	}
	for b.Loop() {
		l := New(text.String(), "f.go", highlight.New()).Layout(Style{Columns: 100, Theme: dark()})
		l.Plain(0, l.Len())
	}
}

func BenchmarkWindow(b *testing.B) {
	text := "@@ -1 +1 @@\n" + strings.Repeat("-func f(a int) { return 1 }\n+func f(a string) { return 2 }\n c\n", 3333)
	l := New(text, "f.go", highlight.New()).Layout(Style{Columns: 100, Theme: dark()})
	for b.Loop() {
		l.Lines(5000, 5050)
	}
}

// For any text: no line is too wide, and none has a control character.
func FuzzLayout(f *testing.F) {
	f.Add(small, 80)
	f.Add("@@\n-\x1b[2J\t\u202e\n+\u0301\xff\n\\\n", 3)
	look := dark()
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns %= 300
		for _, line := range drawn(t, text, Style{Columns: columns, TwoColumns: columns%2 == 0, Theme: look}) {
			require.LessOrEqual(t, display.Width(line), max(columns, 1))
			require.NotRegexp(t, `[\x00-\x1f\x7f]`, ansi.Strip(line))
		}
	})
}
