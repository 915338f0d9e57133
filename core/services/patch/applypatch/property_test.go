package applypatch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
	"github.com/fettle-dev/fettle/integration/memtemp"
)

func TestMain(m *testing.M) { os.Exit(memtemp.Of(m).Run()) }

// edit replaces the lines [from, to) of a text.
type edit struct {
	from, to int
	added    []string
}

// sample is a text, and a patch that changes it to want.
type sample struct{ old, want, patch string }

// indent returns the number of blanks before a line.
func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// newSample returns a random text and a patch. With unique every line of the text occurs once, and
// the patch must be accepted. Otherwise lines repeat, and the hunks have few lines of context and some of
// the first lines of the blocks around them as anchors.
func newSample(r *rand.Rand, unique bool) sample {
	n := 1 + r.IntN(40)
	var lines []string
	depth := 0
	for i := range n {
		text := string(rune('a' + r.IntN(4)))
		if unique {
			text = fmt.Sprintf("line %d", i)
		} else if r.IntN(8) == 0 {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, strings.Repeat(" ", depth)+text)
		depth = max(0, depth+r.IntN(3)-1)
	}
	var edits []edit
	for at := 0; at < len(lines); {
		at += r.IntN(8)
		if at >= len(lines) {
			break
		}
		e := edit{from: at, to: min(len(lines), at+r.IntN(3))}
		for k := range r.IntN(3) {
			e.added = append(e.added, fmt.Sprintf("%snew %d %d", strings.Repeat(" ", r.IntN(3)), at, k))
		}
		if e.to > e.from || len(e.added) > 0 {
			edits = append(edits, e)
		}
		at = e.to + 1
	}
	if len(edits) == 0 {
		edits = []edit{{0, 1, []string{"new"}}}
	}
	var body strings.Builder
	for i, e := range edits {
		writeHunk(&body, r, lines, edits, i, e, unique)
	}
	changed := slices.Clone(lines)
	for _, e := range slices.Backward(edits) {
		changed = slices.Replace(changed, e.from, e.to, e.added...)
	}
	eol, mark := "\n", ""
	if r.IntN(3) == 0 {
		eol = "\r\n"
	}
	if r.IntN(5) == 0 {
		mark = "\ufeff"
	}
	text := func(lines []string) string { return mark + strings.Join(append(slices.Clone(lines), ""), eol) }
	s := sample{text(lines), text(changed), "*** Begin Patch\n*** Update File: f\n" + body.String() + "*** End Patch\n"}
	last := edits[len(edits)-1]
	shortened := last.to == len(lines) && len(last.added) == 0 // the remaining lines keep their endings
	if r.IntN(4) == 0 && len(lines) > 1 && !shortened && lines[len(lines)-1] != "" && len(changed) > 0 && changed[len(changed)-1] != "" {
		s.old, s.want = strings.TrimSuffix(s.old, eol), strings.TrimSuffix(s.want, eol)
	}
	if len(changed) == 0 {
		s.want = "" // an empty file has no mark
	}
	return s
}

// writeHunk writes the hunk of edits[i], with context that no other edit changes.
func writeHunk(b *strings.Builder, r *rand.Rand, lines []string, edits []edit, i int, e edit, unique bool) {
	low, high := 0, len(lines)
	if i > 0 {
		low = edits[i-1].to
	}
	if i+1 < len(edits) {
		high = edits[i+1].from
	}
	before, after := r.IntN(3), r.IntN(3)
	if unique && e.from == e.to {
		before = max(before, 1)
		after = max(after, 1)
	}
	first, last := max(low, e.from-before), min(high, e.to+after)
	b.WriteString("@@")
	var around []string
	for at, depth := first, indent(lines[min(first, len(lines)-1)]); at > 0 && depth > 0; {
		at--
		if own := indent(lines[at]); lines[at] != "" && own < depth {
			depth = own
			around = append([]string{lines[at]}, around...)
		}
	}
	for k, line := range around {
		if r.IntN(4) > 0 {
			if k > 0 {
				b.WriteString("\n@@")
			}
			b.WriteString(" " + line)
		}
	}
	b.WriteString("\n")
	for at := first; at < e.from; at++ {
		b.WriteString(" " + lines[at] + "\n")
	}
	for at := e.from; at < e.to; at++ {
		b.WriteString("-" + lines[at] + "\n")
	}
	for _, line := range e.added {
		b.WriteString("+" + line + "\n")
	}
	for at := e.to; at < last; at++ {
		b.WriteString(" " + lines[at] + "\n")
	}
	if last == len(lines) && r.IntN(2) == 0 {
		b.WriteString("*** End of File\n")
	}
}

// ED-01: a patch of a random edit gives the edit. If lines repeat it may be refused, and never gives
// another text.
func TestEdits(t *testing.T) {
	const rounds = 4000
	for _, unique := range []bool{true, false} {
		t.Run(fmt.Sprintf("unique %t", unique), func(t *testing.T) {
			landed := 0
			for seed := range uint64(rounds) {
				s := newSample(rand.New(rand.NewPCG(seed, 21)), unique)
				p, err := applypatch.Parse(s.patch)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, s.patch)
				}
				got, _, err := p.Operations[0].Apply(s.old)
				switch {
				case err == nil && got != s.want:
					t.Fatalf("seed %d: text %q\ngives %q\nwant  %q\n%s", seed, s.old, got, s.want, s.patch)
				case err == nil:
					landed++
				case unique || fault.CodeOf(err) != fault.AmbiguousDiff && fault.CodeOf(err) != fault.InvalidDiff:
					t.Fatalf("seed %d: %v\ntext %q\n%s", seed, err, s.old, s.patch)
				}
			}
			if landed < rounds/10 {
				t.Errorf("only %d of %d patches were accepted", landed, rounds)
			}
			t.Logf("%d of %d patches were accepted", landed, rounds)
		})
	}
}

// ED-01: an exact diff gives its new text, as by safe_patch, in each form of the input. Many lines are
// blank, also at the ends of hunks.
func TestExactDiffs(t *testing.T) {
	pieces := []string{"\n", "\n", " \n", "\t\n", "a\n", "b\n", "c\n"}
	forms := []struct{ before, after string }{
		{"", ""}, {"", "\n"}, {"```diff\n", "```\n"}, {"apply_patch <<'EOF'\n", "EOF\n"}, {"*** Begin Patch\n", "*** End Patch\n"},
	}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 22))
		var lines []string
		for range 1 + r.IntN(20) {
			lines = append(lines, pieces[r.IntN(len(pieces))])
		}
		changed := slices.Clone(lines)
		at := r.IntN(len(lines))
		changed = slices.Replace(changed, at, min(len(lines), at+r.IntN(2)), "new\n")
		old, want := strings.Join(lines, ""), strings.Join(changed, "")
		diff := patch.Between(old, want).Unified("a/f", "b/f")
		d, err := patch.Parse(diff)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, diff)
		}
		base, change, err := patch.CorrectMarked(old, false, d)
		if err != nil {
			t.Fatalf("seed %d: safe_patch: %v\n%s", seed, err, diff)
		}
		if got, err := patch.ApplyStrict(base, change); err != nil || got != want {
			t.Fatalf("seed %d: safe_patch: %q and %v, want %q\n%s", seed, got, err, want, diff)
		}
		for _, form := range forms {
			input := form.before + diff + form.after
			p, err := applypatch.Parse(input)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, input)
			}
			if got, _, err := p.Operations[0].Apply(old); err != nil || got != want {
				t.Fatalf("seed %d: text %q\ngives %q and %v\nwant  %q\n%s", seed, old, got, err, want, input)
			}
		}
	}
}
