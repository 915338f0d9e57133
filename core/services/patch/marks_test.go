package patch

import (
	"fmt"
	"testing"
)

// TestSecondFileSetOff covers lines that contain a file name and other marks.
func TestSecondFileSetOff(t *testing.T) {
	const hunk, names = "@@ -1 +1 @@\n-a\n+b\n", "--- a/f.txt\n+++ b/f.txt\n"
	for _, mark := range []string{
		`"file": "%s"`, `{"file": "%s",`, "<!-- %s -->", `<file path="%s">`, "=== %s ===", "==> %s <==",
		"[%s]", "// File: %s", "// %s", "/* %s */", "; %s", "```diff %s", "```diff title=\"%s\"",
	} {
		for _, head := range []string{"", names} {
			if _, err := Parse(head + hunk + fmt.Sprintf(mark, "src/other.go") + "\n" + hunk); err == nil {
				t.Errorf("accepted after %q: %s", head, mark)
			}
		}
		if _, err := Parse(names + hunk + fmt.Sprintf(mark, "f.txt") + "\n" + hunk); err != nil {
			t.Errorf("%s for the same file: %v", mark, err)
		}
	}
	for _, prose := range []string{"Then the second change:", "// change 2", "# Second hunk", "...", "[...]", "2. second"} {
		if _, err := Parse(names + hunk + "\n" + prose + "\n" + hunk); err != nil {
			t.Errorf("%s: %v", prose, err)
		}
	}
}
