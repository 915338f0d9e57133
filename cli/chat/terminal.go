package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// terminalPrograms are the programs that get the terminal when a shell line of the user
// begins with one of them, or has one in a pipe or list: editors, pagers, monitors and
// programs that ask for a password.
func terminalPrograms() []string {
	return []string{
		"vi", "vim", "nvim", "view", "vimdiff", "nano", "pico", "emacs", "micro", "hx", "kak", "joe", "ne", "mcedit",
		"less", "more", "most", "man", "info", "top", "htop", "btop", "atop", "nmon", "watch", "tig", "lazygit", "gitui", "ranger", "nnn", "lf", "mc",
		"fzf", "tmux", "screen", "dialog", "whiptail", "sudo", "doas", "su", "passwd", "ssh", "mosh", "sftp", "gdb", "lldb", "psql", "mysql", "sqlite3",
	}
}

// terminalLine reports whether a shell line needs the terminal, and returns the command:
// a line that begins with a second "!" does, and one with a program of
// [terminalPrograms].
func terminalLine(line string) (command string, needs bool) {
	if rest, is := strings.CutPrefix(line, "!"); is {
		return strings.TrimSpace(rest), true
	}
	parts := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|;&\n(){}", r) })
	for _, part := range parts {
		for word := range strings.FieldsSeq(part) {
			if name, _, assigns := strings.Cut(word, "="); assigns && name != "" {
				continue
			}
			if slices.Contains(terminalPrograms(), path.Base(word)) {
				return line, true
			}
			break
		}
	}
	return line, false
}

// resetTerminal ends the modes that a killed program may have left: the alternate
// screen, a hidden cursor, mouse reports, bracketed paste, styles and keypad.
const resetTerminal = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[0m"

// inTerminal runs a shell line of the user with the terminal as its input and output.
// Nothing is captured; the model receives the line and how it ended.
func (w *work) inTerminal(ctx context.Context, line string) error {
	in, isFile := w.In.(*os.File)
	out, _ := w.Out.(*os.File)
	if !isFile || out == nil || !display.IsTerminal(in) {
		return fault.New(fault.InvalidToolParams, "cli.shell", "This command needs a terminal, and the session has none.", "Run it in a terminal.")
	}
	if w.sandbox != "" {
		return fault.New(fault.PolicyViolation, "cli.shell", "This command needs the terminal, which confined commands do not get.", "Run it in another terminal, or end the session and start one without the sandbox.")
	}
	if err := w.permitted(ctx, line); err != nil {
		return err
	}
	shellPath, err := exec.LookPath("bash")
	if err != nil {
		return fault.Wrap(fault.ExecutionFailed, "cli.shell", "The program bash is not installed.", "Install bash.", err)
	}
	var ended error
	done := make(chan struct{})
	terminal := &approval.Terminal{Tty: in, Screen: display.NewScreen(out)}
	run := func() {
		defer close(done)
		ended = terminal.Foreground(ctx, w.targetDir(), []string{shellPath, "-c", line})
		terminal.Screen.Live(resetTerminal, false)
	}
	if !w.send(interactive.Event{Kind: interactive.EventTerminal, Text: line, Terminal: run}) {
		return nil
	}
	select {
	case <-done:
	case <-ctx.Done(): // the front end ended without running it, or the command is ending
		return ctx.Err()
	}
	ending := terminalEnding(ended)
	w.send(interactive.Event{Kind: interactive.EventShell, Title: line, Text: "[" + ending + "]"})
	w.addContext(model.TextPart(fmt.Sprintf(shellContextBegin+"%s</command>\n<output>\n[It ran in the user's terminal; its output is unknown. %s.]\n</output>",
		tools.EscapeTag(line, "command"), strings.ToUpper(ending[:1])+ending[1:])))
	return nil
}

// hasTerminal reports whether the session has a terminal.
func (c *chat) hasTerminal() bool { return display.IsTerminal(c.In) && display.IsTerminal(c.Out) }

// permitted returns an error if policy denies a shell line.
func (w *work) permitted(ctx context.Context, line string) error {
	s, err := w.config.Scheduler()
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return err
	}
	decision, err := s.Explain(ctx, scheduler.Request{Tool: shellTool, Args: args}, scheduler.Situation{})
	if err != nil {
		return err
	}
	if decision.Decision == policy.Deny {
		return fault.New(fault.PolicyViolation, "cli.shell", "The command is denied: "+decision.Reason, decision.Remedy)
	}
	return nil
}

// terminalEnding describes how a command ended.
func terminalEnding(err error) string {
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return "exit code 0"
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Sprintf("exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return exit.String()
	}
	return "it did not start: " + display.Line(err.Error())
}

// shellTool is the tool whose rules apply to shell lines of the user.
const shellTool = "run_shell_command"
