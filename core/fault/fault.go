// Package fault is the one error type of fettle: what failed, to what, and
// what its reader, a model or a person, can do about it.
package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a failure that a model, a person or a program can act on. The
// requirement rows call it StructuredToolError (PR-21, PR-31).
//
// Its JSON form is {"type", "message", "remedy", "reason"}; empty remedy and
// reason are left out, and Op, Short and Err never leave the process.
//
// An Error is immutable once returned and safe for concurrent reading.
type Error struct {
	Code    Code   // class of the failure; required. Codes are API: added, never renamed
	Reason  Reason // narrower cause within Code; "" when the code says it all
	Op      string // package and operation, as "filestate.read"; for logs
	Message string // what happened to what, in sentences for the model; required
	Short   string // the same in a few words for a display; "" means Message
	Remedy  string // the next step for the reader; "" when there is none
	Err     error  // cause; may be nil
}

// New returns an Error of a class with its message and remedy.
func New(code Code, op, message, remedy string) *Error {
	return &Error{Code: code, Op: op, Message: message, Remedy: remedy}
}

// Wrap is New with a cause, which errors.Is and errors.As reach.
func Wrap(code Code, op, message, remedy string, cause error) *Error {
	return &Error{Code: code, Op: op, Message: message, Remedy: remedy, Err: cause}
}

// WasCancelled returns the Error, of code [Cancelled], of an operation whose context
// has ended. Its message names the last part of op: of "config.Restate" it is
// "Restate was cancelled."
func WasCancelled(op string, cause error) *Error {
	return Wrap(Cancelled, op, op[strings.LastIndexByte(op, '.')+1:]+" was cancelled.", "", cause)
}

// Because returns a copy of e with its reason set.
func (e *Error) Because(r Reason) *Error {
	c := *e
	c.Reason = r
	return &c
}

// Error returns one line: operation, code, message and cause. The remedy is
// left to the caller, who knows how to show it; see [Error.Line].
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": ")
		b.WriteString(e.Message)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Text returns message and remedy, line breaks kept. A message that ends in a word
// has a full stop before the remedy.
func (e *Error) Text() string {
	s := strings.TrimSpace(e.Message)
	if e.Remedy == "" {
		return s
	}
	if last, _ := utf8.DecodeLastRuneInString(s); unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(`"')`, last) {
		s += "."
	}
	return s + " " + e.Remedy
}

// Line returns Text as one line, line breaks turned into blanks: what a terminal
// prints on stderr.
func (e *Error) Line() string { return strings.Join(strings.Fields(e.Text()), " ") }

// Line returns err as one line for a user: [Error.Line] where its chain holds an
// [*Error], else its text.
func Line(err error) string {
	if e := As(err); e != nil {
		return e.Line()
	}
	return err.Error()
}

// Display returns Short, or Message where Short is empty.
func (e *Error) Display() string {
	if e.Short != "" {
		return e.Short
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches a class: errors.Is(err, &Error{Code: FileNotFound}). A target
// with a Reason matches only that reason; a target with any other field set
// matches nothing but itself.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Op != "" || t.Message != "" || t.Short != "" || t.Remedy != "" || t.Err != nil {
		return false
	}
	return t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

type wire struct {
	Type    Code   `json:"type"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	Reason  Reason `json:"reason,omitempty"`
}

// MarshalJSON encodes the parts that a model or a front end sees, without
// HTML escapes of its own.
func (e *Error) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire{e.Code, e.Message, e.Remedy, e.Reason}); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Error) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = Error{Code: w.Type, Message: w.Message, Remedy: w.Remedy, Reason: w.Reason}
	return nil
}

// As returns the first *Error in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// MessageOf returns the message of the first *Error in err's chain, else the text of
// err as a sentence.
func MessageOf(err error) string {
	if f := As(err); f != nil {
		return f.Message
	}
	return err.Error() + "."
}

// CodeOf returns the code of the first *Error in err's chain, "" for nil and
// [Unknown] for an error of another type.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e := As(err); e != nil {
		return e.Code
	}
	return Unknown
}
