package approval

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/fault"
)

// Prompter asks the person at the terminal in passing, if there is a terminal.
type Prompter struct {
	w     io.Writer
	tty   *os.File    // nil: there is none
	lines *lineReader // of tty
}

// NewPrompter returns one that shows on w what it asks, if w is a terminal, and
// reads the answers from the terminal itself, else from in; and what ends it.
func NewPrompter(in io.Reader, w io.Writer) (*Prompter, func()) {
	i := &Prompter{w: w}
	done := func() {}
	if display.IsTerminal(w) {
		if tty, err := os.Open(TerminalName()); err == nil {
			i.tty, done = tty, func() { _ = tty.Close() }
		} else if in, ok := in.(*os.File); ok && display.IsTerminal(in) {
			i.tty = in
		}
	}
	if i.tty != nil {
		i.lines = newLineReader(i.tty)
	}
	return i, done
}

// IsThere reports whether there is somebody to ask.
func (i *Prompter) IsThere() bool { return i.tty != nil }

// Say shows a piece of text.
func (i *Prompter) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(i.w, format, args...) // a stderr that is gone shows nothing
}

// Agrees asks a question at the terminal until it is answered with yes or no. The
// end of input is no.
func (i *Prompter) Agrees(ctx context.Context, question string) (bool, error) {
	for {
		i.lines.discard(i.tty)
		i.Say("%s [y]es  [n]o > ", question)
		line, err := i.lines.Read(ctx)
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case ctx.Err() != nil:
			i.Say("\n")
			return false, ctx.Err()
		case answer == "y" || answer == "yes":
			return true, nil
		case answer == "n" || answer == "no" || err != nil:
			return false, nil
		}
	}
}

// Read reads a line of the terminal, without showing it if it is sensitive.
func (i *Prompter) Read(ctx context.Context, sensitive bool) (string, error) {
	i.lines.discard(i.tty)
	if !sensitive {
		i.Say("your answer > ")
		line, err := i.lines.Read(ctx)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			line = ""
		}
		return strings.TrimSpace(line), nil
	}
	i.Say("your answer, which is not shown > ")
	text, err := readHidden(ctx, i.tty)
	i.Say("\n")
	return strings.TrimSpace(text), err
}

// readHidden reads a line of a terminal that does not show it meanwhile. One that
// is given up lets the terminal show what is typed again.
func readHidden(ctx context.Context, tty *os.File) (string, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fault.Wrap(fault.NoApprover, "cli.extensions", "The terminal cannot be read without showing what is typed.", "Give the value on stdin to fettle extensions config.", err)
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() { // it ends with the line, or with the program
		text, err := term.ReadPassword(fd)
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		if r.err != nil {
			return "", nil // the end of input is no answer
		}
		return string(r.text), nil
	case <-ctx.Done():
		_ = term.Restore(fd, before) // what the terminal was before cannot be had otherwise
		return "", ctx.Err()
	}
}

// TerminalName is the path of the terminal that a process is attached to.
func TerminalName() string {
	if runtime.GOOS == "windows" {
		return "CONIN$"
	}
	return "/dev/tty"
}
