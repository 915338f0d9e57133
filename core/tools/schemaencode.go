package tools

import (
	"cmp"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// appendSchema appends the JSON of a schema as its MarshalJSON returns it, but without escapes of <, > and &. MarshalJSON
// encodes a schema once for each schema around it, and reflects on some sixty fields, which takes longer than the
// rest of [NewFactory].
func appendSchema(b []byte, s *jsonschema.Schema) ([]byte, error) {
	if s == jsonschema.FalseSchema { // the additionalProperties of each struct
		return append(b, "false"...), nil
	}
	rare := *s
	rare.Items, rare.Properties, rare.AdditionalProperties = nil, nil, nil
	rare.Type, rare.Enum, rare.Maximum, rare.Minimum = "", nil, "", ""
	rare.MaxLength, rare.MinLength, rare.Pattern, rare.MaxItems, rare.MinItems = nil, nil, "", nil, nil
	rare.Required, rare.Description, rare.Default = nil, "", nil
	if !reflect.ValueOf(&rare).Elem().IsZero() {
		return appendMarshalled(b, s)
	}
	o := objectWriter{b: append(b, '{')}
	o.schema("items", s.Items)
	if s.Properties != nil {
		o.key("properties")
		of := objectWriter{b: append(o.b, '{'), err: o.err}
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			of.schema(p.Key, p.Value)
		}
		o.b, o.err = append(of.b, '}'), of.err
	}
	o.schema("additionalProperties", s.AdditionalProperties)
	o.text("type", s.Type)
	o.value("enum", s.Enum, len(s.Enum) > 0)
	o.value("maximum", s.Maximum, s.Maximum != "")
	o.value("minimum", s.Minimum, s.Minimum != "")
	o.value("maxLength", s.MaxLength, s.MaxLength != nil)
	o.value("minLength", s.MinLength, s.MinLength != nil)
	o.text("pattern", s.Pattern)
	o.value("maxItems", s.MaxItems, s.MaxItems != nil)
	o.value("minItems", s.MinItems, s.MinItems != nil)
	o.value("required", s.Required, len(s.Required) > 0)
	o.text("description", s.Description)
	o.value("default", s.Default, s.Default != nil)
	if len(o.b) == len(b)+1 {
		return appendMarshalled(b, s) // without members: true
	}
	return append(o.b, '}'), o.err
}

// objectWriter appends the members of a JSON object to b. It keeps the first error.
type objectWriter struct {
	b   []byte
	err error
}

func (o *objectWriter) key(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.set(appendString(o.b, name))
	o.b = append(o.b, ':')
}

func (o *objectWriter) set(b []byte, err error) { o.b, o.err = b, cmp.Or(o.err, err) }

// schema appends a member unless it is nil.
func (o *objectWriter) schema(name string, s *jsonschema.Schema) {
	if s != nil {
		o.key(name)
		o.set(appendSchema(o.b, s))
	}
}

// text appends a member unless it is empty.
func (o *objectWriter) text(name, text string) {
	if text != "" {
		o.key(name)
		o.set(appendString(o.b, text))
	}
}

func (o *objectWriter) value(name string, v any, given bool) {
	if given {
		o.key(name)
		o.set(appendMarshalled(o.b, v))
	}
}

// appendString is appendMarshalled for a string.
func appendString(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf { // encoding/json escapes some of these
			return appendMarshalled(b, s)
		}
	}
	return appendText(b, s), nil
}

func appendMarshalled(b []byte, v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	return append(b, unescapeHTML(encoded)...), err
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
