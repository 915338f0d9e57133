//go:build unix

package approval

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
)

// editorScript writes a shell script and sets it as the user's editor. The script
// receives the file name as $1.
func editorScript(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my editor")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	t.Setenv("VISUAL", "'"+path+"' --wait")
	t.Setenv("TMPDIR", t.TempDir())
}

// left returns the names in the directory for temporary files.
func left(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	require.NoError(t, err)
	return names
}

// AR-21: the editor gets the proposed content in a private directory, under a
// meaningful name, and no file remains.
func TestInEditor(t *testing.T) {
	editorScript(t, `[ "$1" = --wait ] || exit 1
ls -ld "$(dirname "$2")" "$2" | cut -c1-10 >`+"$LOG"+`
basename "$2" >>"$LOG"
cat "$2" >>"$LOG"
printf 'mine\r\n' >"$2"
`)
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("LOG", log)
	term := NewTerminal(strings.NewReader(""), display.NewScreen(io.Discard), false)
	got, err := term.InEditor(t.Context(), "a.go", "package a\n")
	require.NoError(t, err)
	require.Equal(t, "mine\r\n", got)
	seen, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "drwx------\n-rw-------\na.go\npackage a\n", string(seen))
	require.Empty(t, left(t))
}

func TestEditorFails(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"exit code":      {`echo mine >"$2"; exit 3`, "the editor failed (exit status 3)"},
		"no file":        {`rm "$2"`, "read the edited text"},
		"not text":       {`printf 'a\377b' >"$2"`, "the edited text is not valid UTF-8"},
		"not found":      {`exec /no/such/program`, "the editor failed (exit status 127)"},
		"ends by itself": {`kill -9 $$`, "the editor failed (signal: killed)"},
	} {
		t.Run(name, func(t *testing.T) {
			editorScript(t, c.script)
			_, err := NewTerminal(strings.NewReader(""), display.NewScreen(io.Discard), false).InEditor(t.Context(), "a.go", "package a\n")
			require.ErrorContains(t, err, c.want)
			require.Empty(t, left(t))
		})
	}
}

// AR-29: the editor ends with its request.
func TestEditorEndsWithItsQuestion(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	t.Setenv("STARTED", started)
	editorScript(t, "echo >\"$STARTED\"\nexec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = os.ReadFile(started) // until the editor runs
	}()
	_, err := NewTerminal(strings.NewReader(""), display.NewScreen(io.Discard), false).InEditor(ctx, "a.go", "package a\n")
	require.Error(t, err)
	require.Empty(t, left(t))
}

func TestEditedName(t *testing.T) {
	for name, want := range map[string]string{
		"a.go": "a.go", "Makefile": "Makefile", "-x": "-x", "": "proposal", ".": "proposal", "..": "proposal", "/": "proposal",
		"../../etc/passwd": "passwd", "/w/a b.txt": "a b.txt", ".env": ".env",
	} {
		require.Equal(t, want, editedName(name), "%q", name)
	}
}

func TestEditorCommand(t *testing.T) {
	none := errors.New("not found")
	for name, c := range map[string]struct {
		env  map[string]string
		have string
		want []string
	}{
		"VISUAL first":     {map[string]string{"VISUAL": "code --wait", "EDITOR": "ed"}, "vi", []string{"sh", "-c", `exec env code --wait "$@"`, "code --wait"}},
		"EDITOR":           {map[string]string{"VISUAL": " ", "EDITOR": "ed"}, "vi", []string{"sh", "-c", `exec env ed "$@"`, "ed"}},
		"vi":               {nil, "vi nano", []string{"/bin/vi"}},
		"nano":             {nil, "nano", []string{"/bin/nano"}},
		"none":             {nil, "", nil},
		"none, but a name": {map[string]string{"EDITOR": "gone"}, "", []string{"sh", "-c", `exec env gone "$@"`, "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := editorCommand(func(k string) string { return c.env[k] }, func(p string) (string, error) {
				if strings.Contains(" "+c.have+" ", " "+p+" ") {
					return "/bin/" + p, nil
				}
				return "", none
			})
			require.Equal(t, c.want, got)
			if c.want == nil {
				require.ErrorContains(t, err, "set VISUAL or EDITOR")
			}
		})
	}
}
