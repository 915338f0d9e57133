package tools

import (
	"regexp"
	"slices"
)

// The keywords of a schema whose values are schemas, lists of schemas, or objects of schemas.
var (
	schemaKeywords = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then",
	}
	schemaListKeywords = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	schemaMapKeywords  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// The keywords that apply to properties and items that no other keyword evaluates.
const (
	unevaluatedItems      = "unevaluatedItems"
	unevaluatedProperties = "unevaluatedProperties"
)

// widen removes the patterns that Go's regular expressions do not support, such as lookaheads, from a schema. It reports
// whether there were any. The resulting schema accepts more than the original, never less: keywords such as not, which
// would reject a value because of the removal, are removed too. A removed keyword no longer evaluates properties and
// items, so the keywords for unevaluated ones are removed everywhere, because a reference may lead to them.
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
				properties[""] = true // every property may match one of these
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

// refusing lists the keywords that reject more the more their subschemas accept, and the keywords to remove if one of
// those is in doubt.
var refusing = map[string][]string{
	"not": {"not"}, "oneOf": {"oneOf"}, "if": {"if", "then", "else"}, "contains": {"maxContains"},
}

// doubtful reports whether v may contain an unsupported pattern or, if refs is set, another keyword that widen may
// relax: a reference, or a keyword for unevaluated values.
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
