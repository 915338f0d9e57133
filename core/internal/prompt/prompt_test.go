package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/prompt"
)

var everything = prompt.Facts{
	Directories: []string{"/shop", "/lib"}, System: "linux", Today: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), GitRepo: true,
	Tools:       []string{"read_file", "safe_patch", "write_file", "read_many_files", "search_file_content", "run_shell_command", "write_todos", "ask_user", "exit_plan_mode", "tool_search"},
	Catalog:     "github (1): merge",
	Servers:     []prompt.Server{{Name: "shelf", Instructions: "<mcp_server_instructions server=\"shelf\">\nAsk for books.\n</mcp_server_instructions>"}},
	Interactive: true, PlanMode: true, PlansDir: "/home/me/plans", Confined: "landlock", Untrusted: true,
	Documents: []prompt.Document{{Path: "/shop/AGENTS.md", Text: "\nUse tabs.\n"}, {Path: "/shop/empty.md", Text: " \n"}, {Path: "/shop/a/AGENTS.md", Text: "Use spaces."}},
}

// Each fact has its statement, and a missing fact has none.
func TestSystemHasEachFact(t *testing.T) {
	full := prompt.System(everything)
	for name, tt := range map[string]struct {
		without func(*prompt.Facts)
		want    string
	}{
		"reading":          {func(f *prompt.Facts) { f.Tools = nil }, "read_file returns a file with a version"},
		"patching":         {func(f *prompt.Facts) { f.Tools = []string{"read_file"} }, "safe_patch"},
		"writing":          {func(f *prompt.Facts) { f.Tools = []string{"read_file"} }, "write_file"},
		"many":             {func(f *prompt.Facts) { f.Tools = []string{"read_file"} }, "read_many_files"},
		"searching":        {func(f *prompt.Facts) { f.Tools = []string{"read_file"} }, "search_file_content"},
		"commands":         {func(f *prompt.Facts) { f.Tools = nil }, "run_shell_command runs bash"},
		"confinement":      {func(f *prompt.Facts) { f.Confined = "" }, "confined by landlock"},
		"git":              {func(f *prompt.Facts) { f.GitRepo = false }, "git repository"},
		"todos":            {func(f *prompt.Facts) { f.Tools = nil }, "write_todos"},
		"asking":           {func(f *prompt.Facts) { f.Interactive = false }, "Ask with ask_user"},
		"planning":         {func(f *prompt.Facts) { f.PlanMode = false }, "# Plan mode"},
		"plans":            {func(f *prompt.Facts) { f.PlansDir = "" }, "/home/me/plans"},
		"leaving":          {func(f *prompt.Facts) { f.Tools = nil }, "exit_plan_mode"},
		"folder":           {func(f *prompt.Facts) { f.Directories = nil }, "Directory: /shop."},
		"more directories": {func(f *prompt.Facts) { f.Directories = f.Directories[:1] }, "/lib"},
		"system":           {func(f *prompt.Facts) { f.System = "" }, "System: linux"},
		"day":              {func(f *prompt.Facts) { f.Today = time.Time{} }, "Wednesday, 4 March 2026"},
		"servers":          {func(f *prompt.Facts) { f.Servers = nil }, "## The server \"shelf\"\n\n<mcp_server_instructions server=\"shelf\">\nAsk for books.\n</mcp_server_instructions>\n"},
		"trust":            {func(f *prompt.Facts) { f.Untrusted = false }, "not trusted"},
		"more tools":       {func(f *prompt.Facts) { f.Catalog = "" }, "github (1): merge"},
		"searching it":     {func(f *prompt.Facts) { f.Tools = []string{"read_file"} }, "github (1): merge"},
		"documents":        {func(f *prompt.Facts) { f.Documents = nil }, "Use tabs."},
	} {
		require.Contains(t, full, tt.want, name)
		without := everything
		tt.without(&without)
		require.NotContains(t, prompt.System(without), tt.want, name)
	}
	headless := everything
	headless.Interactive = false
	require.Contains(t, prompt.System(headless), "cannot answer while you work")
	require.NotContains(t, full, "cannot answer while you work")
	require.Equal(t, full, prompt.System(everything), "the same facts, the same text")
}

// FT-15: documents appear with their paths, in order; empty ones are omitted.
func TestDocuments(t *testing.T) {
	for _, f := range []prompt.Facts{everything, {Custom: "Be brief.", Documents: everything.Documents}} {
		text := prompt.System(f)
		require.Contains(t, text, "--- Context from: /shop/AGENTS.md ---\nUse tabs.\n--- End of Context from: /shop/AGENTS.md ---\n")
		require.Less(t, strings.Index(text, "Use tabs."), strings.Index(text, "Use spaces."))
		require.NotContains(t, text, "empty.md")
	}
}

// A custom role or prompt replaces fettle's text.
func TestCustomText(t *testing.T) {
	f := everything
	f.Role = "You look for leaks.\n"
	text := prompt.System(f)
	require.True(t, strings.HasPrefix(text, "You look for leaks.\n"))
	require.NotContains(t, text, "You are fettle")
	require.Contains(t, text, "# Files")
	f.Rest = true
	text = prompt.System(f)
	require.NotContains(t, text, "You look for leaks.")
	require.NotContains(t, text, "# How to work")
	require.Contains(t, text, "# Files")
	f.Custom = "Only this."
	f.Documents = nil
	require.True(t, strings.HasPrefix(prompt.System(f), "Only this.\n\n# More tools\n"), "what nothing else tells")
	f.Catalog = ""
	require.Equal(t, "Only this.\n", prompt.System(f))
}
