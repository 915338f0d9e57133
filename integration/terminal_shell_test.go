package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A shell line of the user gets a real terminal (UI-04): a full-screen program reads a
// key, a program that is killed leaves no broken terminal, and the session goes on.
func TestTerminalShell(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	// like vi: it takes the alternate screen, reads one key without Enter and restores nothing
	d.write("vi", `#!/bin/bash
printf '\033[?1049h\033[?25l\033[2J\033[Hpress a key'
read -rsn1 key < /dev/tty
test -t 0 && test -t 1 && printf '%s' "$key" > key.txt
[ "$key" = k ] && kill -9 $$
exit 3
`)
	d.write("../turns.json", `{"turns": [{"text": "I see."}]}`)
	p := d.run("fettle", "--model", "script:../turns.json")
	p.shows("type a prompt")
	p.types("!./vi f.txt")
	p.press("Enter")
	p.shows("press a key")
	p.types("x")
	p.shows("[exit code 3]")
	p.shows("type a prompt")
	require.Equal(t, "x", d.read("key.txt"))
	p.types("!! ./vi")
	p.press("Enter")
	p.shows("press a key")
	p.types("k")
	p.shows("[signal: killed]")
	p.shows("type a prompt")
	p.golden("shell")
	p.types("What was that?")
	p.press("Enter")
	p.shows("I see.")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
}
