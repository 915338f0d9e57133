package instructions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// text returns the only document of a workspace's root.
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

// An imported file replaces the import, with its own imports relative to it.
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

// Texts that are not imports, and failed imports.
func TestNoImports(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an address", "me@a.md @", "me@a.md @"},
		{"a user name", "ask @anna, or @bob.", "ask @anna, or @bob."},
		{"a span of code", "`@a.md` and ``x ` @a.md``", "`@a.md` and ``x ` @a.md``"},
		{"a fence", "```\n@a.md\n```\n~~~~ md\n@a.md\n~~~\n~~~~\nx", "```\n@a.md\n```\n~~~~ md\n@a.md\n~~~\n~~~~\nx"},
		{"a fence without an end", "```\n@a.md", "```\n@a.md"},
		{"a backtick without an end", "it`s @missing.md", "it`s <!-- Import failed: missing.md - the file does not exist -->"},
		{"a directory", "@dir/", "<!-- Import failed: dir/ - the file does not exist -->"},
		{"above the workspace", "@../secret.md", "<!-- Import failed: ../secret.md - it is outside of the workspace -->"},
		{"an absolute path", "@/etc/passwd", "<!-- Import failed: /etc/passwd - it is outside of the workspace -->"},
		{"the home directory", "@~/x.md", "<!-- Import failed: ~/x.md - it is outside of the workspace -->"},
		{"a link out", "@out.md", "<!-- Import failed: out.md - the file does not exist -->"},
		{"an address of the web", "@https://x.org/a.md @file:///etc/passwd", "<!-- Import failed: https://x.org/a.md - the file does not exist --> <!-- Import failed: file:///etc/passwd - the file does not exist -->"},
		{"nothing", "@empty.md", "<!-- Import failed: empty.md - it is empty or cannot be read -->"},
		{"itself", "@AGENTS.md", "<!-- File already processed: AGENTS.md -->"},
		{"a cycle", "@loop.md", "<!-- Imported from: loop.md -->\n<!-- Imported from: ./self.md -->\n<!-- File already processed: ./loop.md -->\n" +
			"<!-- End of import from: ./self.md -->\n<!-- End of import from: loop.md -->"},
		{"a hidden file", "@dir/x.md", "<!-- Import failed: dir/x.md - it may not be read -->"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := tree(t, "secret.md secret", "ws/AGENTS.md "+tt.text, "ws/a.md A", "ws/loop.md @./self.md", "ws/self.md @./loop.md",
				"ws/empty.md ", "ws/out.md ->../secret.md", "ws/dir/x.md x")
			require.Equal(t, tt.want, text(t, top+"/ws", Options{MayShow: func(p workspace.Path) bool { return p.Base() != "x.md" }}))
		})
	}
}

// Imports are bounded in depth and size.
func TestImportLimits(t *testing.T) {
	deep := []string{"AGENTS.md @d1.md"}
	for i := 1; i < 9; i++ {
		deep = append(deep, fmt.Sprintf("d%d.md %d @d%d.md", i, i, i+1))
	}
	got := text(t, tree(t, deep...), Options{})
	require.Contains(t, got, "\n5 <!-- Import failed: d6.md - imports are nested deeper than 5 files -->")

	big := "b.md " + strings.Repeat("x", 200<<10)
	got = text(t, tree(t, "AGENTS.md "+strings.Repeat("@b.md\n", 20), big), Options{})
	require.Less(t, len(got), 700<<10)
	require.Contains(t, got, "the imports have more than 524288 bytes")
}

// Names come from the layout and the user; their order is the order of documents.
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

// The pieces of any text concatenate to the text.
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
