package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Result is what a call gives back (AR-17). On failure Error is set and the
// model receives both: LLMContent holds, for example, the latest state of the
// file that a refused write was about.
type Result struct {
	LLMContent    Content      `json:"llmContent"`
	ReturnDisplay Display      `json:"returnDisplay"`
	Error         *fault.Error `json:"error,omitempty"`

	// Structured is the result as JSON for programs, beside LLMContent, which
	// says the same to a model; it fits the Spec's OutputSchema. nil: LLMContent
	// where that [Content.IsJSON], else there is none. A failure has none, whatever
	// stands here and in LLMContent. It is not sent to models.
	Structured json.RawMessage `json:"structured,omitempty"`

	// Context is what a step after the call, as a hook, adds for the model. It stands
	// beside the content wherever that goes and is no part of it, so that the content
	// can be parsed. "": nothing.
	Context string `json:"context,omitempty"`
}

// Fail returns the Result of a failure that has nothing to show but itself.
func Fail(err *fault.Error) Result {
	return Result{LLMContent: Text(err.Line()), ReturnDisplay: TextDisplay(err.Display()), Error: err}
}

// WithContext returns the result with a text added to its Context, on a line of its
// own.
func (r Result) WithContext(text string) Result {
	if r.Context != "" && text != "" {
		text = "\n" + text
	}
	r.Context += text
	return r
}

// WithError returns the result as that of a failure: with err as its Error,
// and with err's words where there is no content or display yet.
func (r Result) WithError(err *fault.Error) Result {
	failed := Fail(err)
	failed.Context = r.Context
	if len(r.LLMContent.Parts) > 0 {
		failed.LLMContent = r.LLMContent
	}
	if r.ReturnDisplay != (Display{}) {
		failed.ReturnDisplay = r.ReturnDisplay
	}
	return failed
}

// FunctionResponse returns what a model receives as the response to its call:
// {"output": text} or, on failure, {"error": {type, message, remedy, reason},
// "output": text}. The output is the text of LLMContent, a JSON string even
// where that text is itself JSON, so that it reaches every model unchanged;
// parts that are not text go beside the response. A Context is a third key, "context".
func (r Result) FunctionResponse() json.RawMessage {
	b := []byte{'{'}
	if r.Error != nil {
		e, err := marshalPlain(r.Error)
		if err == nil {
			b = append(append(append(b, `"error":`...), e...), ',')
		}
	}
	b = append(b, `"output":`...)
	b = appendText(b, strings.ToValidUTF8(r.LLMContent.String(), "\ufffd"))
	if r.Context != "" {
		b = append(b, `,"context":`...)
		b = appendText(b, strings.ToValidUTF8(r.Context, "\ufffd"))
	}
	return append(b, '}')
}

// Content is what a model receives: text, or parts of text and data. Its JSON
// form is a string for text alone, else a list of parts.
type Content struct {
	Parts []Part
	json  bool
}

// Part is one piece of content: text, or exactly one of the others.
type Part struct {
	Text       string        `json:"text,omitempty"`
	InlineData *InlineData   `json:"inlineData,omitempty"` // an image, audio, a file
	Resource   *Resource     `json:"resource,omitempty"`   // what a resource of a server holds
	Link       *ResourceLink `json:"link,omitempty"`       // where there is more, not read yet
}

// InlineData is a payload that is not text.
type InlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"` // base64 in JSON
}

// Resource is what a resource holds: Text, or Blob where that is not nil.
type Resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitzero"` // base64 in JSON
}

// ResourceLink names a resource that can be read.
type ResourceLink struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"` // for people; "": Name
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"` // bytes; 0: unknown
}

// Text returns content of plain text.
func Text(s string) Content { return Content{Parts: []Part{{Text: s}}} }

// JSON returns content that is the JSON text of v, without HTML escapes, so
// that source code stays readable. It fails as json.Marshal does.
func JSON(v any) (Content, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return Content{}, err
	}
	s := b.String()
	return Content{Parts: []Part{{Text: s[:len(s)-1]}}, json: true}, nil
}

// Data returns content of a note and a payload.
func Data(note, mimeType string, data []byte) Content {
	return Content{Parts: []Part{{Text: note}, {InlineData: &InlineData{mimeType, data}}}}
}

// IsJSON reports whether the content is one JSON text made by [JSON].
func (c Content) IsJSON() bool { return c.json && len(c.Parts) == 1 }

// String returns the content as text, its parts joined by line breaks: text and the
// text of resources as they are, one line of a resource that is data and of a
// link. Other data is left out.
func (c Content) String() string {
	if len(c.Parts) == 1 {
		return c.Parts[0].String()
	}
	var texts []string
	for _, p := range c.Parts {
		if p.InlineData == nil {
			texts = append(texts, p.String())
		}
	}
	return strings.Join(texts, "\n")
}

// String returns the part as text; see [Content.String].
func (p Part) String() string {
	switch {
	case p.Link != nil:
		return p.Link.line()
	case p.Resource == nil:
		return p.Text
	case p.Resource.Blob != nil:
		return fmt.Sprintf("[data of the resource %s: %s, %d bytes]",
			oneLine(p.Resource.URI), oneLine(cmp.Or(p.Resource.MIMEType, unknownData)), len(p.Resource.Blob))
	}
	return p.Resource.Text
}

// line tells of the link in one line.
func (l *ResourceLink) line() string {
	said := []string{oneLine(l.Name)}
	if l.Title != "" && l.Title != l.Name {
		said = append(said, oneLine(l.Title))
	}
	if l.Description != "" {
		said = append(said, oneLine(l.Description))
	}
	if l.MIMEType != "" {
		said = append(said, oneLine(l.MIMEType))
	}
	if l.Size > 0 {
		said = append(said, fmt.Sprintf("%d bytes", l.Size))
	}
	return fmt.Sprintf("[the resource %s: %s]", oneLine(l.URI), strings.Join(said, "; "))
}

// oneLine is text without line breaks and other hidden characters, each of which
// separates words.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || escape.Hidden(r) }), " ")
}

// unknownData is the type of data that nobody knows the type of.
const unknownData = "application/octet-stream"

// Data returns what of the part is data, as an image is, or nil: its InlineData, or
// the blob of its resource.
func (p Part) Data() *InlineData {
	switch {
	case p.InlineData != nil:
		return p.InlineData
	case p.Resource != nil && p.Resource.Blob != nil:
		return &InlineData{MIMEType: cmp.Or(p.Resource.MIMEType, unknownData), Data: p.Resource.Blob}
	}
	return nil
}

// HasData reports whether a part is not plain text.
func (c Content) HasData() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool {
		return p.InlineData != nil || p.Resource != nil || p.Link != nil
	})
}

// MarshalJSON encodes text alone as a string, anything else as a list.
func (c Content) MarshalJSON() ([]byte, error) {
	if !c.HasData() {
		return marshalPlain(c.String())
	}
	return marshalPlain(c.Parts)
}

// UnmarshalJSON reads both forms. Whether text was made by [JSON] is told by
// its form: an object or a list that is valid JSON.
func (c *Content) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err == nil {
		*c = Text(s)
		t := strings.TrimSpace(s)
		c.json = (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) && json.Valid([]byte(t))
		return nil
	}
	var parts []Part
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*c = Content{Parts: parts}
	return nil
}

// marshalPlain is json.Marshal without HTML escapes.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
