package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The input of a session (UI-04): a file below is found by scattered letters, the editor
// changes the input, undo restores it, an image of the clipboard is inserted, and ? shows
// the keys.
func TestTerminalInput(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("../bin/wl-paste", "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n data'\n")
	d.write("../edit", "#!/bin/sh\nsed -i 's/parser/lexer/; s/^/Edited: /' \"$1\"\n")
	d.env = append(d.env, "VISUAL="+d.home+"/edit")
	for i, v := range d.env {
		if len(v) > 5 && v[:5] == "PATH=" {
			d.env[i] = "PATH=" + d.home + "/bin:" + v[5:]
		}
	}
	d.write("src/deep/my parser.go", "package parser\n")
	d.write("../turns.json", `{"turns": [{"text": "I see it."}]}`)
	p := d.run("fettle", "--model", "script:../turns.json")
	p.shows("type a prompt")
	p.types("Read @mprs")
	p.shows("> @src/deep/my parser.go")
	p.press("Tab")
	p.shows(`> Read @src/deep/my\ parser.go`)
	p.press("C-g")
	p.shows(`> Edited: Read @src/deep/my\ lexer.go`)
	p.press("C-_")
	p.shows(`> Read @src/deep/my\ parser.go`)
	p.press("C-v")
	p.shows("[Image 1: PNG, 1 KiB]")
	p.press("Enter")
	p.shows("I see it.")
	p.press("?")
	p.shows("Ctrl-G, Ctrl-X Ctrl-E")
	p.press("Escape")
	p.shows("type a prompt")
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())
}
