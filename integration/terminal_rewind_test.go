package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Going back in a real terminal (UI-04): Esc twice lists the earlier prompts, the list of
// parts shows what each changes, and the files, the conversation and the input are those
// before the prompt. Esc in a list goes back to nothing.
func TestTerminalRewind(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("../turns.json", `{"turns": [
		{"text": "Hello."},
		{"calls": [{"tool": "write_file", "args": {"file_path": "new.txt", "content": "first\nsecond\n"}}]}, {"text": "It is written."}
	]}`)
	p := d.run("fettle", "--model", "script:../turns.json", "--approval-mode", "auto_edit")
	p.shows("type a prompt")
	for _, turn := range [][2]string{{"Say hello", "Hello."}, {"Write the file", "It is written."}} {
		p.types(turn[0])
		p.press("Enter")
		p.shows(turn[1])
		p.shows("type a prompt")
	}
	require.Equal(t, "first\nsecond\n", d.read("new.txt"))
	picks := func() {
		p.press("Escape")
		p.shows("esc again goes back to an earlier prompt")
		p.press("Escape")
		p.shows("2. Write the file")
	}
	picks()
	p.golden("rewind")
	p.press("Escape")
	p.until("no list", func(screen string) bool { return strings.Contains(screen, "type a prompt") })
	picks()
	p.press("Enter")
	p.shows("Files and conversation")
	p.golden("rewind-parts")
	p.press("Enter")
	p.until("the prompt in the input", func(screen string) bool {
		return strings.Contains(screen, "> Write the file") && !strings.Contains(screen, "It is written.")
	})
	p.golden("rewound")
	_, err := os.Stat(filepath.Join(d.project, "new.txt"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
