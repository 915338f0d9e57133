// Package program implements one run of fettle: its streams, flags, messages and exit
// codes, and the session that a command opens. All other packages of the program
// build on it. It imports only [display] of them.
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
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// Program is one run of fettle.
type Program struct {
	In       io.Reader
	Out, Err io.Writer
	Open     func(context.Context, SessionOptions) (Session, error)
	// Providers are the models, remote agents and MCP clients. nil: none; then only
	// commands without a session and sessions that use none of them work.
	Providers Providers
	// Keys are the stored keys of model providers. nil: none.
	Keys *credentials.Store

	// Notify receives the messages that are not warnings. nil: they are printed on Err.
	Notify func(text string)

	Parsed  bool           // the command line was parsed
	secrets *redact.Masker // of the session; nil: no session was opened
}

// PrintError prints an error and its remedy as one line on stderr.
func (p *Program) PrintError(err error) {
	line := err.Error()
	if f := fault.As(err); f != nil {
		line = f.Line()
	}
	_, _ = fmt.Fprintln(p.Err, "fettle: "+display.Line(p.Masked(line)))
}

// Masked returns text without the secrets of the session (of the environment before a
// session exists) and without text in the form of a secret.
func (p *Program) Masked(text string) string {
	hide := p.secrets
	if hide == nil {
		hide = &redact.Masker{}
		hide.Add(p.secretsOf(os.Environ())...)
	}
	return hide.Text(text)
}

// Masks masks further secrets in messages, such as a key that the user has typed.
func (p *Program) Masks(secrets ...string) {
	if p.secrets == nil {
		p.secrets = &redact.Masker{}
		p.secrets.Add(p.secretsOf(os.Environ())...)
	}
	p.secrets.Add(secrets...)
}

// PrintNotice prints a message that is not a warning.
func (p *Program) PrintNotice(text string) {
	if p.Notify != nil {
		p.Notify(display.Line(p.Masked(text)))
		return
	}
	p.PrintError(errors.New(text))
}
