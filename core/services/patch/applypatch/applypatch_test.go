package applypatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
)

// shapes returns the operations of a patch as text.
func shapes(p *applypatch.Patch) string {
	var all []string
	for _, o := range p.Operations {
		s := fmt.Sprintf("%d %s %s", o.Line, o.Kind, o.Path)
		if o.NewPath != "" {
			s += " -> " + o.NewPath
		}
		if o.Diff == nil {
			s += " as is"
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

const twoClasses = `import os

class A:
    def run(self):
        x = 1
        return x

    def stop(self):
        return 0

class B:
    def run(self):
        x = 1
        return x

    def stop(self):
        return 0
`

// ED-01: each form of the input that models send is parsed to its operations, or refused.
func TestParse(t *testing.T) {
	const update = "*** Update File: a.txt\n@@\n-a\n+b\n"
	begin, end := "*** Begin Patch\n", "*** End Patch\n"
	tests := map[string]struct{ input, want string }{
		"update":        {begin + update + end, "2 update a.txt"},
		"add":           {begin + "*** Add File: d/n.txt\n+a\n+\n+b\n" + end, "2 create d/n.txt"},
		"add empty":     {begin + "*** Add File: n.txt\n" + end, "2 create n.txt as is"},
		"delete":        {begin + "*** Delete File: o.txt\n" + end, "2 delete o.txt as is"},
		"move":          {begin + "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-a\n+b\n" + end, "2 move a.txt -> b.txt"},
		"move only":     {begin + "*** Update File: a.txt\n*** Move to: b.txt\n" + end, "2 move a.txt -> b.txt as is"},
		"several":       {begin + update + "*** Delete File: o.txt\n*** Add File: n.txt\n+a\n" + end, "2 update a.txt; 6 delete o.txt as is; 7 create n.txt"},
		"spaced":        {begin + "\n" + update + "\n*** Delete File: o.txt\n\n" + end, "3 update a.txt; 8 delete o.txt as is"},
		"space after":   {"*** Begin Patch  \n*** Update File:  a.txt \n@@ \n-a\n+b\n*** End Patch ", "2 update a.txt"},
		"case":          {"*** BEGIN PATCH\n*** update file: a.txt\n@@\n-a\n+b\n*** end patch\n", "2 update a.txt"},
		"quoted path":   {begin + "*** Update File: `a b.txt`\n@@\n-a\n+b\n" + end, "2 update a b.txt"},
		"CR LF":         {strings.ReplaceAll(begin+update+end, "\n", "\r\n"), "2 update a.txt"},
		"no markers":    {update, "1 update a.txt"},
		"no begin":      {update + end, "1 update a.txt"},
		"no first @@":   {begin + "*** Update File: a.txt\n-a\n+b\n" + end, "2 update a.txt"},
		"heredoc":       {"apply_patch <<'EOF'\n" + begin + update + end + "EOF\n", "3 update a.txt"},
		"heredoc in sh": {"bash -lc \"apply_patch <<'EOF'\n" + update + "EOF\"\n", "2 update a.txt"},
		"fence":         {"```patch\n" + begin + update + end + "```\n", "3 update a.txt"},
		"prose":         {"Here it is:\n\n" + begin + update + end + "Done.\n", "4 update a.txt"},
		"two patches":   {begin + update + end + "\n" + begin + "*** Delete File: o\n" + end, "2 update a.txt; 9 delete o as is"},
		"git header":    {begin + "*** Update File: a.txt\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n" + end, "2 update a.txt"},
		"synonym":       {begin + "*** Create File: n\n+a\n" + end, "2 create n"},
		"mark":          {"\ufeff" + begin + update + end, "2 update a.txt"},
		"unified":       {"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-a\n+b\n", "1 update a.txt; 6 update c"},
		"wrapped diff":  {begin + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n" + end, "2 update a.txt"},
		"git": {"diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n" +
			"diff --git a/o b/o\ndeleted file mode 100644\nindex 1..0\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" +
			"diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n" +
			"diff --git a/x y b/x y\ndeleted file mode 100644\nindex 0..0\n" +
			"diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n" +
			"diff --git a/r b/s\nsimilarity index 90%\nrename from r\nrename to s\nindex 1..2 100644\n--- a/r\n+++ b/s\n@@ -1 +1 @@\n-a\n+b\n",
			"1 create n; 8 delete o; 15 create e as is; 18 delete x y as is; 21 move p -> q as is; 25 move r -> s"},
		"no prefix":       {"--- src/x\n+++ src/x\n@@ -1 +1 @@\n-a\n+b\n", "1 update src/x"},
		"prefix is a dir": {"--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n", "1 update a/x"},
		"nested names":    {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/d/x b/d/x\n--- a/d/x\n+++ b/d/x\n@@ -1 +1 @@\n-a\n+b\n", "1 update x; 7 update d/x"},
		"looks like one":  {"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n c\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n", "1 update x; 7 update z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := applypatch.Parse(tt.input)
			if err != nil {
				t.Fatalf("%v\n%s", err, tt.input)
			}
			if got := shapes(p); got != tt.want {
				t.Errorf("operations %s, want %s", got, tt.want)
			}
		})
	}
}

// ED-01: what cannot be read in exactly one way is refused, with the line of the patch.
func TestParseRefuses(t *testing.T) {
	begin, end := "*** Begin Patch\n", "*** End Patch\n"
	tests := map[string]struct{ input, want string }{
		"empty":             {"", "no operation"},
		"nothing inside":    {begin + end, "no operation"},
		"cut off":           {begin + "*** Update File: a\n@@\n-a\n+b\n", "End Patch"},
		"unknown marker":    {begin + "*** Copy File: a\n" + end, "Line 2"},
		"move without file": {begin + "*** Move to: a\n" + end, "Line 2"},
		"late move":         {begin + "*** Update File: a\n@@\n-a\n+b\n*** Move to: c\n" + end, "Line 6"},
		"move of new file":  {begin + "*** Add File: a\n*** Move to: c\n+x\n" + end, "Line 3"},
		"move to itself":    {begin + "*** Update File: a\n*** Move to: ./a\n" + end, "Line 3"},
		"no path":           {begin + "*** Update File:\n@@\n-a\n+b\n" + end, "Line 2"},
		"no hunk":           {begin + "*** Update File: a\n" + end, "line 2"},
		"no lines":          {begin + "*** Update File: a\n@@ x\n" + end, "Hunk 1"},
		"no change":         {begin + "*** Update File: a\n@@\n a\n" + end, "changes nothing"},
		"no prefix":         {begin + "*** Update File: a\n@@\n a\nb\n-c\n" + end, "Line 5"},
		"new without +":     {begin + "*** Add File: a\n+x\ny\n" + end, "Line 4"},
		"new with -":        {begin + "*** Add File: a\n+x\n-y\n" + end, "Line 4"},
		"delete with lines": {begin + "*** Delete File: a\n-x\n" + end, "line 2"},
		"outside":           {begin + "text\n*** Delete File: a\n" + end, "Line 2"},
		"after the end":     {begin + "*** Delete File: a\n" + end + "*** Delete File: b\n", "Line 4"},
		"same path":         {begin + "*** Delete File: a\n*** Add File: ./a\n+x\n" + end, "Lines 2 and 3"},
		"same as target":    {begin + "*** Update File: a\n*** Move to: b\n*** Add File: b\n+x\n" + end, "Lines 2 and 4"},
		"other header":      {begin + "*** Update File: a\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-a\n+b\n" + end, "Line 3"},
		"two files in one":  {begin + "*** Update File: a\n@@\n-a\n+b\ndiff --git a/c b/c\n--- a/c\n+++ b/c\n@@\n-a\n+b\n" + end, "Line 6"},
		"context diff":      {"*** a\n--- b\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "Line 1"},
		"two names":         {"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "two names"},
		"no name":           {"@@ -1 +1 @@\n-a\n+b\n", "no file"},
		"mode only":         {"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "mode"},
		"binary":            {"diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "Line 3"},
		"copy":              {"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", "Line 3 copies a file"},
		"new link":          {"diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1de5659\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n", "Line 2 is about a symbolic link"},
		"changed link":      {"diff --git a/l b/l\nindex 1de5659..2b2f2e1 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n", "Line 2 is about a symbolic link"},
		"removed link":      {"diff --git a/l b/l\ndeleted file mode 120000\nindex 1de5659..0000000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "Line 2 is about a symbolic link"},
		"link in a section": {begin + "*** Update File: l\ndiff --git a/l b/l\nindex 1de5659..2b2f2e1 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n" + end, "Line 4 is about a symbolic link"},
		"submodule":         {"diff --git a/m b/m\nindex 1de5659..2b2f2e1 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n", "Line 2 is about a submodule"},
		"git, same path":    {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3 +3 @@\n-c\n+d\n", "Lines 1 and 7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := applypatch.Parse(tt.input)
			if err == nil {
				t.Fatalf("accepted as %s", shapes(p))
			}
			e := fault.As(err)
			if e == nil || e.Code != fault.InvalidDiff || e.Remedy == "" || !strings.Contains(e.Message, tt.want) {
				t.Errorf("error %v with remedy %q, want invalid_diff with %q", err, fault.As(err).Remedy, tt.want)
			}
		})
	}
}

// A quoted name is parsed to itself.
func TestQuoteName(t *testing.T) {
	for _, name := range []string{"a b", "a ", " a", "\ta", "'a'", "`a b`", `"a"`, `"`, "''", "'a"} {
		p, err := applypatch.Parse("*** Delete File: " + applypatch.QuoteName(name) + "\n")
		if err != nil || p.Operations[0].Path != name {
			t.Errorf("%q: %v, %v", name, p, err)
		}
	}
}

// ED-01: an update has exactly one result, or is refused with the candidates' lines.
func TestApply(t *testing.T) {
	tests := map[string]struct {
		old, body string
		want      string     // the new text; "" for a refusal
		code      fault.Code // of the refusal
		has       string     // in its message
	}{
		"one hunk":            {"a\nb\nc\n", "@@\n a\n-b\n+x\n c\n", "a\nx\nc\n", "", ""},
		"without @@":          {"a\nb\nc\n", " a\n-b\n+x\n", "a\nx\nc\n", "", ""},
		"two hunks":           {"a\nb\nc\nd\n", "@@\n-a\n+x\n@@\n-d\n+y\n", "x\nb\nc\ny\n", "", ""},
		"order narrows":       {"a\nb\na\n", "@@\n-b\n+x\n@@\n-a\n+y\n", "a\nx\ny\n", "", ""},
		"CR LF":               {"a\r\nb\r\n", "@@\n-b\n+x\n+y\n", "a\r\nx\r\ny\r\n", "", ""},
		"no final newline":    {"a\nb", "@@\n-b\n+x\n", "a\nx", "", ""},
		"newline removed":     {"a\nb\n", "@@\n-b\n+x\n\\ No newline at end of file\n", "a\nx", "", ""},
		"mark stays":          {"\ufeffa\nb\n", "@@\n-a\n+x\n", "\ufeffx\nb\n", "", ""},
		"mark shown":          {"\ufeffa\nb\n", "@@\n-\ufeffa\n+\ufeffx\n", "\ufeffx\nb\n", "", ""},
		"mark removed":        {"\ufeffa\nb\n", "@@\n-\ufeffa\n+x\n", "x\nb\n", "", ""},
		"mark added":          {"a\nb\n", "@@\n-a\n+\ufeffx\n", "\ufeffx\nb\n", "", ""},
		"empty file":          {"", "@@\n+a\n+b\n", "a\nb\n", "", ""},
		"empty, anchor":       {"", "@@ x\n+a\n", "", fault.InvalidDiff, "anchor"},
		"emptied":             {"a\n", "@@\n-a\n", "-", "", ""},
		"numbers":             {"a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n a\n-b\n+x\n", "a\nb\na\nx\n", "", ""},
		"ambiguous":           {"a\nb\na\nb\n", "@@\n a\n-b\n+x\n", "", fault.AmbiguousDiff, "lines 1, 3"},
		"absent":              {"a\nb\n", "@@\n-z\n+x\n", "", fault.InvalidDiff, ""},
		"no context":          {"a\nb\n", "@@\n+x\n", "", fault.InvalidDiff, "Hunk 1"},
		"white space":         {"a  \nb\n", "@@\n a\n-b\n+x\n", "a  \nx\n", "", ""},
		"anchor":              {"f\n a\ng\n a\n", "@@ g\n- a\n+ x\n", "f\n a\ng\n x\n", "", ""},
		"anchor, first block": {"f\n a\ng\n a\n", "@@ f\n- a\n+ x\n", "f\n x\ng\n a\n", "", ""},
		"anchor in hunk":      {"f\n a\ng\n a\n", "@@ g\n g\n- a\n+ x\n", "f\n a\ng\n x\n", "", ""},
		"anchor absent":       {"f\n a\n", "@@ h\n- a\n+ x\n", "", fault.InvalidDiff, "anchor"},
		"anchor below":        {"a\nb\n", "@@ b\n-a\n+x\n", "", fault.InvalidDiff, "line 1"},
		"anchor twice":        {"f\n a\nf\n b\n", "@@ f\n- b\n+ x\n", "", fault.AmbiguousDiff, "lines 1, 3"},
		"twice in block":      {"f\n a\n c\n a\n", "@@ f\n- a\n+ x\n", "", fault.AmbiguousDiff, "lines 2, 4"},
		"not in block":        {"f\n b\ng\n a\nh\n a\n", "@@ f\n- a\n+ x\n", "", fault.AmbiguousDiff, "line 4, 6"},
		"flat anchor":         {"a\nb\nc\na\n", "@@ b\n-a\n+x\n", "a\nb\nc\nx\n", "", ""},
		"flat, twice":         {"b\na\nc\na\n", "@@ b\n-a\n+x\n", "", fault.AmbiguousDiff, "lines 2, 4"},
		"anchors": {twoClasses, "@@ class B:\n@@     def run(self):\n-        x = 1\n+        x = 2\n",
			strings.Replace(twoClasses, "class B:\n    def run(self):\n        x = 1", "class B:\n    def run(self):\n        x = 2", 1), "", ""},
		"anchors, short": {twoClasses, "@@ class A\n\n@@ def stop\n-        return 0\n+        return 9\n",
			strings.Replace(twoClasses, "return 0", "return 9", 1), "", ""},
		"anchors, with @@": {twoClasses, "@@ class A: @@\n@@ def stop(self): @@\n-        return 0\n+        return 9\n",
			strings.Replace(twoClasses, "return 0", "return 9", 1), "", ""},
		"one of two anchors": {twoClasses, "@@ def run(self):\n-        x = 1\n+        x = 2\n", "", fault.AmbiguousDiff, "lines 4, 12"},
		"anchors reversed":   {twoClasses, "@@ class B:\n@@ import os\n-        x = 1\n+        x = 2\n", "", fault.InvalidDiff, "line 1"},
		"ends in brackets": {"func f(\n\ta int,\n) {\n\tx\n}\n\nfunc g(\n\ta int,\n) {\n\tx\n}\n", "@@ func f(\n-\tx\n+\ty\n",
			"func f(\n\ta int,\n) {\n\ty\n}\n\nfunc g(\n\ta int,\n) {\n\tx\n}\n", "", ""},
		"bracket below": {"int f()\n{\n\tx\n}\nint g()\n{\n\tx\n}\n", "@@ int f()\n-\tx\n+\ty\n",
			"int f()\n{\n\ty\n}\nint g()\n{\n\tx\n}\n", "", ""},
		"end of file":           {"a\nb\na\nb\n", "@@\n a\n-b\n+x\n*** End of File\n", "a\nb\na\nx\n", "", ""},
		"end, not there":        {"a\nb\nc\n", "@@\n a\n-b\n+x\n*** End of File\n", "", fault.InvalidDiff, "line 1"},
		"end, append":           {"a\nb\n", "@@\n+x\n*** End of File\n", "a\nb\nx\n", "", ""},
		"end, no newline":       {"a\nb", "@@\n+x\n*** End of File\n", "a\nb\nx", "", ""},
		"end, CR LF":            {"a\r\nb\r\n", "@@\n+x\n*** End of File\n", "a\r\nb\r\nx\r\n", "", ""},
		"end, after a hunk":     {"a\nb\n", "@@\n-a\n+y\n@@\n+x\n*** End of File\n", "y\nb\nx\n", "", ""},
		"end, anchor only":      {"f\n a\n", "@@ f\n+ x\n*** End of File\n", "", fault.InvalidDiff, "Hunk 1"},
		"changed by the anchor": {"g()\nf()\n a\n", "@@ g\n-f()\n+h()\n", "g()\nh()\n a\n", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := applypatch.Parse("*** Begin Patch\n*** Update File: d/a.txt\n" + tt.body + "*** End Patch\n")
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := p.Operations[0].Apply(tt.old)
			if tt.want == "" {
				e := fault.As(err)
				if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.has) || !strings.Contains(e.Message, "d/a.txt") {
					t.Errorf("%q and %v, want a refusal of code %s with %q", got, err, tt.code, tt.has)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, fault.As(err).Remedy)
			}
			if want := strings.TrimPrefix(tt.want, "-"); got != want {
				t.Errorf("text %q, want %q", got, want)
			}
		})
	}
}

// ED-01: a blank line at the end of a hunk is context in each form of the input, and text around a
// new file is not.
func TestBlankContextAtTheEnd(t *testing.T) {
	const hunk, section = "@@ -1,2 +1,2 @@\n-a\n+A\n \n", "*** Update File: u\n@@\n-a\n+A\n \n"
	const first, both = "--- a/u\n+++ b/u\n" + hunk, "a\nx\na\n\nb\n"
	tests := map[string]struct{ old, input, want string }{
		"unified":        {both, first, "a\nx\nA\n\nb\n"},
		"unified, blank": {both, first + "\n", "a\nx\nA\n\nb\n"},
		"fence":          {both, "```diff\n" + first + "```\n\n", "a\nx\nA\n\nb\n"},
		"heredoc":        {both, "apply_patch <<EOF\n" + first + "EOF\n", "a\nx\nA\n\nb\n"},
		"between marks":  {both, "*** Begin Patch\n" + first + "*** End Patch\n", "a\nx\nA\n\nb\n"},
		"git":            {"x\n\n", "--- a/v\n+++ b/v\n@@ -1,2 +1,3 @@\n x\n+q\n \n", "x\nq\n\n"},
		"section":        {both, section, "a\nx\nA\n\nb\n"},
		"section, end":   {both, section + "*** End Patch\n", "a\nx\nA\n\nb\n"},
		"new file":       {"", "*** Add File: u\n+a\n \n", "a\n"},
		"new file, end":  {"", "*** Begin Patch\n*** Add File: u\n+a\n \n*** End Patch\n \n", "a\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := applypatch.Parse(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := p.Operations[0].Apply(tt.old); err != nil || got != tt.want {
				t.Errorf("%q and %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestApplyOtherKinds(t *testing.T) {
	tests := map[string]struct{ input, old, want string }{
		"create":         {"*** Add File: n\n+a\n\n+b\n", "", "a\n\nb\n"},
		"create, no end": {"*** Add File: n\n+a\n\\ No newline at end of file\n", "", "a"},
		"create, CR LF":  {"*** Add File: n\r\n+a\r\n+b\r\n", "", "a\nb\n"},
		"create, empty":  {"*** Add File: n\n", "", ""},
		"delete":         {"*** Delete File: n\n", "a\n", ""},
		"delete, lines":  {"--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a\nb\n", ""},
		"move":           {"*** Update File: n\n*** Move to: m\n", "\ufeffa", "\ufeffa"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := applypatch.Parse(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := p.Operations[0].Apply(tt.old)
			if err != nil || got != tt.want {
				t.Errorf("%q and %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, input := range []string{"*** Add File: n\n+a\n", "--- a/n\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"} {
		p, err := applypatch.Parse(input)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := p.Operations[0].Apply("a\nb\n"); fault.CodeOf(err) != fault.InvalidDiff {
			t.Errorf("%q on another text: %q and %v", input, got, err)
		}
	}
}
