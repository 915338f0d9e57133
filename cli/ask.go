package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// asker returns the func that asks the person at the terminal, or nil where
// there is none: then an ask is a refusal. A question is shown on stderr, so
// stderr must be a terminal; the answer is read from the terminal itself, not
// from stdin, which may hold arguments (stdinTaken).
func (p *program) asker(stdinTaken bool) scheduler.Asker {
	if !isTerminal(p.err) {
		return nil
	}
	in, err := os.Open(terminalName())
	if err != nil {
		if stdinTaken || !isTerminal(p.in) {
			return nil
		}
		in, _ = p.in.(*os.File)
	}
	colour := wantsColour(p.err)
	return func(ctx context.Context, q scheduler.Question) (scheduler.Answer, error) {
		outcome, err := confirm(ctx, q.Confirmation, in, p.err, colour)
		return scheduler.Answer{Outcome: outcome}, err
	}
}

func terminalName() string {
	if runtime.GOOS == "windows" {
		return "CONIN$"
	}
	return "/dev/tty"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour reports whether to colour what goes to a stream: it is a
// terminal, and NO_COLOR and TERM do not object.
func wantsColour(stream any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(stream)
}

// confirm shows a confirmation and reads the answer: y approves, n and the
// end of input refuse, anything else is asked again. What was typed at a
// terminal before all of it was shown does not count.
func confirm(ctx context.Context, c *tools.Confirmation, in io.Reader, out io.Writer, colour bool) (scheduler.Outcome, error) {
	if _, err := io.WriteString(out, renderConfirmation(c, colour)); err != nil {
		return scheduler.Cancel, err
	}
	if terminal, ok := in.(*os.File); ok {
		discardTyped(terminal)
	}
	answers := bufio.NewReader(in)
	for {
		if _, err := io.WriteString(out, "Allow it? [y/N] "); err != nil {
			return scheduler.Cancel, err
		}
		line, err := awaitRead(ctx, func() ([]byte, error) { return answers.ReadBytes('\n') })
		if ctx.Err() != nil {
			_, _ = io.WriteString(out, "\n") // what follows begins on a line of its own
			return scheduler.Cancel, ctx.Err()
		}
		switch strings.ToLower(strings.TrimSpace(string(line))) {
		case "y", "yes":
			return scheduler.ProceedOnce, nil
		case "", "n", "no":
			return scheduler.Cancel, nil
		}
		if err != nil {
			return scheduler.Cancel, nil
		}
	}
}

// renderConfirmation is what a person needs to know to decide, as text.
func renderConfirmation(c *tools.Confirmation, colour bool) string {
	var b strings.Builder
	b.WriteString(paint(styleBold, printable(c.Title), colour) + "\n")
	switch {
	case c.EditDetails != nil:
		if c.OriginalContent == nil {
			b.WriteString("new file: ")
		}
		b.WriteString(oneLine(c.FilePath) + "\n" + renderDiff(c.FileDiff, colour))
	case c.ExecDetails != nil:
		b.WriteString(printable(c.Command) + "\n")
	case c.MCPDetails != nil:
		fmt.Fprintf(&b, "tool %s of server %s\n", oneLine(c.ToolName), oneLine(c.ServerName))
	case c.InfoDetails != nil:
		b.WriteString(printable(c.Prompt) + "\n")
		for _, u := range c.URLs {
			b.WriteString("  " + oneLine(u) + "\n")
		}
	}
	return b.String()
}
