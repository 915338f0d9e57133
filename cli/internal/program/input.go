package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Arguments returns the JSON of a call: the argument itself, or stdin for "-".
func Arguments(ctx context.Context, p *Program, arg string) (json.RawMessage, error) {
	data := []byte(arg)
	if arg == "-" {
		var err error
		if data, err = AwaitRead(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(p.In, tools.MaxJSONBytes+1)) }); err != nil {
			return nil, err
		}
		if len(data) > tools.MaxJSONBytes {
			return nil, UsageError(fmt.Sprintf("The arguments on stdin are longer than %d MiB.", tools.MaxJSONBytes>>20), "Split the work into several calls.")
		}
	}
	if err := checkJSON(data); err != nil {
		return nil, UsageError("The arguments are not JSON: "+err.Error()+".", `Send one JSON object, as {"file_path": "go.mod"}.`)
	}
	return data, nil
}

// checkJSON reports why data is not exactly one JSON text.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("they are not valid UTF-8")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("they are empty")
	}
	var v json.RawMessage
	return json.Unmarshal(data, &v)
}

// AwaitRead runs a read that no context can stop and returns early when ctx
// ends; the read is then abandoned, as the process is about to end.
func AwaitRead(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		data, err := read()
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		return o.data, o.err
	case <-ctx.Done():
		return nil, Interrupted()
	}
}

// CallArguments checks the arguments of a command that takes one call, TOOL
// [JSON|-], or with --batch reads calls from stdin.
func CallArguments(args []string, batch bool) error {
	switch {
	case batch && len(args) > 0:
		return UsageError("--batch takes its calls from stdin, not from the command line.", `Send one {"tool": NAME, "args": {…}} a line.`)
	case !batch && len(args) == 0:
		return UsageError("The name of a tool is missing.", "fettle tools lists them.")
	case len(args) > 2:
		return UsageError("There are arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -.")
	}
	return nil
}

// EachLine hands the lines of stdin to answer, as they come and without blank
// ones. The exit code is the highest that it returns; its error ends the batch.
func EachLine(ctx context.Context, p *Program, answer func(line int, text []byte) (ExitCode, error)) error {
	in := bufio.NewReader(p.In)
	worst := ExitDone
	for line := 1; ; line++ {
		text, err := AwaitRead(ctx, func() ([]byte, error) { return ReadLine(in, tools.MaxJSONBytes) })
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
			worst = ExitInterrupted
		}
		if err != nil || worst == ExitInterrupted {
			break
		}
	}
	if worst == ExitDone {
		return nil
	}
	return &ExitError{Code: worst}
}

// TellFailure prints what is wrong with a line of a batch, if anything is.
func TellFailure(p *Program, line int, failure *fault.Error) {
	if failure != nil {
		p.Complain(fmt.Errorf("line %d: %s", line, failure.Line()))
	}
}

// ReadLine returns a line with its end, or no more than limit bytes and one of a
// longer one, whose rest it drops.
func ReadLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// DecodeLine reads a line of JSON strictly. What could be read of a bad one
// stays in v.
func DecodeLine(text []byte, v any) error {
	if len(text) > tools.MaxJSONBytes {
		return NotACall(fmt.Errorf("it is longer than %d MiB", tools.MaxJSONBytes>>20))
	}
	if err := checkJSON(text); err != nil {
		return NotACall(err)
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
		return NotACall(err)
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

// NotACall says why a line of a batch cannot be answered.
func NotACall(err error) *fault.Error {
	return fault.Wrap(fault.InvalidToolParams, "cli.batch", fmt.Sprintf("This line is not a call: %v.", err),
		`Send one JSON object a line: {"tool": NAME, "args": {…}}.`, err)
}
