package integration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// UI-02: the boxes of a command with several parts, of a set of files and of questions,
// in a real terminal of both sizes: the selection, scrolling and the stored choices.
func TestTerminalApprovals(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("../.fettle/settings.json", `{"ui": {"animations": false}, "tools": {"core": ["apply_patch", "ask_user", "read_file", "run_shell_command"]}}`)
	d.write("a.txt", "one\ntwo\nthree\n")
	d.write("b.txt", "x\ny\n")
	d.write("../turns.json", `{"turns": [
		{"text": "A command.", "calls": [{"tool": "run_shell_command", "args": {"command": "echo out; sh build.sh && rm -rf build", "description": "Build and clean"}}]},
		{"expect": {"tool": "run_shell_command", "ok": false}, "text": "Files, then.", "calls": [{"tool": "read_file", "args": {"file_path": "a.txt"}}, {"tool": "read_file", "args": {"file_path": "b.txt"}}]},
		{"calls": [{"tool": "apply_patch", "args": {"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n three\n*** Update File: b.txt\n@@\n-x\n+X\n y\n*** Add File: c.txt\n+new\n*** End Patch\n"}}]},
		{"expect": {"tool": "apply_patch", "ok": true}, "text": "Questions.", "calls": [{"tool": "ask_user", "args": {"questions": [
			{"question": "Which **database** is used?", "header": "Database", "type": "choice", "options": [{"label": "SQLite", "description": "a file in the project"}, {"label": "PostgreSQL", "description": "a server"}]},
			{"question": "Which tests are run?", "header": "Tests", "type": "choice", "multiSelect": true, "options": [{"label": "unit", "description": "seconds"}, {"label": "integration", "description": "minutes"}]}
		]}}]},
		{"expect": {"tool": "ask_user", "ok": true}, "text": "I use that."}
	]}`)
	p := d.run("fettle", "--model", "script:../turns.json")
	p.shows("type a prompt")
	p.types("Go on.")
	p.press("Enter")
	p.shows(asks)
	p.golden("approve-command")
	p.resize("200", "50")
	p.golden("approve-command-large")
	p.resize("80", "24")
	p.golden("approve-command")
	p.press("Enter") // the selection starts at no
	p.shows("What should be done instead?")
	p.types("Keep the build.")
	p.press("Enter")

	p.until("the approval of the set", func(screen string) bool {
		return strings.Contains(screen, "1 of 3: update a.txt") && strings.Contains(screen, asks)
	})
	p.golden("approve-set")
	p.press("PPage", "End") // the body scrolls, the selection remains
	p.golden("approve-set-scrolled")
	p.press("Down")
	p.shows("> 1  [y]es once")
	p.press("Enter")

	p.until("the first question", func(screen string) bool {
		return strings.Contains(screen, "Which database is used?") && strings.Contains(screen, asks)
	})
	require.Equal(t, "one\nTWO\nthree\n", d.read("a.txt"))
	require.Equal(t, "new\n", d.read("c.txt"))
	p.press("Down")
	p.golden("form-choice")
	p.press("Enter")
	p.shows("Which tests are run?")
	p.press("Space")
	p.shows("[x] unit")
	p.golden("form-several")
	p.press("Enter")
	p.shows("I use that.")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
}
