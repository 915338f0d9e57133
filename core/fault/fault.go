// Package fault defines the error type of fettle. An [Error] carries a stable code, a message for the model, and a
// remedy that names the next step. Hosts match errors by code with errors.Is, or inspect them with [As] and [CodeOf].
package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a failure that a model, a user or a program can act on.
//
// Its JSON form is {"type", "message", "remedy", "reason", "retry"}; an empty remedy, reason or retry is omitted, and Op,
// Short and Err are not encoded.
//
// An Error is immutable once returned and safe for concurrent reading.
type Error struct {
	Code    Code   // class of the failure; required
	Reason  Reason // narrower cause within Code; "" when Code is specific enough
	Op      string // package and operation, such as "filestate.read"; for logs
	Message string // description of the failure, in sentences for the model; required
	Short   string // a few words for a display; "" means Message
	Remedy  string // the next step for the reader; "" when there is none
	Retry   string // the token by which the refused call can be repeated, such as "retry-1"; "" when there is none
	Err     error  // cause; may be nil
}

// New returns an Error with the given code, operation, message and remedy.
func New(code Code, op, message, remedy string) *Error {
	return &Error{Code: code, Op: op, Message: message, Remedy: remedy}
}

// Wrap is New with a cause, which errors.Is and errors.As reach.
func Wrap(code Code, op, message, remedy string, cause error) *Error {
	return &Error{Code: code, Op: op, Message: message, Remedy: remedy, Err: cause}
}

// WasCancelled returns an Error with code [Cancelled] for an operation whose context has ended. Its message names the
// last part of op: for "config.Restate" it is "Restate was cancelled."
func WasCancelled(op string, cause error) *Error {
	return Wrap(Cancelled, op, op[strings.LastIndexByte(op, '.')+1:]+" was cancelled.", "", cause)
}

// Because returns a copy of e with its reason set.
func (e *Error) Because(r Reason) *Error {
	c := *e
	c.Reason = r
	return &c
}

// Error returns operation, code, message and cause as one line. It omits the remedy; see [Error.Line].
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

// Text returns message and remedy with their line breaks. It adds a full stop between them if the message ends in a
// word.
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

// Line returns Text as one line, with each run of white space replaced by one space. A terminal prints it on stderr.
func (e *Error) Line() string { return strings.Join(strings.Fields(e.Text()), " ") }

// Line returns err as one line for a user: [Error.Line] of the first *Error in its chain, else the text of err.
func Line(err error) string {
	if e := As(err); e != nil {
		return e.Line()
	}
	return err.Error()
}

// Display returns Short, or Message if Short is empty.
func (e *Error) Display() string {
	if e.Short != "" {
		return e.Short
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target describes the class of e, as in errors.Is(err, &Error{Code: FileNotFound}). A target with a
// Reason matches only errors with that reason. A target with any other field set matches only itself.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Op != "" || t.Message != "" || t.Short != "" || t.Remedy != "" || t.Retry != "" || t.Err != nil {
		return false
	}
	return t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason)
}

type wire struct {
	Type    Code   `json:"type"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	Reason  Reason `json:"reason,omitempty"`
	Retry   string `json:"retry,omitempty"`
}

// MarshalJSON encodes type, message, remedy, reason and retry. It does not escape HTML characters.
func (e *Error) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire{e.Code, e.Message, e.Remedy, e.Reason, e.Retry}); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON decodes the form that MarshalJSON writes.
func (e *Error) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = Error{Code: w.Type, Message: w.Message, Remedy: w.Remedy, Reason: w.Reason, Retry: w.Retry}
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

// MessageOf returns the message of the first *Error in err's chain. For other errors it returns the text of err as a
// sentence.
func MessageOf(err error) string {
	if f := As(err); f != nil {
		return f.Message
	}
	return err.Error() + "."
}

// CodeOf returns the code of the first *Error in err's chain, "" for a nil error and [Unknown] for other errors.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e := As(err); e != nil {
		return e.Code
	}
	return Unknown
}
