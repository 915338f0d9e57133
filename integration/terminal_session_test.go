package integration_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asks is displayed when a request waits for a key.
const asks = "enter answers"

// An interactive session (GO-08): a prompt, a diff that is approved, one that is
// denied with a comment, one that is edited, an answer; the changes are undone; the
// session is left and resumed.
func TestTerminalSession(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("../edit", "#!/bin/sh\nsed -i 's/THREE/Three, as I like it/' \"$1\"\n")
	d.env = append(d.env, "VISUAL="+d.home+"/edit")
	d.write("f.txt", "one\ntwo\nthree\n")
	d.write("../turns.json", `{"turns": [
		{"text": "I read the file first.", "calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
		{"text": "Now I change it.", "calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n-one\n+ONE\n two\n"}}]},
		{"expect": {"tool": "safe_patch", "ok": true}, "calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n ONE\n-two\n+TWO\n"}}]},
		{"expect": {"tool": "safe_patch", "ok": false}, "text": "As you like.", "calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n two\n-three\n+THREE\n"}}]},
		{"text": "**Done.** The file has:\n\n- `+"`ONE`"+`\n- two, as it was\n- a third line of yours\n"}
	]}`)
	p := d.run("fettle", "--model", "script:../turns.json")
	p.shows("type a prompt")
	p.types("Make it loud: f.txt")
	p.press("Enter")
	p.shows("+ONE")
	p.shows(asks)
	p.golden("approve")
	p.press("y")
	p.shows("+TWO")
	p.shows(asks)
	p.press("n")
	p.shows("What should be done instead?")
	p.types("leave two alone")
	p.golden("refuse")
	p.press("Enter")
	p.shows("+THREE")
	p.shows(asks)
	p.press("e")
	p.shows("+Three, as I like it")
	p.shows(asks)
	p.golden("edited")
	p.press("y")
	p.shows("a third line of yours")
	p.golden("answer")
	require.Equal(t, "ONE\ntwo\nThree, as I like it\n", d.read("f.txt"))

	p.types("/restore 1")
	p.press("Enter")
	p.until("the question whether to restore", func(screen string) bool {
		return strings.Contains(screen, "estore") && strings.Contains(screen, "[y]es")
	})
	p.golden("restore")
	p.press("y")
	p.until("the end of the restoring", func(string) bool { return d.read("f.txt") == "one\ntwo\nthree\n" })
	p.shows("type a prompt")
	p.golden("restored")
	p.types("/help")
	p.press("Enter")
	p.shows("/export")
	p.press("Escape")
	p.shows("type a prompt")
	p.types("/quit")
	p.press("Enter")
	require.Equal(t, "0", p.exitCode())

	d.write("../on.json", `{"turns": [{"text": "Once more, then."}]}`)
	again := d.run("fettle", "--model", "script:../on.json", "--resume=latest")
	again.shows("a third line of yours")
	again.golden("resumed")
	again.types("And now?")
	again.press("Enter")
	again.shows("Once more, then.")
	again.golden("resumed-answer")
	again.press("C-d")
	require.Equal(t, "0", again.exitCode())
}

// A terminal that is resized during a request, Ctrl-C during a turn, a terminal that
// is closed during a turn: the session survives and can be resumed.
func TestTerminalDisturbed(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("f.txt", "one\ntwo\nthree\n")
	d.write("../turns.json", `{"turns": [
		{"text": "I write it.", "calls": [{"tool": "write_file", "args": {"file_path": "new.txt", "content": "a line that is too long for a terminal that somebody has made as narrow as this one will be made\nshort\n"}}]},
		{"text": "Now I wait.", "calls": [{"tool": "run_shell_command", "args": {"command": "echo begun; sleep 600"}}]},
		{"text": "I wait again.", "calls": [{"tool": "run_shell_command", "args": {"command": "echo again; sleep 600"}}]}
	]}`)
	p := d.run("fettle", "--model", "script:../turns.json", "--allowed-tools", "run_shell_command")
	p.shows("type a prompt")
	p.types("Write, and wait.")
	p.press("Enter")
	p.shows(asks)
	p.golden("wide")
	p.resize("40", "16")
	p.golden("narrow")
	p.resize("80", "24")
	p.golden("wide") // unchanged
	p.press("y")
	p.shows("begun\n")
	p.press("C-c")
	p.shows("type a prompt")
	p.golden("called-off")
	require.Contains(t, d.read("new.txt"), "short\n")
	p.types("Wait again.")
	p.press("Enter")
	p.shows("again\n")
	p.close()

	d.write("../on.json", `{"turns": [{"text": "Where were we?"}]}`)
	again := d.run("fettle", "--model", "script:../on.json", "--resume=latest")
	again.shows("I wait again.")
	again.golden("after-the-end")
	again.types("Go on.")
	again.press("Enter")
	again.shows("Where were we?")
	again.shows("type a prompt")
	again.press("C-d")
	require.Equal(t, "0", again.exitCode())
}

// Line mode: the same session, without an escape sequence.
func TestTerminalLines(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("p.sh", "echo printed\n")
	d.write("b.sh", "echo begun\n")
	d.write("wait.sh", "exec sleep 600\n")
	d.write("f.txt", "one\ntwo\nthree\n")
	d.write("../turns.json", `{"turns": [
		{"text": "I run it.", "calls": [{"tool": "run_shell_command", "args": {"command": "sh p.sh"}}]},
		{"text": "I wait.", "calls": [{"tool": "run_shell_command", "args": {"command": "sh b.sh; sh wait.sh"}}]},
		{"text": "Here I am."}
	]}`)
	d.env = append(d.env, "TERM=dumb")
	p := d.run("fettle", "--model", "script:../turns.json")
	p.mustTmux("pipe-pane", "-t", p.id, "cat > "+d.root+"/raw")
	p.shows("\n>")
	p.types(`Run it, \`)
	p.press("Enter")
	p.shows("\n...")
	p.types("then wait.")
	p.press("Enter")
	p.until("a question", func(screen string) bool { return strings.Contains(screen, "[n]o >") })
	p.golden("lines-asked")
	p.types("y")
	p.press("Enter")
	p.until("another question", func(screen string) bool {
		return strings.Contains(screen, "wait.sh") && strings.HasSuffix(screen, "[n]o >\n")
	})
	p.types("y")
	p.press("Enter")
	p.shows("\nbegun\n")
	p.press("C-c")
	p.shows("[called off]")
	p.types("Are you there?")
	p.press("Enter")
	p.shows("Here I am.\n>")
	p.golden("lines")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
	require.NotContains(t, d.read("../raw"), "\x1b")
}
