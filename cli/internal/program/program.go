// Package program is one run of fettle: its streams, flags, messages and exit codes,
// and the session that a command opens. All other packages of the program stand on
// it; it knows none of them but [display].
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// Program is one run of fettle.
type Program struct {
	In       io.Reader
	Out, Err io.Writer
	Open     func(context.Context, SessionOptions) (Session, error)

	Parsed  bool           // the command line has been understood
	secrets *redact.Masker // of the session; nil: none was opened
}

// Complain prints an error as one line on stderr, its remedy included.
func (p *Program) Complain(err error) {
	line := err.Error()
	if f := fault.As(err); f != nil {
		line = f.Line()
	}
	_, _ = fmt.Fprintln(p.Err, "fettle: "+display.Line(p.Masked(line)))
}

// Masked is text without the secrets of the session, or of the environment before
// there is one, and without what has the shape of one.
func (p *Program) Masked(text string) string {
	hide := p.secrets
	if hide == nil {
		hide = &redact.Masker{}
		hide.Add(secretsOf(os.Environ())...)
	}
	return hide.Text(text)
}

// Say tells something that is no warning.
func (p *Program) Say(text string) { p.Complain(errors.New(text)) }
