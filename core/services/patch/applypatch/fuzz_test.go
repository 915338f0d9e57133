package applypatch_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
)

// FuzzParse checks that any text is a patch or is refused with its code; that operations name
// different files and have valid kinds; and that applying them to any text gives a text or a refusal,
// the same each time.
func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range []string{
		"",
		"*** Begin Patch\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: n\n+a\n\n+b\n*** Delete File: o\n*** Update File: u\n*** Move to: v\n@@ f\n@@  g\n a\n-b\n+c\n*** End of File\n*** End Patch\n",
		"apply_patch <<'EOF'\n*** Update File: a\r\n@@\r\n-a\r\n+b\r\nEOF\n",
		"```\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/p q b/p q\ndeleted file mode 1\n```\n",
		"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
		"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
	} {
		f.Add(s, "f\n a\n g\n  a\n  b\n")
		f.Add(s, "a\r\nb")
	}
	for seed := range uint64(20) {
		s := newSample(rand.New(rand.NewPCG(seed, 22)), seed%2 == 0)
		f.Add(s.patch, s.old)
	}
	f.Fuzz(func(t *testing.T, input, old string) {
		p, err := applypatch.Parse(input)
		if err != nil {
			if e := fault.As(err); e == nil || e.Code != fault.InvalidDiff || e.Remedy == "" {
				t.Fatalf("Parse(%q) = %v", input, err)
			}
			return
		}
		seen := map[string]bool{}
		for i := range p.Operations {
			o := &p.Operations[i]
			if o.Path == "" || seen[o.Path] || (o.Kind == applypatch.Move) != (o.NewPath != "") || seen[o.NewPath] && o.NewPath != "" || o.Line < 1 {
				t.Fatalf("Parse(%q): operation %+v", input, o)
			}
			seen[o.Path], seen[o.NewPath] = true, true
			got, _, err := o.Apply(old)
			again, _, errAgain := o.Apply(old)
			if got != again || (err == nil) != (errAgain == nil) {
				t.Fatalf("Apply of %q to %q gives %q, then %q", input, old, got, again)
			}
			switch code := fault.CodeOf(err); {
			case err == nil && o.Kind == applypatch.Update && got == old:
				t.Fatalf("%q on %q: nothing changed and no error", input, old)
			case err == nil && o.Kind == applypatch.Delete && got != "":
				t.Fatalf("%q on %q: the deleted file has %q", input, old, got)
			case err != nil && (got != "" || code != fault.InvalidDiff && code != fault.AmbiguousDiff):
				t.Fatalf("Apply of %q to %q = %q, %v", input, old, got, err)
			}
		}
	})
}
