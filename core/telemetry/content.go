package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
)

// message is a turn in the form of the semantic conventions.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// part is a piece of a message. Of data only the type and the length are recorded.
type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Response  string `json:"response,omitempty"`
	MIMEType  string `json:"mime_type,omitempty"`
	Size      int    `json:"size,omitempty"`
}

// messages returns a turn as a list of one message.
func (t *Telemetry) messages(c model.Content, finish string) string {
	m := message{Role: "user", Parts: []part{}, Finish: bounded(finish)}
	switch {
	case c.Role == model.RoleModel:
		m.Role = "assistant"
	case len(c.Responses()) > 0:
		m.Role = "tool"
	}
	e := t.excerpt()
	for _, p := range c.Parts {
		if e.left <= 0 {
			break
		}
		if converted, ok := e.part(p); ok {
			m.Parts = append(m.Parts, converted)
		}
	}
	return encode([]message{m})
}

// system returns a system prompt in the form of the semantic conventions.
func (t *Telemetry) system(text string) string {
	return encode([]part{{Type: "text", Content: t.excerpt().text(text)}})
}

// excerpt is the content of one attribute while it is built.
type excerpt struct {
	t    *Telemetry
	left int // remaining room in bytes
}

func (t *Telemetry) excerpt() *excerpt { return &excerpt{t, t.o.MaxContent} }

// part returns a part without secrets, cut to the remaining room; false if it is empty.
func (e *excerpt) part(p model.Part) (part, bool) {
	switch {
	case p.Call != nil:
		return part{Type: "tool_call", ID: e.word(p.Call.ID), Name: e.word(p.Call.Name), Arguments: e.json(p.Call.Args)}, true
	case p.Response != nil:
		return part{Type: "tool_call_response", ID: e.word(p.Response.ID), Name: e.word(p.Response.Name), Response: e.json(p.Response.Response)}, true
	case p.Data != nil:
		return part{Type: "blob", MIMEType: e.word(p.Data.MIMEType), Size: len(p.Data.Bytes)}, true
	case p.Text != "" && p.Thought:
		return part{Type: "reasoning", Content: e.text(p.Text)}, true
	case p.Text != "":
		return part{Type: "text", Content: e.text(p.Text)}, true
	}
	return part{}, false
}

// word returns a name.
func (e *excerpt) word(name string) string { return e.fit(bounded(e.t.mask(name))) }

// text returns a text without secrets, cut to the remaining room.
func (e *excerpt) text(text string) string {
	if tooLong(len(text)) {
		return e.fit(unread(len(text)))
	}
	return e.fit(e.t.mask(text))
}

// json returns possible JSON as text. Secrets are masked first in its decoded strings and then in
// the whole text.
func (e *excerpt) json(raw []byte) string {
	if tooLong(len(raw)) {
		return e.fit(unread(len(raw)))
	}
	return e.fit(e.t.mask(e.t.maskJSON(string(raw), 0)))
}

// fit cuts text to the remaining room.
func (e *excerpt) fit(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > e.left {
		text = strings.ToValidUTF8(text[:max(e.left, 0)], "") + "…"
	}
	e.left -= len(text)
	return text
}

// maxMasked is the length in bytes up to which a text is searched for secrets.
const maxMasked = 1 << 20

func tooLong(n int) bool { return n > maxMasked }

func unread(n int) string { return fmt.Sprintf("[%d bytes, left out]", n) }

// mask replaces the secrets in a text. It also finds secrets in JSON escapes; the text is then
// returned without those escapes.
func (t *Telemetry) mask(text string) (masked string) {
	if text == "" {
		return ""
	}
	defer func() {
		if recover() != nil {
			masked = "[left out]"
		}
	}()
	mask := func(text string) string { return redact.Text(t.o.Mask(text)) }
	masked = mask(text)
	decoded := masked
	for range maxNesting {
		plain := unescape(decoded)
		if plain == decoded {
			break
		}
		if decoded = mask(plain); decoded != plain {
			masked = decoded
		}
	}
	return masked
}

// unescape decodes JSON escapes anywhere in a text that need not be JSON.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		before, rest, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			break
		}
		decoded, length := escape(rest)
		b.WriteString(decoded)
		text = rest[length:]
	}
	return b.String()
}

// escape decodes the text after a backslash and returns the length of the escape. Any other text is
// returned unchanged.
func escape(rest string) (decoded string, length int) {
	if rest == "" {
		return `\`, 0
	}
	switch rest[0] {
	case '"', '\\', '/':
		return rest[:1], 1
	case 'n':
		return "\n", 1
	case 't':
		return "\t", 1
	case 'r':
		return "\r", 1
	case 'u':
		if len(rest) >= 5 {
			if code, err := strconv.ParseUint(rest[1:5], 16, 16); err == nil {
				return string(rune(code)), 5
			}
		}
	}
	return `\`, 0
}

// maxNesting is the depth to which JSON within JSON strings is decoded: a tool result is an object
// with a text, which often is JSON itself.
const maxNesting = 4

// maskJSON returns JSON with its strings masked. Other text is returned unchanged at the top, and
// masked below it.
func (t *Telemetry) maskJSON(text string, nesting int) string {
	var value any
	if start := strings.TrimLeft(text, " \t\r\n"); nesting <= maxNesting && start != "" && (start[0] == '{' || start[0] == '[') {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&value) == nil && !d.More() {
			return encode(t.maskValue(value, nesting))
		}
	}
	return t.mask(text)
}

func (t *Telemetry) maskValue(value any, nesting int) any {
	switch v := value.(type) {
	case string:
		return t.maskJSON(v, nesting+1)
	case []any:
		for i := range v {
			v[i] = t.maskValue(v[i], nesting)
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for key, inner := range v {
			masked[t.mask(key)] = t.maskValue(inner, nesting)
		}
		return masked
	}
	return value
}

// encode returns JSON without HTML escapes.
func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
