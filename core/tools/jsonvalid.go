package tools

import (
	"encoding/json"
	"reflect"
	"strings"
)

// longText is the length from which a text in arguments, such as the content of a file, is copied instead of being
// scanned again.
const longText = 16 << 10

// validJSON is json.Valid, but faster for long strings. It checks the strings itself, and lets encoding/json check the
// text with empty strings in their places. A quotation mark outside of a string begins one in every text that
// encoding/json reads up to there, so both agree.
func validJSON(data []byte) bool {
	if len(data) < longText {
		return json.Valid(data)
	}
	skeleton := make([]byte, 0, 1<<10)
	for i := 0; i < len(data); {
		c := data[i]
		skeleton = append(skeleton, c)
		i++
		if c != '"' {
			continue
		}
		n := stringEnd(data[i:])
		if n < 0 {
			return false
		}
		skeleton = append(skeleton, '"')
		i += n
	}
	return json.Valid(skeleton)
}

// stringEnd returns the length of a string's text with its closing quotation mark, and -1 if it is invalid.
func stringEnd(data []byte) int {
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			continue
		}
		if i++; i == len(data) {
			return -1
		}
		switch data[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if i+4 >= len(data) {
				return -1
			}
			for _, c := range data[i+1 : i+5] {
				if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
					return -1
				}
			}
			i += 4
		default:
			return -1
		}
	}
	return -1
}

// decodeParams is json.Unmarshal of params, the canonical text of object, into the struct that p points to. It copies long
// texts instead of decoding them.
func decodeParams(params json.RawMessage, object map[string]any, p any) error {
	fields := longFields(object, reflect.ValueOf(p).Elem())
	if len(fields) == 0 {
		return json.Unmarshal(params, p)
	}
	rest := make(map[string]any, len(object))
	for key, value := range object {
		if _, long := fields[key]; !long {
			rest[key] = value
		}
	}
	if err := json.Unmarshal(appendJSON(nil, rest), p); err != nil {
		return err
	}
	for key, field := range fields {
		field.SetString(object[key].(string))
	}
	return nil
}

// longFields returns the fields of a struct for the long texts in object. A field must be of type string itself, and its
// tag must have the name of the key.
func longFields(object map[string]any, params reflect.Value) map[string]reflect.Value {
	var fields map[string]reflect.Value
	for key, value := range object {
		text, ok := value.(string)
		if !ok || len(text) < longText || params.Kind() != reflect.Struct || params.Addr().Type().Implements(reflect.TypeFor[json.Unmarshaler]()) {
			continue
		}
		for i := range params.NumField() {
			name, options, _ := strings.Cut(params.Type().Field(i).Tag.Get("json"), ",")
			if field := params.Field(i); name == key && !strings.Contains(options, "string") && field.Type() == reflect.TypeFor[string]() && field.CanSet() {
				if fields == nil {
					fields = map[string]reflect.Value{}
				}
				fields[key] = field
			}
		}
	}
	return fields
}
