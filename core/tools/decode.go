package tools

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// decodeParams is json.Unmarshal of params, the canonical text of object, into the zero struct that p points to. It copies
// plain values, which are most of them, and decodes the others.
func decodeParams(params json.RawMessage, object map[string]any, p any) error {
	rest := setFields(object, reflect.ValueOf(p).Elem())
	switch len(rest) {
	case len(object):
		return json.Unmarshal(params, p)
	case 0:
		return nil
	}
	return json.Unmarshal(appendJSON(nil, rest), p)
}

// setFields sets the fields of a struct to the values of object that need no decoding, and returns the other values. A
// field's tag must have the name of the key.
func setFields(object map[string]any, params reflect.Value) (rest map[string]any) {
	if params.Kind() != reflect.Struct || params.Addr().Type().Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return object
	}
	var set []string
	for i := range params.NumField() {
		field := params.Type().Field(i)
		if field.Anonymous {
			return object // its fields may have the same names
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if value, ok := object[name]; ok && name != "" && name != "-" && field.IsExported() && !strings.Contains(options, "string") && setField(params.Field(i), value) {
			set = append(set, name)
		}
	}
	if len(set) == len(object) {
		return nil
	}
	rest = make(map[string]any, len(object)-len(set))
	for key, value := range object {
		rest[key] = value
	}
	for _, name := range set {
		delete(rest, name)
	}
	for key := range rest {
		for _, name := range set {
			if strings.EqualFold(key, name) { // the decoder may mean the same field
				return object
			}
		}
	}
	return rest
}

// setField sets a field to a value of the same kind.
func setField(field reflect.Value, value any) bool {
	switch to := field.Addr().Interface().(type) {
	case *string:
		return setTo(to, value)
	case **string:
		return setPointer(to, value)
	case *bool:
		return setTo(to, value)
	case **bool:
		return setPointer(to, value)
	case *int:
		return setTo(to, integer(value))
	case **int:
		return setPointer(to, integer(value))
	}
	return false
}

func setTo[T any](to *T, value any) bool {
	v, ok := value.(T)
	if ok {
		*to = v
	}
	return ok
}

func setPointer[T any](to **T, value any) bool {
	v, ok := value.(T)
	if ok {
		*to = &v
	}
	return ok
}

// integer returns a number as an int, or the value itself if it is none.
func integer(value any) any {
	if n, ok := value.(json.Number); ok {
		if i, err := strconv.Atoi(integral(string(n))); err == nil {
			return i
		}
	}
	return value
}
