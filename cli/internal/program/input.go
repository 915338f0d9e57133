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
	"github.com/fettle-dev/fettle/core/jsonkeys"
	"github.com/fettle-dev/fettle/core/tools"
)

// Arguments returns the JSON arguments of a call: arg itself, or stdin if arg is "-".
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
		return nil, UsageError("The arguments are not valid JSON: "+err.Error()+".", `Send one JSON object, such as {"file_path": "go.mod"}.`)
	}
	return data, nil
}

// checkJSON returns an error unless data is exactly one JSON text.
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

// AwaitRead runs a blocking read and returns early when ctx ends; the read is then
// abandoned because the process is about to exit.
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

// CallArguments checks the arguments of a command that takes one call, TOOL [JSON|-],
// or with --batch reads calls from stdin.
func CallArguments(args []string, batch bool) error {
	switch {
	case batch && len(args) > 0:
		return UsageError("--batch reads its calls from stdin, not from the command line.", `Send one {"tool": NAME, "args": {…}} per line.`)
	case !batch && len(args) == 0:
		return UsageError("The tool name is missing.", "fettle tools lists them.")
	case len(args) > 2:
		return UsageError("Unexpected arguments after the JSON.", "Quote the JSON as one argument, or send it on stdin with -.")
	}
	return nil
}

// EachLine calls answer for each line of stdin as it arrives, blank lines excepted.
// It returns the highest exit code; an error of answer ends the batch.
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

// ReportFailure prints the error of a batch line, if there is one.
func ReportFailure(p *Program, line int, failure *fault.Error) {
	if failure != nil {
		p.PrintError(fmt.Errorf("line %d: %s", line, failure.Line()))
	}
}

// ReadLine returns a line with its line ending. Of a line longer than limit it
// returns limit+1 bytes and drops the rest.
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

// DecodeLine decodes a line of JSON strictly. v keeps the fields that were decoded
// before an error.
func DecodeLine(text []byte, v any) error {
	if len(text) > tools.MaxJSONBytes {
		return InvalidCall(fmt.Errorf("it is longer than %d MiB", tools.MaxJSONBytes>>20))
	}
	if err := checkJSON(text); err != nil {
		return InvalidCall(err)
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
		return InvalidCall(err)
	}
	if err := jsonkeys.Check(text, 1); err != nil {
		return InvalidCall(err)
	}
	return nil
}

// withArticle puts an indefinite article before the JSON name of a type.
func withArticle(value string) string {
	if strings.ContainsAny(value[:1], "ao") { // array, object
		return "an " + value
	}
	return "a " + value
}

// InvalidCall returns the error for a batch line that cannot be run.
func InvalidCall(err error) *fault.Error {
	return fault.Wrap(fault.InvalidToolParams, "cli.batch", fmt.Sprintf("This line is not a call: %v.", err),
		`Send one JSON object per line: {"tool": NAME, "args": {…}}.`, err)
}
