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

// Prompter asks the user at the terminal, if there is one, outside of a session.
type Prompter struct {
	w     io.Writer
	tty   *os.File    // nil: none
	lines *lineReader // of tty
}

// NewPrompter returns a Prompter that writes questions to w, if w is a terminal, and
// reads the answers from the controlling terminal, otherwise from in; and a function
// that closes it.
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

// IsThere reports whether a user can be asked.
func (i *Prompter) IsThere() bool { return i.tty != nil }

// Printf prints formatted text.
func (i *Prompter) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(i.w, format, args...) // a closed stderr shows nothing
}

// Agrees asks a question until the answer is yes or no. The end of input is no.
func (i *Prompter) Agrees(ctx context.Context, question string) (bool, error) {
	for {
		i.lines.discard(i.tty)
		i.Printf("%s [y]es  [n]o > ", question)
		line, err := i.lines.Read(ctx)
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case ctx.Err() != nil:
			i.Printf("\n")
			return false, ctx.Err()
		case answer == "y" || answer == "yes":
			return true, nil
		case answer == "n" || answer == "no" || err != nil:
			return false, nil
		}
	}
}

// Read reads a line from the terminal, without echo if it is sensitive.
func (i *Prompter) Read(ctx context.Context, sensitive bool) (string, error) {
	i.lines.discard(i.tty)
	if !sensitive {
		i.Printf("your answer > ")
		line, err := i.lines.Read(ctx)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			line = ""
		}
		return strings.TrimSpace(line), nil
	}
	i.Printf("your answer (hidden) > ")
	text, err := readHidden(ctx, i.tty)
	i.Printf("\n")
	return strings.TrimSpace(text), err
}

// readHidden reads a line without echo. An abandoned read restores the echo.
func readHidden(ctx context.Context, tty *os.File) (string, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fault.Wrap(fault.NoApprover, "cli", "The terminal cannot read without echo.", "Give the value on stdin.", err)
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
		_ = term.Restore(fd, before) // the earlier state cannot be restored otherwise
		return "", ctx.Err()
	}
}

// TerminalName returns the path of the controlling terminal.
func TerminalName() string {
	if runtime.GOOS == "windows" {
		return "CONIN$"
	}
	return "/dev/tty"
}
