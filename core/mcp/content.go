package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/tools"
)

// maxParts is the maximum number of content parts of an answer that reach the
// model.
const maxParts = 1000

// rendering converts a server's answer into model content: text marked as
// untrusted, preceded by notes of fettle's own, and data with a note.
type rendering struct {
	maxText, maxData int // remaining bytes of each kind

	notes        []string // written by fettle
	parts        []tools.Part
	shown        []string // for display
	omittedBytes int      // omitted bytes of text
	omitted      int      // omitted parts
}

func newRendering(maxText, maxData int) *rendering {
	return &rendering{maxText: maxText, maxData: maxData}
}

// part adds a part of any kind.
func (r *rendering) part(p tools.Part) {
	switch {
	case p.InlineData != nil:
		r.data("", p.InlineData.MIMEType, p.InlineData.Data)
	case p.Resource != nil && p.Resource.Blob != nil:
		r.data(p.Resource.URI, p.Resource.MIMEType, p.Resource.Blob)
	case p.Resource != nil:
		r.text(p.Resource.Text, p.Resource.URI)
	case p.Link != nil:
		r.text(linkLine(*p.Link), "")
	default:
		r.text(p.Text, "")
	}
}

// linkLine formats a resource as one line.
func linkLine(l tools.ResourceLink) string {
	line := "Resource Link: " + cmp.Or(escape.Plain(l.Title, 200), escape.Plain(l.Name, 200), "resource") + " at " + escape.Plain(l.URI, 2000)
	if l.MIMEType != "" {
		line += ", " + escape.Plain(l.MIMEType, 100)
	}
	if l.Size > 0 {
		line += fmt.Sprintf(", %d bytes", l.Size)
	}
	if l.Description != "" {
		line += ": " + escape.Plain(l.Description, 500)
	}
	return line
}

// text adds text. from is the URI of the resource that contains it, or "".
func (r *rendering) text(text, from string) {
	if len(r.parts) >= maxParts {
		r.omitted++
		r.omittedBytes += len(text)
		return
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	kept, cut := ends(text, r.maxText)
	r.maxText -= len(text) - cut
	r.omittedBytes += cut
	marked := kept
	if from != "" {
		marked = resourceLabel(from) + ":\n" + kept
	}
	r.parts = append(r.parts, tools.Part{Text: tools.Untrusted(marked)})
	r.shown = append(r.shown, kept)
}

// resourceLabel names the resource that contains a text, quoting its server.
func resourceLabel(uri string) string {
	return "Resource " + escape.Quote(escape.Clip(escape.OneLine(uri), 200))
}

// ends returns at most limit bytes of text. It shortens a longer text to its
// beginning and end, with a marker that states how many bytes are omitted.
func ends(text string, limit int) (kept string, cut int) {
	limit = max(limit, 0)
	head, tail, cut := escape.Ends(text, limit-limit/4, limit/4)
	if cut == 0 {
		return text, 0
	}
	return strings.TrimSpace(fmt.Sprintf("%s\n... [%d bytes omitted] ...\n%s", head, cut, tail)), cut
}

// data adds binary data with a note that describes it. from is as for text.
func (r *rendering) data(from, mimeType string, data []byte) {
	if len(r.parts) >= maxParts {
		r.omitted++
		return
	}
	mimeType = plainType(mimeType)
	what := "File"
	switch kind, _, _ := strings.Cut(mimeType, "/"); kind {
	case "image":
		what = "Image"
	case "audio":
		what = "Audio"
	}
	note := fmt.Sprintf("[%s: %s, %d bytes]", what, mimeType, len(data))
	r.shown = append(r.shown, fmt.Sprintf("[%s: %s]", what, mimeType))
	tooLarge := len(data) > r.maxData
	if tooLarge {
		note += " It is omitted, because it is too large."
	}
	if from != "" {
		note += "\n" + tools.Untrusted(resourceLabel(from))
	}
	r.parts = append(r.parts, tools.Part{Text: note})
	if tooLarge {
		return
	}
	r.maxData -= len(data)
	r.parts = append(r.parts, tools.Part{InlineData: &tools.InlineData{MIMEType: mimeType, Data: data}})
}

// mimeToken matches a MIME type or subtype.
var mimeToken = lazyregexp.New(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$`)

// plainType returns a MIME type without parameters, or the type of unknown data
// if s is not a MIME type.
func plainType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	kind, sub, ok := strings.Cut(s, "/")
	if !ok || !mimeToken().MatchString(kind) || !mimeToken().MatchString(sub) {
		return "application/octet-stream"
	}
	return s
}

// content returns the content for the model.
func (r *rendering) content() []tools.Part {
	notes := r.notes
	if r.omittedBytes > 0 {
		notes = append(notes, fmt.Sprintf("The result is too long: %d bytes of its text are omitted. Request less at once to see them.", r.omittedBytes))
	}
	if r.omitted > 0 {
		notes = append(notes, fmt.Sprintf("The last %d parts of the result are omitted.", r.omitted))
	}
	parts := r.parts
	if len(parts) == 0 {
		notes = append(notes, "(empty)")
	}
	if len(notes) > 0 {
		parts = append([]tools.Part{{Text: strings.Join(notes, "\n")}}, parts...)
	}
	return parts
}

// display returns the text for display.
func (r *rendering) display() string {
	if len(r.shown) == 0 {
		return "[no output]"
	}
	return strings.Join(r.shown, "\n")
}

// maxCompared is the maximum size of content that is compared with structured
// content.
const maxCompared = 4 << 20

// sameAs reports whether the text of an answer only repeats its structured
// content: one text is its JSON, or the texts are the values of its only member.
func sameAs(content []tools.Part, structured json.RawMessage) bool {
	var texts []string
	size := len(structured)
	for _, p := range content {
		if p.InlineData == nil && p.Resource == nil && p.Link == nil {
			texts = append(texts, p.Text)
			size += len(p.Text)
		}
	}
	if size > maxCompared {
		return len(texts) > 0 && bytes.Equal(bytes.TrimSpace([]byte(texts[0])), bytes.TrimSpace(structured))
	}
	value, ok := decode(structured)
	if !ok {
		return false
	}
	for _, t := range texts {
		if equals(t, value) {
			return true
		}
	}
	object, _ := value.(map[string]any)
	if len(object) != 1 {
		return false
	}
	for _, only := range object { // servers wrap results that are not objects
		if len(texts) == 1 && equals(texts[0], only) {
			return true
		}
		list, isList := only.([]any)
		if !isList || len(list) != len(texts) {
			return false
		}
		for i, t := range texts {
			if !equals(t, list[i]) {
				return false
			}
		}
	}
	return len(texts) > 0
}

// equals reports whether text is the JSON of value, or the string value itself.
func equals(text string, value any) bool {
	if s, ok := value.(string); ok && s == text {
		return true
	}
	v, ok := decode([]byte(text))
	return ok && reflect.DeepEqual(v, value)
}

// decode parses a JSON text and keeps the digits of numbers.
func decode(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	return v, d.InputOffset() == int64(len(bytes.TrimRight(raw, " \t\r\n")))
}
