package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// callArguments checks the arguments of a command that takes one call, TOOL
// [JSON|-], or with --batch reads calls from stdin.
func callArguments(args []string, batch bool) error {
	switch {
	case batch && len(args) > 0:
		return usageError("--batch takes its calls from stdin, not from the command line.", `Send one {"tool": NAME, "args": {…}} a line.`)
	case !batch && len(args) == 0:
		return usageError("The name of a tool is missing.", "fettle tools lists them.")
	case len(args) > 2:
		return usageError("There are arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -.")
	}
	return nil
}

// eachLine hands the lines of stdin to answer, as they come and without blank
// ones. The exit code is the highest that it returns; its error ends the batch.
func (p *program) eachLine(ctx context.Context, answer func(line int, text []byte) (exitCode, error)) error {
	in := bufio.NewReader(p.in)
	worst := exitDone
	for line := 1; ; line++ {
		text, err := awaitRead(ctx, func() ([]byte, error) { return readLine(in, tools.MaxJSONBytes) })
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			code, err := answer(line, text)
			if err != nil {
				return err
			}
			worst = max(worst, code)
		}
		if ctx.Err() != nil {
			worst = exitInterrupted
		}
		if err != nil || worst == exitInterrupted {
			break
		}
	}
	if worst == exitDone {
		return nil
	}
	return &exitError{code: worst}
}

// tellFailure prints what is wrong with a line of a batch, if anything is.
func (p *program) tellFailure(line int, failure *fault.Error) {
	if failure != nil {
		p.complain(fmt.Errorf("line %d: %s", line, failure.Line()))
	}
}

// readLine returns a line with its end, or no more than limit bytes and one of a
// longer one, whose rest it drops.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// decodeLine reads a line of JSON strictly. What could be read of a bad one
// stays in v.
func decodeLine(text []byte, v any) error {
	if len(text) > tools.MaxJSONBytes {
		return notACall(fmt.Errorf("it is longer than %d MiB", tools.MaxJSONBytes>>20))
	}
	if err := checkJSON(text); err != nil {
		return notACall(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if f := fault.As(err); f != nil {
			return f
		}
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
			err = fmt.Errorf("%q cannot be %s", wrong.Field, withArticle(wrong.Value))
			if wrong.Field == "" {
				err = fmt.Errorf("it is %s", withArticle(wrong.Value))
			}
		}
		return notACall(err)
	}
	return nil
}

// withArticle puts an article before what JSON calls a value.
func withArticle(value string) string {
	if strings.ContainsAny(value[:1], "ao") { // array, object
		return "an " + value
	}
	return "a " + value
}

// notACall says why a line of a batch cannot be answered.
func notACall(err error) *fault.Error {
	return fault.Wrap(fault.InvalidToolParams, "cli.batch", fmt.Sprintf("This line is not a call: %v.", err),
		`Send one JSON object a line: {"tool": NAME, "args": {…}}.`, err)
}
