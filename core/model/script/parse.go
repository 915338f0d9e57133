package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Parse parses a script; name is the file name in errors. The error is of code invalid_config and
// names the line.
func Parse(name string, data []byte) (*Script, error) {
	p := parser{name: name, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	turns, err := p.file()
	if err != nil {
		return nil, err
	}
	return &Script{name: name, turns: turns}, nil
}

// parser parses a file once and tracks positions in it.
type parser struct {
	name string
	data []byte
	dec  *json.Decoder
}

// file parses {"turns": […]}.
func (p *parser) file() ([]turn, error) {
	if err := p.delim('{', "a script is an object with a list of turns"); err != nil {
		return nil, err
	}
	var turns []turn
	found := false
	for p.dec.More() {
		at := p.next()
		key, err := p.dec.Token()
		if err != nil {
			return nil, p.broken(err, 0)
		}
		if key == "description" {
			var text string
			if err := p.dec.Decode(&text); err != nil {
				return nil, p.broken(err, 0)
			}
			continue
		}
		if key != "turns" {
			return nil, p.fail(at, fmt.Sprintf("a script has no key %q, only description and turns", key))
		}
		if found {
			return nil, p.fail(at, "a script has one list of turns")
		}
		found = true
		if turns, err = p.turns(); err != nil {
			return nil, err
		}
	}
	if _, err := p.dec.Token(); err != nil {
		return nil, p.broken(err, 0)
	}
	if !found {
		return nil, p.fail(0, `a script needs a list of "turns"`)
	}
	if end := p.next(); end < len(p.data) {
		return nil, p.fail(end, "there is extra text after the end of the script")
	}
	return turns, nil
}

func (p *parser) turns() ([]turn, error) {
	if err := p.delim('[', "turns must be a list"); err != nil {
		return nil, err
	}
	turns := []turn{}
	for p.dec.More() {
		at := p.next()
		var raw json.RawMessage
		if err := p.dec.Decode(&raw); err != nil {
			return nil, p.broken(err, 0)
		}
		turn, err := p.turn(at, raw)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn)
	}
	_, err := p.dec.Token()
	if err != nil {
		return nil, p.broken(err, 0)
	}
	return turns, nil
}

// turn parses one turn, which begins at an offset of the file.
func (p *parser) turn(at int, raw json.RawMessage) (turn, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var t turn
	if raw[0] != '{' {
		return t, p.fail(at, "a turn must be an object")
	}
	if err := dec.Decode(&t); err != nil {
		if _, key, ok := strings.Cut(err.Error(), "json: unknown field "); ok {
			return t, p.fail(at+max(0, bytes.Index(raw, []byte(key))), "a turn has no key "+key+" there")
		}
		return t, p.broken(err, at)
	}
	t.Line = p.line(at)
	if problem := t.check(); problem != "" {
		return t, p.fail(at, problem)
	}
	return t, nil
}

var (
	reasons = []model.FinishReason{
		"", model.FinishStop, model.FinishMaxTokens, model.FinishSafety, model.FinishRecitation,
		model.FinishMalformedCall, model.FinishUnexpected, model.FinishOther,
	}
	kinds = []model.ErrorKind{
		model.RateLimited, model.QuotaExhausted, model.Unavailable, model.Connection, model.InvalidRequest,
		model.ContextExceeded, model.Unauthenticated, model.NotFound, model.BadAnswer, model.Canceled,
	}
)

// check returns the problem of a turn; "" if it is valid.
func (t *turn) check() string {
	hasContent := !t.Text.empty() || !t.Thought.empty() || len(t.Calls) > 0
	switch {
	case t.Empty && hasContent:
		return "an empty turn cannot have text, thought or calls"
	case !hasContent && !t.Empty && t.Fail == nil:
		return `a turn needs text, thought, calls or fail, or "empty": true`
	case !slices.Contains(reasons, t.Finish):
		return fmt.Sprintf("the finish reason %q does not exist; there are %s", t.Finish, list(reasons[1:]))
	}
	if t.Fail != nil {
		if problem := t.Fail.check(); problem != "" {
			return problem
		}
	}
	for _, text := range append([]string{t.Text.Whole, t.Thought.Whole}, append(t.Text.Pieces, t.Thought.Pieces...)...) {
		if _, err := placeholders(text); err != nil {
			return err.Error()
		}
	}
	for _, c := range t.Calls {
		if problem := c.check(); problem != "" {
			return problem
		}
	}
	return ""
}

func (f *failure) check() string {
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Sprintf("the kind of failure %q does not exist; there are %s", f.Kind, list(kinds))
	case f.AfterPieces != nil && f.AfterBytes != nil:
		return "a failure comes after pieces or after bytes, not both"
	case (f.AfterPieces != nil && *f.AfterPieces < 0) || (f.AfterBytes != nil && *f.AfterBytes < 0) || f.RetryAfterMS < 0 || f.Status < 0:
		return "numbers of a failure cannot be negative"
	}
	return ""
}

func (c *call) check() string {
	if c.Tool == "" {
		return `a call needs a "tool"`
	}
	if c.RawArgs != nil {
		if c.Args != nil {
			return "a call of " + c.Tool + " has args or rawArgs, not both"
		}
		return ""
	}
	if c.Args == nil {
		return ""
	}
	if c.Args[0] != '{' {
		return "args of a call of " + c.Tool + " must be an object; rawArgs may be anything"
	}
	if err := walkStrings(c.Args, func(text string) error { _, err := placeholders(text); return err }); err != nil {
		return err.Error()
	}
	return ""
}

func list[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}

func (p *parser) delim(want json.Delim, problem string) error {
	at := p.next()
	token, err := p.dec.Token()
	if err != nil {
		return p.broken(err, 0)
	}
	if token != want {
		return p.fail(at, problem)
	}
	return nil
}

// next returns the offset of the decoder's next token.
func (p *parser) next() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *parser) line(at int) int {
	return 1 + bytes.Count(p.data[:min(at, len(p.data))], []byte("\n"))
}

// broken converts an error of the decoder; base is the offset of the decoded text in the file.
func (p *parser) broken(err error, base int) error {
	at := int(p.dec.InputOffset())
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	problem := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &kind):
		at = base + int(kind.Offset) - 1
		problem = fmt.Sprintf("%s is a %s, which is not allowed there", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		at = int(syntax.Offset) - 1
		problem = "this is not valid JSON: " + problem
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at = len(p.data)
		problem = "the script is cut short"
	case base > 0:
		at = base
	}
	return p.fail(at, problem)
}

func (p *parser) fail(at int, problem string) error {
	return fault.New(fault.InvalidConfig, "script.parse", fmt.Sprintf("The script %s cannot be used, line %d: %s.", p.name, p.line(max(0, at)), problem),
		"Correct the line; docs/scripts.md describes scripts.")
}
