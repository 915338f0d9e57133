package instructions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// text returns the one document that a workspace's root has.
func text(t *testing.T, top string, o Options) string {
	t.Helper()
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve(".")
	require.NoError(t, err)
	docs, err := New(w, o).For(t.Context(), p, nil)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	return docs[0].Text
}

// What a file imports stands in its place, with its own imports, relative to it.
func TestImports(t *testing.T) {
	top := tree(t, "AGENTS.md Begin\n@docs/style.md\nEnd, see @./README.md.\n", "docs/style.md Style.\n@more/deep.md", "docs/more/deep.md Deep.", "README.md Readme.")
	const imported = "<!-- Imported from: %[1]s -->\n%[2]s\n<!-- End of import from: %[1]s -->"
	style := fmt.Sprintf(imported, "docs/style.md", "Style.\n"+fmt.Sprintf(imported, "more/deep.md", "Deep."))
	require.Equal(t, "Begin\n"+style+"\nEnd, see "+fmt.Sprintf(imported, "./README.md", "Readme.")+".\n", text(t, top, Options{}))
	require.Equal(t, "Begin\n@docs/style.md\nEnd, see @./README.md.\n", text(t, top, Options{Imports: ImportNone}))
	require.Equal(t, "Begin\n@docs/style.md\nEnd, see @./README.md.\n\n"+
		"--- File: "+top+"/docs/style.md ---\nStyle.\n@more/deep.md\n--- End of File: "+top+"/docs/style.md ---\n\n"+
		"--- File: "+top+"/docs/more/deep.md ---\nDeep.\n--- End of File: "+top+"/docs/more/deep.md ---\n\n"+
		"--- File: "+top+"/README.md ---\nReadme.\n--- End of File: "+top+"/README.md ---\n", text(t, top, Options{Imports: ImportFlat}))
}

// What is no import, and what cannot be imported.
func TestNoImports(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an address", "me@a.md @", "me@a.md @"},
		{"a person", "ask @anna, or @bob.", "ask @anna, or @bob."},
		{"a span of code", "`@a.md` and ``x ` @a.md``", "`@a.md` and ``x ` @a.md``"},
		{"a fence", "```\n@a.md\n```\n~~~~ md\n@a.md\n~~~\n~~~~\nx", "```\n@a.md\n```\n~~~~ md\n@a.md\n~~~\n~~~~\nx"},
		{"a fence without an end", "```\n@a.md", "```\n@a.md"},
		{"a backtick without an end", "it`s @missing.md", "it`s <!-- Import failed: missing.md - there is no such file -->"},
		{"a directory", "@dir/", "<!-- Import failed: dir/ - there is no such file -->"},
		{"above the workspace", "@../secret.md", "<!-- Import failed: ../secret.md - it lies outside the workspace -->"},
		{"an absolute path", "@/etc/passwd", "<!-- Import failed: /etc/passwd - it lies outside the workspace -->"},
		{"the home directory", "@~/x.md", "<!-- Import failed: ~/x.md - it lies outside the workspace -->"},
		{"a link out", "@out.md", "<!-- Import failed: out.md - there is no such file -->"},
		{"an address of the web", "@https://x.org/a.md @file:///etc/passwd", "<!-- Import failed: https://x.org/a.md - there is no such file --> <!-- Import failed: file:///etc/passwd - there is no such file -->"},
		{"nothing", "@empty.md", "<!-- Import failed: empty.md - it is empty or cannot be read -->"},
		{"itself", "@AGENTS.md", "<!-- File already processed: AGENTS.md -->"},
		{"a circle", "@loop.md", "<!-- Imported from: loop.md -->\n<!-- Imported from: ./self.md -->\n<!-- File already processed: ./loop.md -->\n" +
			"<!-- End of import from: ./self.md -->\n<!-- End of import from: loop.md -->"},
		{"what may not be shown", "@dir/x.md", "<!-- Import failed: dir/x.md - it may not be read -->"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := tree(t, "secret.md secret", "ws/AGENTS.md "+tt.text, "ws/a.md A", "ws/loop.md @./self.md", "ws/self.md @./loop.md",
				"ws/empty.md ", "ws/out.md ->../secret.md", "ws/dir/x.md x")
			require.Equal(t, tt.want, text(t, top+"/ws", Options{MayShow: func(p workspace.Path) bool { return p.Base() != "x.md" }}))
		})
	}
}

// Imports are bounded in depth and in size.
func TestImportLimits(t *testing.T) {
	deep := []string{"AGENTS.md @d1.md"}
	for i := 1; i < 9; i++ {
		deep = append(deep, fmt.Sprintf("d%d.md %d @d%d.md", i, i, i+1))
	}
	got := text(t, tree(t, deep...), Options{})
	require.Contains(t, got, "\n5 <!-- Import failed: d6.md - imports go deeper than 5 files -->")

	big := "b.md " + strings.Repeat("x", 200<<10)
	got = text(t, tree(t, "AGENTS.md "+strings.Repeat("@b.md\n", 20), big), Options{})
	require.Less(t, len(got), 700<<10)
	require.Contains(t, got, "the imports hold more than 524288 bytes")
}

// Names are the layout's and the person's; the first goes first.
func TestNames(t *testing.T) {
	top := tree(t, "AGENTS.md agents", "FETTLE.md fettle", "a/agents.md a-agents", "a/FETTLE.md a-fettle", "a/x.go x")
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve("a/x.go")
	require.NoError(t, err)
	for want, names := range map[string][]string{
		"agents a-agents":                 nil,
		"fettle agents a-fettle a-agents": {"FETTLE.md", "AGENTS.md"},
		"fettle a-fettle":                 {"FETTLE.md"},
		"":                                {},
	} {
		docs, err := New(w, Options{Names: names}).For(t.Context(), p, nil)
		require.NoError(t, err)
		var texts []string
		for _, d := range docs {
			texts = append(texts, d.Text)
		}
		require.Equal(t, want, strings.Join(texts, " "))
	}
}

// Any text is taken apart into pieces that make it up.
func FuzzCodeAndText(f *testing.F) {
	for _, s := range []string{"a `b` c", "```\nx\n```", "~~~", "``` ``", "`a``b`", "\n> ```\nx\n> ```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var all strings.Builder
		for _, p := range codeAndText(s) {
			all.WriteString(p.text)
		}
		require.Equal(t, s, all.String())
	})
}
