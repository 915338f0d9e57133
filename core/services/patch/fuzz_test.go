package patch

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// seedDiffs are starting points that exercise every branch of the parser.
var seedDiffs = []string{
	"",
	"@@",
	"@@ -1 +1 @@\n-a\n+b\n",
	"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n",
	"```diff\n@@ ... @@\n a\n-b\n+c\n```\ntext\n",
	"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- x\n+++ y\n\n\n@@ -9 +9 @@\n-a\n\\ No newline at end of file\n+a\n",
	"--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n",
	"@@ -1,2 +1,2 @@\n a\n\n-b\n+c",
	"-- \n2.39.5\n\n",
	"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
	"@@@ -1 -1 +1 @@@\n",
	"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
}

// FuzzParse checks that any text is a diff or is refused; nothing panics.
func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range seedDiffs {
		f.Add(s)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newScenario(r)
		f.Add(s.diff.String())
	}
	f.Fuzz(func(t *testing.T, diff string) {
		d, err := Parse(diff)
		if err != nil {
			if !refused(err) || fault.CodeOf(err) != fault.InvalidDiff {
				t.Fatalf("Parse(%q) = %v", diff, err)
			}
			return
		}
		if len(d.hunks) == 0 {
			t.Fatalf("Parse(%q): no hunk and no error", diff)
		}
	})
}

// FuzzCorrect checks that a diff is refused, or the result differs from the base only in lines that
// the diff states, and that the rendered change is the applied one.
func FuzzCorrect(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range seedDiffs {
		f.Add("a\nb\n", s)
		f.Add("", s)
		f.Add("a\r\nb\nc\td", s)
	}
	f.Add("a", "@@0\n a\n+")
	f.Add("0\n\na", "@@\n+\n-\n-a")
	f.Add("\n\n", "@@\n\n \n+c\r\r")
	f.Add("a\n\n\n", "@@\n-\n\n+")
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		s := newScenario(r)
		m := mistakes[int(seed)%len(mistakes)]
		if d, ok := m.make(r, &s, s.diff.clone()); ok {
			f.Add(s.text(), d.String())
		}
	}
	f.Fuzz(func(t *testing.T, base, diff string) {
		d, err := Parse(diff)
		if err != nil {
			return
		}
		c, err := Correct(base, d)
		if err != nil {
			if !refused(err) {
				t.Fatalf("Correct(%q, %q) = %v", base, diff, err)
			}
			return
		}
		got, err := ApplyStrict(base, c)
		if err != nil {
			t.Fatalf("ApplyStrict after Correct(%q, %q) = %v", base, diff, err)
		}
		if got == base {
			t.Fatalf("Correct(%q, %q): nothing changed and no error", base, diff)
		}
		checkStated(t, base, d, c)
		if strings.HasSuffix(base, "\r") {
			return // a line feed would make it a line ending, which a diff cannot state
		}
		again, _, err := run(base, c.Unified("a/x", "b/x"))
		if shown := c.Unified("a/x", "b/x"); err != nil && got != "" && !repeats(base) {
			t.Fatalf("Unified of Correct(%q, %q) does not parse back: %v\n%s", base, diff, err, shown)
		}
		if err == nil && again != got {
			t.Fatalf("Unified of Correct(%q, %q) gives %q, not %q", base, diff, again, got)
		}
	})
}

// checkStated checks that c removes and adds only lines of the diff. The last line may be rewritten
// to add or remove its newline.
func checkStated(t *testing.T, base string, d *Diff, c *Change) {
	t.Helper()
	fold := tiers[len(tiers)-1].fold
	added, removed := map[string]bool{}, map[string]bool{}
	for _, h := range d.hunks {
		for _, l := range h.lines {
			if l.op == gitdiff.OpAdd {
				added[l.text] = true
			}
			if l.op == gitdiff.OpDelete {
				removed[fold(l.text)] = true
			}
		}
	}
	lines := splitLines(base)
	last := ""
	if len(lines) > 0 {
		last = content(lines[len(lines)-1])
	}
	for _, f := range c.fragments {
		for _, l := range f.Lines {
			text := content(l.Line)
			switch {
			case l.Op == gitdiff.OpAdd && !added[text] && !added[strings.TrimSuffix(l.Line, "\n")]:
				if again := len(lines) > 1 && content(lines[max(0, len(lines)-2)]) == text; text != last && !again && !keptBefore(d, text) {
					t.Fatalf("added %q, which %v does not state", l.Line, d)
				}
			case l.Op == gitdiff.OpDelete && !removed[fold(text)]:
				if text != last && !keptBefore(d, text) {
					t.Fatalf("removed %q, which %v does not state", l.Line, d)
				}
			}
		}
	}
}

// keptBefore reports whether text is a line that the diff removed and added again, which may have
// to be rewritten without its newline.
func keptBefore(d *Diff, text string) bool {
	for _, h := range d.hunks {
		for _, l := range h.lines {
			if l.again && l.text == text {
				return true
			}
		}
	}
	return false
}

// repeats reports whether a text has two equal lines, so that even a correct diff of it may be
// refused as applied already.
func repeats(text string) bool {
	seen := map[string]bool{}
	for _, l := range splitLines(text) {
		if seen[content(l)] {
			return true
		}
		seen[content(l)] = true
	}
	return false
}
