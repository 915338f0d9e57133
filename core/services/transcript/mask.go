package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/redact"
)

// masker masks known secret values in JSON texts. It finds them unescaped, as escaped in a JSON
// string, and as escaped in JSON inside of a JSON string, which tool results are. It also masks
// texts with the pattern of a secret. The zero value knows no values.
type masker struct {
	replacer func() *strings.Replacer // of the values known so far; both may be nil: none
}

// newMasker returns a masker that is safe for concurrent use. more returns further values, a list
// that only grows; nil: none.
func newMasker(secrets []string, more func() []string) masker {
	if more == nil {
		more = func() []string { return nil }
	}
	var mu sync.Mutex
	known, replace := 0, redact.Replacer(secrets, redact.Shortest)
	return masker{func() *strings.Replacer {
		mu.Lock()
		defer mu.Unlock()
		if found := more(); len(found) > known {
			known, replace = len(found), redact.Replacer(slices.Concat(secrets, found), redact.Shortest)
		}
		return replace
	}}
}

// replace returns the replacer of the known values, nil if there are none.
func (m masker) replace() *strings.Replacer {
	if m.replacer == nil {
		return nil
	}
	return m.replacer()
}

// text masks a text that is not JSON.
func (m masker) text(s string) string {
	return redact.Text(m.known(s))
}

// known masks the known values.
func (m masker) known(s string) string {
	r := m.replace()
	if r == nil {
		return s
	}
	return r.Replace(s)
}

// json masks a JSON text. A text without a secret stays unchanged, byte for byte. The result is
// JSON if raw is.
func (m masker) json(raw json.RawMessage) json.RawMessage {
	raw = m.values(raw)
	if clean := maskPatterns(string(raw)); clean != string(raw) {
		return json.RawMessage(clean)
	}
	return raw
}

// values masks the known values in a JSON text.
func (m masker) values(raw json.RawMessage) json.RawMessage {
	r := m.replace()
	if r == nil || len(raw) == 0 {
		return raw
	}
	clean := r.Replace(string(raw))
	if clean == string(raw) {
		return raw
	}
	if json.Valid([]byte(clean)) {
		return json.RawMessage(clean)
	}
	// A secret consisted of digits and was a number in the text, or overlapped the syntax around a
	// string.
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return json.RawMessage(clean) // the input was not JSON
	}
	line, err := encode(m.value(v))
	if err != nil {
		return json.RawMessage("null") // impossible: v was JSON
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

// value masks every string and number in v, and the names of object members.
func (m masker) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.known(v)
	case json.Number:
		if clean := m.known(v.String()); clean != v.String() {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[m.known(name)] = m.value(member)
		}
		return clean
	}
	return v
}

// turn returns t with all its fields masked.
func (m masker) turn(t Turn) Turn {
	t.Content, t.Usage = m.json(t.Content), m.json(t.Usage)
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		c := &t.Calls[i]
		c.Args, c.Error, c.Display, c.Decision = m.json(c.Args), m.json(c.Error), m.json(c.Display), m.json(c.Decision)
		c.ID, c.Name = m.text(c.ID), m.text(c.Name)
		c.Notices = slices.Clone(c.Notices)
		for j := range c.Notices {
			c.Notices[j] = m.text(c.Notices[j])
		}
	}
	return t
}
