package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// installer is the person who installs an extension, at the terminal if there is
// one. All that is asked is shown on stderr.
type installer struct {
	p       *program
	agreed  bool // beforehand, by --consent
	tty     *os.File
	lines   *lineReader          // of tty
	missing []extensions.Setting // that nobody was there to give a value to
}

// installer returns the person, and what ends that.
func (p *program) installer(agreed bool) (*installer, func()) {
	i := &installer{p: p, agreed: agreed}
	done := func() {}
	if isTerminal(p.err) {
		if tty, err := os.Open(terminalName()); err == nil {
			i.tty, done = tty, func() { _ = tty.Close() }
		} else if in, ok := p.in.(*os.File); ok && isTerminal(in) {
			i.tty = in
		}
	}
	if i.tty != nil {
		i.lines = newLineReader(i.tty)
	}
	return i, done
}

func (i *installer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(i.p.err, format, args...) // a stderr that is gone shows nothing
}

// Agree shows what the extension will be able to do, and asks.
func (i *installer) Agree(ctx context.Context, c extensions.Consent) (bool, error) {
	i.say("%s", printable(c.Text()))
	if i.agreed {
		return true, nil
	}
	if i.tty == nil {
		return false, fault.New(fault.NobodyToAsk, "cli.extensions", fmt.Sprintf("The extension %s is left as it was: nobody could be asked whether it may do this.", c.Name),
			"Run it in a terminal, or add --consent if you agree.")
	}
	return i.agrees(ctx, "Go on?")
}

// agrees asks a question at the terminal until it is answered with yes or no. The
// end of input is no.
func (i *installer) agrees(ctx context.Context, question string) (bool, error) {
	for {
		i.lines.discard(i.tty)
		i.say("%s [y]es  [n]o > ", question)
		line, err := i.lines.read(ctx)
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case ctx.Err() != nil:
			i.say("\n")
			return false, ctx.Err()
		case answer == "y" || answer == "yes":
			return true, nil
		case answer == "n" || answer == "no" || err != nil:
			return false, nil
		}
	}
}

// Value asks for the value of a setting; Enter alone gives none.
func (i *installer) Value(ctx context.Context, s extensions.Setting) (value string, ok bool, err error) {
	if i.tty == nil {
		i.missing = append(i.missing, s)
		return "", false, nil
	}
	about := ""
	if s.Description != "" {
		about = ": " + oneLine(s.Description)
	}
	i.say("%s (%s)%s\n", oneLine(s.Name), oneLine(s.EnvVar), about)
	value, err = i.read(ctx, s.Sensitive)
	if err != nil {
		return "", false, err
	}
	if value == "" {
		i.missing = append(i.missing, s)
	}
	return value, value != "", nil
}

// read reads a line of the terminal, without showing it if it is sensitive.
func (i *installer) read(ctx context.Context, sensitive bool) (string, error) {
	i.lines.discard(i.tty)
	if !sensitive {
		i.say("your answer > ")
		line, err := i.lines.read(ctx)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			line = ""
		}
		return strings.TrimSpace(line), nil
	}
	i.say("your answer, which is not shown > ")
	text, err := readHidden(ctx, i.tty)
	i.say("\n")
	return strings.TrimSpace(text), err
}

// readHidden reads a line of a terminal that does not show it meanwhile. One that
// is given up lets the terminal show what is typed again.
func readHidden(ctx context.Context, tty *os.File) (string, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fault.Wrap(fault.NobodyToAsk, "cli.extensions", "The terminal cannot be read without showing what is typed.", "Give the value on stdin to fettle extensions config.", err)
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

// tellMissing tells of settings that were given no value.
func (i *installer) tellMissing(name string) {
	for _, s := range i.missing {
		i.p.complain(fault.New(fault.InvalidConfig, "cli.extensions", fmt.Sprintf("The setting %s of %s has no value yet.", s.Name, name),
			fmt.Sprintf("Give it one with fettle extensions config %s %s.", name, s.EnvVar)))
	}
}
