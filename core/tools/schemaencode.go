package tools

import (
	"cmp"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// encodeSchema returns the JSON of a schema as its MarshalJSON returns it, but without escapes of <, > and &. MarshalJSON
// encodes a schema once for each schema around it, and reflects on some sixty fields, which takes longer than the
// rest of [NewFactory].
func encodeSchema(s *jsonschema.Schema) ([]byte, error) {
	w := schemaWriter{b: make([]byte, 0, 1<<10)}
	w.schema(s)
	return w.b, w.err
}

// schemaWriter appends JSON to b. It keeps the first error.
type schemaWriter struct {
	b    []byte
	err  error
	rest jsonschema.Schema // only for the search of rare members
}

func (w *schemaWriter) schema(s *jsonschema.Schema) {
	if s == jsonschema.FalseSchema { // the additionalProperties of each struct
		w.b = append(w.b, "false"...)
		return
	}
	w.rest = *s
	w.rest.Items, w.rest.Properties, w.rest.AdditionalProperties = nil, nil, nil
	w.rest.Type, w.rest.Enum, w.rest.Maximum, w.rest.Minimum = "", nil, "", ""
	w.rest.MaxLength, w.rest.MinLength, w.rest.Pattern, w.rest.MaxItems, w.rest.MinItems = nil, nil, "", nil, nil
	w.rest.Required, w.rest.Description, w.rest.Default = nil, "", nil
	if !reflect.ValueOf(&w.rest).Elem().IsZero() {
		w.marshal(s)
		return
	}
	start := len(w.b)
	w.b = append(w.b, '{')
	w.part("items", s.Items)
	if s.Properties != nil {
		w.key("properties")
		w.b = append(w.b, '{')
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			w.key(p.Key)
			if p.Value == nil {
				w.marshal(nil)
				continue
			}
			w.schema(p.Value)
		}
		w.b = append(w.b, '}')
	}
	w.part("additionalProperties", s.AdditionalProperties)
	w.text("type", s.Type)
	w.value("enum", s.Enum, len(s.Enum) > 0)
	w.value("maximum", s.Maximum, s.Maximum != "")
	w.value("minimum", s.Minimum, s.Minimum != "")
	w.value("maxLength", s.MaxLength, s.MaxLength != nil)
	w.value("minLength", s.MinLength, s.MinLength != nil)
	w.text("pattern", s.Pattern)
	w.value("maxItems", s.MaxItems, s.MaxItems != nil)
	w.value("minItems", s.MinItems, s.MinItems != nil)
	w.value("required", s.Required, len(s.Required) > 0)
	w.text("description", s.Description)
	w.value("default", s.Default, s.Default != nil)
	if len(w.b) == start+1 { // without members: true
		w.b = w.b[:start]
		w.marshal(s)
		return
	}
	w.b = append(w.b, '}')
}

// key appends the name of the next member.
func (w *schemaWriter) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.string(name)
	w.b = append(w.b, ':')
}

// part appends a member unless it is nil.
func (w *schemaWriter) part(name string, s *jsonschema.Schema) {
	if s != nil {
		w.key(name)
		w.schema(s)
	}
}

// text appends a member unless it is empty.
func (w *schemaWriter) text(name, text string) {
	if text != "" {
		w.key(name)
		w.string(text)
	}
}

// value appends a member if it is given.
func (w *schemaWriter) value(name string, v any, given bool) {
	if given {
		w.key(name)
		w.marshal(v)
	}
}

// string is marshal for a string.
func (w *schemaWriter) string(s string) {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf { // encoding/json escapes some of these
			w.marshal(s)
			return
		}
	}
	w.b = appendText(w.b, s)
}

func (w *schemaWriter) marshal(v any) {
	encoded, err := json.Marshal(v)
	w.b, w.err = append(w.b, unescapeHTML(encoded)...), cmp.Or(w.err, err)
}

// unescapeHTML undoes the escapes of <, > and & that the reflector's encoder adds, so that descriptions stay readable.
func unescapeHTML(text []byte) []byte {
	plain := map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b = append(b, text[i])
			continue
		}
		if i+6 <= len(text) {
			if c, ok := plain[string(text[i:i+6])]; ok {
				b = append(b, c)
				i += 5
				continue
			}
		}
		b = append(b, text[i], text[i+1])
		i++
	}
	return b
}
