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

// Result is the result of a call. On failure Error is set and the model receives both: LLMContent holds, for example,
// the current state of the file that a refused write was about.
type Result struct {
	LLMContent    Content      `json:"llmContent"`
	ReturnDisplay Display      `json:"returnDisplay"`
	Error         *fault.Error `json:"error,omitempty"`

	// Structured is the result as JSON for programs, in addition to LLMContent, which has the same content for a model.
	// It matches the Spec's OutputSchema. nil: LLMContent if [Content.IsJSON], else none. A failure has no structured
	// result, whatever Structured and LLMContent hold. It is not sent to models.
	Structured json.RawMessage `json:"structured,omitempty"`

	// Context is text that a hook or another middleware adds for the model. It accompanies the content but is not part
	// of it, so that the content can be parsed. "": none.
	Context string `json:"context,omitempty"`
}

// Fail returns the Result of a failure without further content.
func Fail(err *fault.Error) Result {
	return Result{LLMContent: Text(err.Line()), ReturnDisplay: TextDisplay(err.Display()), Error: err}
}

// WithContext returns the result with text added to its Context, on a line of its own.
func (r Result) WithContext(text string) Result {
	if r.Context != "" && text != "" {
		text = "\n" + text
	}
	r.Context += text
	return r
}

// WithError returns the result with err as its Error, and with the text of err as content and display if those are
// empty.
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

// FunctionResponse returns the response that a model receives: {"output": text} or, on failure, {"error": {type,
// message, remedy, reason, retry}, "output": text}. The output is the text of LLMContent, encoded as a JSON string even if it
// is itself JSON, so that every model receives it unchanged. Parts that are not text accompany the response. A Context
// is a third key, "context".
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

// Content is the content of a result for a model: text, or parts of text and data. Its JSON form is a string for text
// alone, else a list of parts.
type Content struct {
	Parts []Part
	json  bool
}

// Part is one piece of content: text, or exactly one of the others.
type Part struct {
	Text       string        `json:"text,omitempty"`
	InlineData *InlineData   `json:"inlineData,omitempty"` // an image, audio, a file
	Resource   *Resource     `json:"resource,omitempty"`   // content of a server's resource
	Link       *ResourceLink `json:"link,omitempty"`       // a resource that was not read yet
}

// InlineData is a payload that is not text.
type InlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"` // base64 in JSON
}

// Resource is the content of a resource: Blob if it is not nil, else Text.
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
	Title       string `json:"title,omitempty"` // for the user; "": Name
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"` // bytes; 0: unknown
}

// Text returns content of plain text.
func Text(s string) Content { return Content{Parts: []Part{{Text: s}}} }

// JSON returns content with the JSON text of v, without HTML escapes, so that source code stays readable. It fails like
// json.Marshal. A []Content whose elements were made by JSON becomes the array of their texts, which are not read again.
func JSON(v any) (Content, error) {
	if list, ok := v.([]Content); ok && !slices.ContainsFunc(list, func(c Content) bool { return !c.IsJSON() }) {
		return jsonArray(list), nil
	}
	var b strings.Builder // its text is not copied
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return Content{}, err
	}
	s := b.String()
	return Content{Parts: []Part{{Text: s[:len(s)-1]}}, json: true}, nil
}

func jsonArray(elements []Content) Content {
	size := len("[]")
	for _, e := range elements {
		size += len(e.Parts[0].Text) + len(",")
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte('[')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(e.Parts[0].Text)
	}
	b.WriteByte(']')
	return Content{Parts: []Part{{Text: b.String()}}, json: true}
}

// Data returns content of a note and a payload.
func Data(note, mimeType string, data []byte) Content {
	return Content{Parts: []Part{{Text: note}, {InlineData: &InlineData{mimeType, data}}}}
}

// IsJSON reports whether the content is one JSON text made by [JSON].
func (c Content) IsJSON() bool { return c.json && len(c.Parts) == 1 }

// String returns the content as text, with its parts joined by line breaks: text and text resources unchanged, binary
// resources and links as one line each. Other data is left out.
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

// line describes the link in one line.
func (l *ResourceLink) line() string {
	fields := []string{oneLine(l.Name)}
	if l.Title != "" && l.Title != l.Name {
		fields = append(fields, oneLine(l.Title))
	}
	if l.Description != "" {
		fields = append(fields, oneLine(l.Description))
	}
	if l.MIMEType != "" {
		fields = append(fields, oneLine(l.MIMEType))
	}
	if l.Size > 0 {
		fields = append(fields, fmt.Sprintf("%d bytes", l.Size))
	}
	return fmt.Sprintf("[the resource %s: %s]", oneLine(l.URI), strings.Join(fields, "; "))
}

// oneLine returns text with line breaks and other hidden characters replaced by spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || escape.Hidden(r) }), " ")
}

// unknownData is the MIME type of data of unknown type.
const unknownData = "application/octet-stream"

// Data returns the data of the part, such as an image: its InlineData, or the blob of its resource. It returns nil for
// other parts.
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

// UnmarshalJSON decodes both forms. Text counts as made by [JSON] if it is a valid JSON object or list.
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
