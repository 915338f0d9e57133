package tools

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeParams is json.Unmarshal of params, the canonical text of object, into the zero struct that p points to. It copies
// strings, booleans and integers, and decodes the other values. names are the [fieldNames] of the struct.
func decodeParams(params json.RawMessage, object map[string]any, names []string, p any) error {
	rest := setFields(object, names, reflect.ValueOf(p).Elem())
	switch len(rest) {
	case len(object):
		return json.Unmarshal(params, p)
	case 0:
		return nil
	}
	return json.Unmarshal(appendJSON(nil, rest), p)
}

// setFields sets the fields of a struct to the values of object that need no decoding, and returns the other values: all
// of them if encoding/json may use other fields.
func setFields(object map[string]any, names []string, params reflect.Value) (rest map[string]any) {
	if names == nil {
		return object
	}
	for key, value := range object {
		i := slices.IndexFunc(names, func(name string) bool { return name != "" && strings.EqualFold(name, key) })
		switch {
		case i >= 0 && names[i] != key: // encoding/json matches names without case
			return object
		case i < 0 || !setField(params.Field(i), value):
			if rest == nil {
				rest = make(map[string]any)
			}
			rest[key] = value
		}
	}
	return rest
}

// plainName are the characters of names that every version of encoding/json accepts in a tag.
const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// fieldNames returns the names of a struct's fields in JSON, by their index; "": it has none. It returns nil if the
// struct decodes itself, or the names of its fields depend on more rules of encoding/json.
func fieldNames(params reflect.Type) []string {
	if params.Kind() != reflect.Struct {
		return nil
	}
	switch reflect.New(params).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return nil
	}
	names := make([]string, params.NumField())
	for i := range names {
		field := params.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous, strings.Contains(options, "string"), strings.Trim(name, plainName) != "":
			return nil
		case !field.IsExported() || name == "-":
			continue
		case name == "":
			name = field.Name
		}
		if slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(name, other) }) {
			return nil
		}
		names[i] = name
	}
	return names
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
