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
	// stdinWait is the time that stdin has for its first byte.
	stdinWait = 500 * time.Millisecond
	// maxStdin is the maximum length of piped input, in bytes.
	maxStdin = 8 << 20
)

// ErrNoPrompt is returned if neither the command line nor stdin has a prompt.
var ErrNoPrompt = program.UsageError("There is no prompt.", "Give one with -p TEXT, or on stdin.")

// promptInput is the prompt of a headless run.
type promptInput struct {
	piped   string // from stdin
	text    string // of the flag, otherwise of stdin; @ in it mentions files
	notices []string
}

// whole returns the complete prompt: the piped input, a blank line, the text.
func (in promptInput) whole() string {
	if in.piped == "" {
		return in.text
	}
	return in.piped + "\n\n" + in.text
}

// readPrompt combines the flag's text and stdin, and rejects an empty prompt.
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

// readPiped returns the piped input: nothing from a terminal or from a pipe without
// data.
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
			data, err := io.ReadAll(io.LimitReader(r, maxStdin+1))
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
		if len(data) > 0 { // otherwise stdin is empty or closed
			in.notices = append(in.notices, "Cannot read all of stdin: "+display.Line(err.Error())+".")
		}
	}
	if len(data) > maxStdin {
		data = []byte(escape.Head(string(data), maxStdin))
		in.notices = append(in.notices, fmt.Sprintf("The input on stdin exceeds %d MiB and was truncated.", maxStdin>>20))
	}
	if !utf8.Valid(data) {
		in.notices = append(in.notices, "The input on stdin is not valid UTF-8; invalid bytes were replaced.")
	}
	in.piped = strings.TrimRight(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n")
	return in, nil
}
