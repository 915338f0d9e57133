package tools

import (
	"regexp"
	"slices"
)

// The keywords of a schema whose values are schemas, lists of them, or have them as
// their members.
var (
	schemaKeywords = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then",
	}
	schemaListKeywords = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	schemaMapKeywords  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// The keywords that refuse what nothing else of the schema has had a say in.
const (
	unevaluatedItems      = "unevaluatedItems"
	unevaluatedProperties = "unevaluatedProperties"
)

// widen takes out of a schema the patterns that Go's regular expressions do not
// know, as those that look ahead. It reports whether there were some. What is left
// takes more than the schema, never less: what would refuse because of something
// that is taken now, as not does, goes too. With it goes its say in properties and
// items, so nothing that is refused for want of one stays, wherever it stands: a
// reference may lead from there to what has gone.
func widen(schema any) bool {
	if !doubtful(schema, false) {
		return false
	}
	widenIn(schema)
	return true
}

func widenIn(schema any) {
	object, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if pattern, ok := object["pattern"].(string); ok && !compiles(pattern) {
		delete(object, "pattern")
	}
	if properties, ok := object["patternProperties"].(map[string]any); ok {
		for pattern := range properties {
			if !compiles(pattern) {
				delete(properties, pattern)
				properties[""] = true // every property may be one of these
			}
		}
	}
	delete(object, unevaluatedItems)
	delete(object, unevaluatedProperties)
	for key, also := range refusing {
		if doubtful(object[key], true) {
			for _, k := range also {
				delete(object, k)
			}
		}
	}
	for key, value := range object {
		if slices.Contains(schemaKeywords, key) {
			widenIn(value)
		}
		if list, ok := value.([]any); ok && slices.Contains(schemaListKeywords, key) {
			for _, v := range list {
				widenIn(v)
			}
		}
		if members, ok := value.(map[string]any); ok && slices.Contains(schemaMapKeywords, key) {
			for _, v := range members {
				widenIn(v)
			}
		}
	}
}

// refusing are the keywords that refuse the more the more their schemas take, and
// what goes where one of those is in doubt.
var refusing = map[string][]string{
	"not": {"not"}, "oneOf": {"oneOf"}, "if": {"if", "then", "else"}, "contains": {"maxContains"},
}

// doubtful reports whether there may be a pattern that is unknown within v, or
// where refs is set, anything else that widen may make take more: a reference to
// somewhere else, or what refuses the unevaluated.
func doubtful(v any, refs bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			pattern, isText := value.(string)
			switch {
			case key == "pattern" && isText && !compiles(pattern), refs && isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"),
				refs && (key == unevaluatedItems || key == unevaluatedProperties):
				return true
			case doubtful(value, refs):
				return true
			}
			if patterns, ok := value.(map[string]any); ok && key == "patternProperties" {
				for pattern := range patterns {
					if !compiles(pattern) {
						return true
					}
				}
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return doubtful(e, refs) })
	}
	return false
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}
