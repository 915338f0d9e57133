package headless

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/escape"
)

const (
	// stdinWait is how long stdin may take until its first byte.
	stdinWait = 500 * time.Millisecond
	// stdinMost is how much of it is taken.
	stdinMost = 8 << 20
)

// ErrNoPrompt is returned where neither the command line nor stdin has one.
var ErrNoPrompt = program.UsageError("There is no prompt.", "Give one with -p TEXT, or on stdin.")

// promptInput is what a headless run is asked.
type promptInput struct {
	piped   string // from stdin
	text    string // of the flag, or stdin's where the flag gives none; @ in it names files
	notices []string
}

// whole is the prompt as it was given: what was piped, a blank line, the text.
func (in promptInput) whole() string {
	if in.piped == "" {
		return in.text
	}
	return in.piped + "\n\n" + in.text
}

// readPrompt joins the flag's text and stdin, and refuses a prompt of nothing.
func readPrompt(ctx context.Context, p *program.Program, text string) (promptInput, error) {
	in, err := readPiped(ctx, p)
	if err != nil {
		return promptInput{}, err
	}
	if strings.TrimSpace(text) == "" {
		in.piped, text = "", in.piped
	}
	if in.text = text; strings.TrimSpace(in.text) == "" {
		return in, ErrNoPrompt
	}
	return in, nil
}

// readPiped returns what is piped into the program: nothing from a terminal, and
// nothing from a pipe that stays silent.
func readPiped(ctx context.Context, p *program.Program) (promptInput, error) {
	var in promptInput
	if p.In == nil || display.IsTerminal(p.In) {
		return in, nil
	}
	began := make(chan struct{})
	data, err := program.AwaitRead(ctx, func() ([]byte, error) {
		type outcome struct {
			data []byte
			err  error
		}
		done := make(chan outcome, 1)
		go func() { // ends with stdin, or with the process
			r := bufio.NewReader(p.In)
			if _, err := r.Peek(1); err == nil {
				close(began)
			}
			data, err := io.ReadAll(io.LimitReader(r, stdinMost+1))
			done <- outcome{data, err}
		}()
		silence := time.NewTimer(stdinWait)
		defer silence.Stop()
		select {
		case <-began:
		case o := <-done:
			return o.data, o.err
		case <-silence.C:
			return nil, nil
		}
		o := <-done
		return o.data, o.err
	})
	if err != nil {
		if ctx.Err() != nil {
			return in, err
		}
		if len(data) > 0 { // else stdin is none, as where it is closed
			in.notices = append(in.notices, "What is piped in could not be read to its end: "+display.Line(err.Error())+".")
		}
	}
	if len(data) > stdinMost {
		data = []byte(escape.Head(string(data), stdinMost))
		in.notices = append(in.notices, fmt.Sprintf("What is piped in is longer than %d MiB; the rest was left out.", stdinMost>>20))
	}
	if !utf8.Valid(data) {
		in.notices = append(in.notices, "What is piped in is not all UTF-8; the rest of it was replaced.")
	}
	in.piped = strings.TrimRight(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n")
	return in, nil
}
