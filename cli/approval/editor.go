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

// editorGrace is the time that an editor has to exit once its request has ended.
const editorGrace = 2 * time.Second

// InEditor opens content in the user's editor and returns the saved text. The editor
// gets a file with the given name in a private temporary directory; both are removed.
func (t *Terminal) InEditor(ctx context.Context, name, content string) (edited string, err error) {
	command, err := editorCommand(os.Getenv, exec.LookPath)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fettle-edit-") // mode 0700
	if err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); err == nil && gone != nil {
			err = fmt.Errorf("the edited text was discarded because its copy in %s cannot be removed: %w", dir, gone)
		}
	}()
	path := filepath.Join(dir, editedName(name))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	if err := t.runEditor(ctx, append(command, path)); err != nil {
		return "", fmt.Errorf("the editor failed (%w); its text was discarded", err)
	}
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the edited text: %w", err)
	case !utf8.Valid(data):
		return "", errors.New("the edited text is not valid UTF-8 and was discarded")
	}
	return string(data), nil
}

// editedName returns the name of the file to edit: the original name, so that the
// editor sees its extension.
func editedName(name string) string {
	name = filepath.Base(filepath.Clean("/" + name))
	if name == "" || name == "." || strings.ContainsRune(name, filepath.Separator) {
		return "proposal"
	}
	return name
}

// editorCommand returns the command of the user's editor, without the file name.
func editorCommand(getenv func(string) string, look func(string) (string, error)) ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		editor := strings.TrimSpace(getenv(name))
		switch {
		case editor == "":
		case runtime.GOOS == "windows": // no shell parses it, and paths contain backslashes
			return strings.Fields(editor), nil
		default: // it may have arguments, quotes and variables; exec replaces the shell, so that the editor receives signals
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
	return nil, errors.New("no editor: set VISUAL or EDITOR")
}

// runEditor runs an editor on the terminal, as [Terminal.Foreground] does.
func (t *Terminal) runEditor(ctx context.Context, command []string) error {
	return t.Foreground(ctx, "", command)
}

// Foreground runs a program of the user on the terminal, in a directory, "" for the
// current one, and restores the state of the terminal. Once ctx ends the program is
// terminated. The error is that of [exec.Cmd.Run].
func (t *Terminal) Foreground(ctx context.Context, dir string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the user's own program
	cmd.Dir = dir
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
		if runtime.GOOS == "windows" { // reading and writing use different files
			cmd.Stdin, cmd.Stdout, cmd.Stderr = t.Tty, t.Screen.W, t.Screen.W
		}
		fd := int(screen.Fd())
		if state, err := term.GetState(fd); err == nil {
			defer func() { _ = term.Restore(fd, state) }()
		}
	}
	err := cmd.Run()
	if endedByCtrlC(err) { // sent to all programs at the terminal; it may arrive here a moment later
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
