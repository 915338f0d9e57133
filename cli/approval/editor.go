package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// editorGrace is how long an editor has to end by itself once its question has.
const editorGrace = 2 * time.Second

// InEditor lets the person edit content in an editor and returns what it is
// then. The editor gets a file of that name in a directory that is the person's
// alone; both go again.
func (t *Terminal) InEditor(ctx context.Context, name, content string) (edited string, err error) {
	command, err := editorCommand(os.Getenv, exec.LookPath)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fettle-edit-") // mode 0700
	if err != nil {
		return "", fmt.Errorf("there is no place for the text to edit: %w", err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); err == nil && gone != nil {
			err = fmt.Errorf("the edited text was not taken over, as its copy in %s cannot be removed: %w", dir, gone)
		}
	}()
	path := filepath.Join(dir, editedName(name))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("there is no place for the text to edit: %w", err)
	}
	if err := t.runEditor(ctx, append(command, path)); err != nil {
		return "", fmt.Errorf("the editor failed (%w), so nothing was taken over from it", err)
	}
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("what the editor has saved cannot be read: %w", err)
	case !utf8.Valid(data):
		return "", errors.New("the edited text is not valid UTF-8, so nothing was taken over from it")
	}
	return string(data), nil
}

// editedName is the name of the file in the editor: the original's, so that
// its extension is there to go by.
func editedName(name string) string {
	name = filepath.Base(filepath.Clean("/" + name))
	if name == "" || name == "." || strings.ContainsRune(name, filepath.Separator) {
		return "proposal"
	}
	return name
}

// editorCommand returns how to start the person's editor, up to the name of
// the file.
func editorCommand(getenv func(string) string, look func(string) (string, error)) ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		editor := strings.TrimSpace(getenv(name))
		switch {
		case editor == "":
		case runtime.GOOS == "windows": // where no shell reads it, and backslashes stand in paths
			return strings.Fields(editor), nil
		default: // may have arguments, quotes and variables; the shell makes room for it, so that it can be told to end
			return []string{"sh", "-c", "exec env " + editor + ` "$@"`, editor}, nil
		}
	}
	usual := []string{"vi", "nano"}
	if runtime.GOOS == "windows" {
		usual = []string{"notepad"}
	}
	for _, editor := range usual {
		if path, err := look(editor); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("there is no editor: set VISUAL or EDITOR to one")
}

// runEditor runs an editor on the terminal and leaves that in the state that
// it was in. Once ctx ends the editor is told to end.
func (t *Terminal) runEditor(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the person's own editor
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err == nil || errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = editorGrace
	if t.Tty != nil {
		screen, err := os.OpenFile(TerminalName(), os.O_RDWR, 0)
		if err != nil {
			screen = t.Tty
		} else {
			defer screen.Close()
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
		if runtime.GOOS == "windows" { // where reading and writing are two files
			cmd.Stdin, cmd.Stdout, cmd.Stderr = t.Tty, t.Screen.W, t.Screen.W
		}
		fd := int(screen.Fd())
		if state, err := term.GetState(fd); err == nil {
			defer func() { _ = term.Restore(fd, state) }()
		}
	}
	err := cmd.Run()
	if endedByCtrlC(err) { // which goes to all programs at the terminal, and may reach this one a moment later
		select {
		case <-ctx.Done():
		case <-time.After(editorGrace):
		}
	}
	return err
}

// endedByCtrlC reports whether a program was ended by an interrupt.
func endedByCtrlC(err error) bool {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
