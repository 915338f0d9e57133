package tools

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// shape is a plain schema with the keys that most tools use. It accepts valid documents in a fraction of the time that the
// compiled schema takes (BenchmarkShape), which decides about the others and explains what is wrong with them.
type shape struct {
	kinds    kindSet
	texts    []string       // permitted strings; nil: all. Other values are not accepted with it
	pattern  *regexp.Regexp // of strings; nil: all
	anyOf    []*shape       // one of them accepts; nil: no condition
	oneOf    [][]string     // sets of members of which exactly one is complete; nil: no condition. Other values than objects are not accepted with it
	members  map[string]*shape
	closed   bool // no other members are permitted
	required []string
	items    *shape // nil: no condition
	number   span
	length   span // of strings, in characters
	count    span // of arrays
}

// kindSet is a set of kinds of values.
type kindSet uint8

const (
	aString kindSet = 1 << iota
	anInteger
	aNumber
	aBoolean
	anObject
	anArray
	aNull
	everyKind = aString | anInteger | aNumber | aBoolean | anObject | anArray | aNull
)

func kindsOf(types any) (set kindSet) {
	list, several := types.([]any)
	if !several {
		list = []any{types}
	}
	for _, name := range list {
		switch name {
		case "string":
			set |= aString
		case "integer":
			set |= anInteger
		case "number":
			set |= anInteger | aNumber
		case "boolean":
			set |= aBoolean
		case "object":
			set |= anObject
		case "array":
			set |= anArray
		case "null":
			set |= aNull
		}
	}
	return set
}

// span is a closed range; nil: no limit.
type span struct{ least, most *int64 }

func (s span) contains(n int64) bool {
	return (s.least == nil || n >= *s.least) && (s.most == nil || n <= *s.most)
}

// shapeOf returns the shape of a plain schema; nil if it has other keys.
func shapeOf(schema any) *shape {
	s := &shape{kinds: everyKind}
	if all, ok := schema.(bool); ok && all {
		return s
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	for key, value := range object {
		if !s.add(object, key, value) {
			return nil
		}
	}
	return s
}

// textsOf returns the texts of a list.
func textsOf(list []any) []string {
	texts := make([]string, 0, len(list))
	for _, one := range list {
		texts = append(texts, one.(string))
	}
	return texts
}

// add adds a key of a plain schema, and reports whether it can be represented.
func (s *shape) add(object map[string]any, key string, value any) bool {
	switch key {
	case "title", "description", "default", "examples", "$schema", "$comment", "readOnly", "writeOnly", "deprecated":
		return true
	case "type":
		s.kinds = kindsOf(value)
		return true
	case "enum":
		for _, one := range value.([]any) {
			text, ok := one.(string)
			if !ok {
				return false
			}
			s.texts = append(s.texts, text)
		}
		return true
	case "const":
		text, ok := value.(string)
		s.texts = []string{text}
		return ok && object["enum"] == nil
	case "pattern":
		s.pattern = regexp.MustCompile(value.(string)) // plainSchema has compiled it
		return true
	case "oneOf":
		for _, one := range value.([]any) {
			keys, _ := one.(map[string]any)
			required, ok := keys["required"].([]any)
			if !ok || len(keys) > 1 {
				return false
			}
			s.oneOf = append(s.oneOf, textsOf(required))
		}
		return true
	case "anyOf":
		for _, one := range value.([]any) {
			s.anyOf = append(s.anyOf, shapeOf(one))
		}
		return !slices.Contains(s.anyOf, nil)
	case "properties":
		members := value.(map[string]any)
		s.members = make(map[string]*shape, len(members))
		for name, one := range members {
			if s.members[name] = shapeOf(one); s.members[name] == nil {
				return false
			}
		}
		return true
	case "additionalProperties":
		others, ok := value.(bool)
		s.closed = !others
		return ok
	case "required":
		s.required = textsOf(value.([]any))
		return true
	case "items":
		s.items = shapeOf(value)
		return s.items != nil
	}
	limits := map[string]**int64{
		"minimum": &s.number.least, "maximum": &s.number.most, "minLength": &s.length.least, "maxLength": &s.length.most,
		"minItems": &s.count.least, "maxItems": &s.count.most,
	}
	limit := limits[key]
	number, ok := integerOf(value)
	if limit == nil || !ok {
		return false
	}
	*limit = &number
	return true
}

// integerOf returns the value of a literal of at most 18 characters without fraction and exponent; false for other values.
func integerOf(v any) (int64, bool) {
	literal, ok := v.(json.Number)
	if !ok || len(literal) > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	return n, err == nil
}

// accepts reports whether a document is certain to match the schema. A document that it does not accept may match too.
func (s *shape) accepts(v any) bool {
	if s.anyOf != nil && !slices.ContainsFunc(s.anyOf, func(one *shape) bool { return one.accepts(v) }) {
		return false
	}
	text, isText := v.(string)
	if s.texts != nil && !(isText && slices.Contains(s.texts, text)) {
		return false
	}
	if _, isObject := v.(map[string]any); s.oneOf != nil && !isObject {
		return false
	}
	switch v := v.(type) {
	case string:
		return s.kinds&aString != 0 && (s.pattern == nil || s.pattern.MatchString(text)) && (s.length == span{} || s.length.contains(int64(utf8.RuneCountInString(text))))
	case json.Number:
		n, ok := integerOf(v)
		if !ok {
			return s.kinds&aNumber != 0 && s.number == span{}
		}
		return s.kinds&anInteger != 0 && s.number.contains(n)
	case bool:
		return s.kinds&aBoolean != 0
	case nil:
		return s.kinds&aNull != 0
	case []any:
		return s.kinds&anArray != 0 && s.count.contains(int64(len(v))) &&
			(s.items == nil || !slices.ContainsFunc(v, func(one any) bool { return !s.items.accepts(one) }))
	case map[string]any:
		return s.kinds&anObject != 0 && s.acceptsMembers(v)
	}
	return false
}

func (s *shape) acceptsMembers(object map[string]any) bool {
	if !hasAll(object, s.required) {
		return false
	}
	complete := 0
	for _, names := range s.oneOf {
		if hasAll(object, names) {
			complete++
		}
	}
	if s.oneOf != nil && complete != 1 {
		return false
	}
	for name, value := range object {
		member := s.members[name]
		if member == nil && s.closed || member != nil && !member.accepts(value) {
			return false
		}
	}
	return true
}

func hasAll(object map[string]any, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { _, ok := object[name]; return !ok })
}
