package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// SchemaOf derives the schema of a tool's arguments from the struct P. The schema allows no additional properties at any
// level, and its properties are in the order of the fields. A field is required unless its json tag has omitempty or
// omitzero. The jsonschema tag sets limits ("minimum=1,maximum=9", "enum=a,enum=b"), and the jsonschema_description tag
// the description, which may contain commas. A default in a tag is documentation only: the tool applies it.
//
// SchemaOf fails, naming the field, if P has no schema or a tag would be ignored: P is not a struct or contains itself,
// a field has no JSON form, a tag keyword is unknown or needs a number, or oneof_required or anyof_required apply to P
// itself, which model APIs reject. It does not compile the schema; see [Schema.Compile].
func SchemaOf[P any](name string) (*Schema, error) {
	t := reflect.TypeFor[P]()
	if t.Kind() != reflect.Struct {
		return nil, badSchema(name, fmt.Errorf("the parameters must be a struct, not %s", t))
	}
	if err := checkType(t, "", nil); err != nil {
		return nil, badSchema(name, err)
	}
	raw, err := reflectSchema(t)
	if err != nil {
		return nil, badSchema(name, err)
	}
	return &Schema{name: name, source: raw, raw: raw}, nil
}

// reflectSchema returns the schema of a struct type that checkType accepted.
func reflectSchema(t reflect.Type) (raw json.RawMessage, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the parameters %s cannot be reflected: %v", t, cause)
		}
	}()
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.ReflectFromType(t)
	s.Version = ""
	if len(s.OneOf) > 0 || len(s.AnyOf) > 0 {
		return nil, errors.New("oneof_required and anyof_required are not supported at the top level; check such rules in Validate")
	}
	return encodeSchema(s)
}

// checkType finds types for which the reflector panics, recurses without end or ignores a field. at is the path of
// fields to t, within the struct types of outer.
func checkType(t reflect.Type, at string, outer []reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if hasOwnSchema(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("the field %s has the type %s, which JSON cannot hold", at, t)
	case reflect.Slice, reflect.Array:
		return checkType(t.Elem(), at, outer)
	case reflect.Map:
		if k := t.Key().Kind(); k != reflect.String && !isInteger(k) {
			return fmt.Errorf("the field %s has keys of type %s, which JSON cannot hold", at, t.Key())
		}
		return checkType(t.Elem(), at, outer)
	case reflect.Struct:
		if slices.Contains(outer, t) {
			return fmt.Errorf("the field %s has the type %s, which contains itself, so it has no finite schema", at, t)
		}
		return checkFields(t, at, append(slices.Clone(outer), t))
	}
	return nil
}

func checkFields(t reflect.Type, at string, outer []reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if (!f.IsExported() && !f.Anonymous) || f.Tag.Get("json") == "-" || f.Tag.Get("jsonschema") == "-" {
			continue
		}
		where := f.Name
		if at != "" {
			where = at + "." + f.Name
		}
		if err := checkTag(f, where); err != nil {
			return err
		}
		if err := checkType(f.Type, where, outer); err != nil {
			return err
		}
	}
	return nil
}

// hasOwnSchema reports whether the reflector treats t as a leaf.
func hasOwnSchema(t reflect.Type) bool {
	switch t.PkgPath() + "." + t.Name() {
	case "time.Time", "net/url.URL", "net.IP", "encoding/json.RawMessage":
		return true
	}
	return t.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()) ||
		t.Implements(reflect.TypeFor[interface{ JSONSchemaAlias() any }]())
}

func isInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uint64 }

// The keywords of a jsonschema tag.
var (
	tagFlags   = []string{"", "required", "nullable", "uniqueItems"}
	tagNumbers = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems"}
	tagTexts = []string{"title", "description", "type", "pattern", "format", "default", "example", "enum",
		"readOnly", "writeOnly", "uniqueItems", "anchor", "oneof_type", "anyof_type", "oneof_ref", "anyof_ref",
		"oneof_required", "anyof_required"}
)

// checkTag rejects keywords of a jsonschema tag that the reflector would silently ignore, in particular a description
// cut at a comma.
func checkTag(f reflect.StructField, at string) error {
	tag := strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, "")
	for _, word := range strings.Split(tag, ",") {
		key, value, assigned := strings.Cut(word, "=")
		switch {
		case !assigned && slices.Contains(tagFlags, key):
		case assigned && slices.Contains(tagTexts, key):
		case assigned && slices.Contains(tagNumbers, key):
			var n json.Number
			if err := json.Unmarshal([]byte(value), &n); err != nil || bytes.HasPrefix([]byte(value), []byte(`"`)) {
				return fmt.Errorf("the jsonschema tag of the field %s sets %s to %q, which is not a number", at, key, value)
			}
		default:
			return fmt.Errorf("the jsonschema tag of the field %s has the unknown keyword %q; "+
				"descriptions with commas belong in the tag jsonschema_description", at, word)
		}
	}
	return nil
}
