package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Limits of the parts of a failure in a message.
const (
	maxShownFailures = 5
	maxShownValue    = 120 // bytes
	maxShownSchema   = 300 // bytes
	maxShownKeys     = 20
)

// failure is one schema violation in arguments.
type failure struct {
	path     []string       // keys and indexes from the root
	keyword  string         // the violated keyword
	schema   map[string]any // the subschema that contains keyword; nil for a boolean schema
	value    any            // the value that was passed
	text     string         // the validator's message
	optional bool           // the value belongs to an optional key
	branches []failure      // of anyOf and oneOf: the violations of each alternative
}

// failures returns the causes of a validation error, sorted by path, because the validator returns them in random order.
func (s *Schema) failures(invalid *jsonschema.ValidationError, document any) []failure {
	var list []failure
	s.collect(invalid, document, &list)
	slices.SortStableFunc(list, compareFailures)
	return list
}

func compareFailures(a, b failure) int {
	return cmp.Or(slices.CompareFunc(a.path, b.path, compareTokens),
		cmp.Compare(a.keyword, b.keyword), cmp.Compare(a.text, b.text))
}

// compareTokens compares indexes as numbers.
func compareTokens(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}

func (s *Schema) collect(cause *jsonschema.ValidationError, document any, list *[]failure) {
	_, fragment, _ := strings.Cut(cause.AbsoluteKeywordLocation, "#")
	tokens := pointerTokens(fragment)
	keyword := ""
	if len(tokens) > 0 {
		keyword = tokens[len(tokens)-1]
	}
	alternative := keyword == "anyOf" || keyword == "oneOf" || keyword == "minContains"
	if len(cause.Causes) > 0 && !alternative {
		for _, c := range cause.Causes {
			s.collect(c, document, list)
		}
		return
	}
	f := failure{path: pointerTokens(cause.InstanceLocation), keyword: keyword, text: cause.Message}
	f.schema = s.part(tokens)
	f.value, _ = lookUp(document, f.path)
	f.optional = s.optional(tokens)
	for _, c := range cause.Causes {
		s.collect(c, document, &f.branches)
	}
	slices.SortStableFunc(f.branches, compareFailures)
	*list = append(*list, f)
}

// part returns the innermost subschema on the path to a keyword.
func (s *Schema) part(tokens []string) map[string]any {
	var innermost map[string]any
	at := s.document
	for i := 0; ; i++ {
		if object, ok := at.(map[string]any); ok {
			innermost = object
		}
		if i == len(tokens) {
			return innermost
		}
		next, ok := step(at, tokens[i])
		if !ok {
			return innermost
		}
		at = next
	}
}

// optional reports whether a keyword, given by its path in the schema, belongs to a property that is not required.
func (s *Schema) optional(tokens []string) bool {
	n := len(tokens)
	if n < 3 || tokens[n-3] != "properties" {
		return false
	}
	required, _ := s.part(tokens[:n-3])["required"].([]any)
	return !slices.Contains(required, any(tokens[n-2]))
}

// lookUp returns the value at a path.
func lookUp(document any, path []string) (any, bool) {
	at := document
	for _, token := range path {
		next, ok := step(at, token)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}

func step(at any, token string) (any, bool) {
	switch at := at.(type) {
	case map[string]any:
		v, ok := at[token]
		return v, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(at) {
			return at[i], true
		}
	}
	return nil, false
}

// pointerTokens splits a JSON pointer as the validator writes it: escaped as a pointer and then as a URL path.
func pointerTokens(pointer string) []string {
	pointer = strings.TrimPrefix(pointer, "/")
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		if plain, err := url.PathUnescape(t); err == nil {
			t = plain
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

var plainKey = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// showPath formats a path, as in edits[2].old_string.
func showPath(path []string) string {
	var b strings.Builder
	for i, token := range path {
		_, err := strconv.Atoi(token)
		switch {
		case err == nil:
			fmt.Fprintf(&b, "[%s]", token)
		case !plainKey().MatchString(token):
			fmt.Fprintf(&b, "[%s]", quoteClipped(token))
		case i > 0:
			b.WriteByte('.')
			b.WriteString(escape.ClipBytes(token, 60))
		default:
			b.WriteString(escape.ClipBytes(token, 60))
		}
	}
	if b.Len() == 0 {
		return "the arguments"
	}
	return b.String()
}

// explain formats failures, one line each if there are several.
func explain(failures []failure) string {
	if len(failures) == 1 {
		return failures[0].explain()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d mistakes.", len(failures))
	for i, f := range failures {
		if i == maxShownFailures {
			fmt.Fprintf(&b, "\n- and %d more.", len(failures)-i)
			break
		}
		b.WriteString("\n- ")
		b.WriteString(f.explain())
	}
	return b.String()
}

func (f failure) explain() string {
	at := ""
	if len(f.path) > 0 {
		at = showPath(f.path) + ": " // else the arguments as a whole, which the preceding sentence names
	}
	switch f.keyword {
	case "required":
		return f.explainMissing(at)
	case "additionalProperties", "unevaluatedProperties":
		if unknown := f.unknownKeys(); len(unknown) > 0 {
			return f.explainUnknown(at, unknown)
		}
	case "type":
		return fmt.Sprintf("%sexpected %s, got %s.%s", at, typeNames(f.schema["type"]), showValue(f.value), f.showSchema())
	case "enum":
		return fmt.Sprintf("%sexpected one of %s, got %s.%s", at,
			escape.ClipBytes(string(appendJSON(nil, f.schema["enum"])), maxShownSchema), showValue(f.value), f.showSchema())
	case "anyOf", "oneOf":
		if len(f.branches) > 0 {
			return fmt.Sprintf("%sexpected a value that one of the alternatives allows, got %s.%s", at, showValue(f.value), f.showSchema())
		}
	}
	return fmt.Sprintf("%s%s, got %s.%s", at, f.text, showValue(f.value), f.showSchema())
}

func (f failure) explainMissing(at string) string {
	object, _ := f.value.(map[string]any)
	required, _ := f.schema["required"].([]any)
	var missing []string
	for _, r := range required {
		if name, ok := r.(string); ok {
			if _, sent := object[name]; !sent {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 1 {
		key := missing[0]
		property := f
		properties, _ := f.schema["properties"].(map[string]any)
		property.schema, _ = properties[key].(map[string]any)
		return fmt.Sprintf("%sthe required key %q is missing.%s", at, key, property.showSchema())
	}
	quoted := make([]string, len(missing))
	for i, m := range missing {
		quoted[i] = fmt.Sprintf("%q", m)
	}
	return fmt.Sprintf("%sthe required keys %s are missing.", at, strings.Join(quoted, ", "))
}

// unknownKeys returns the passed keys that the schema does not declare, sorted.
func (f failure) unknownKeys() []string {
	object, _ := f.value.(map[string]any)
	properties, _ := f.schema["properties"].(map[string]any)
	patterns, _ := f.schema["patternProperties"].(map[string]any)
	var unknown []string
keys:
	for key := range object {
		if _, declared := properties[key]; declared {
			continue
		}
		for p := range patterns {
			if re, err := regexp.Compile(p); err == nil && re.MatchString(key) {
				continue keys
			}
		}
		unknown = append(unknown, key)
	}
	slices.Sort(unknown)
	return unknown
}

func (f failure) explainUnknown(at string, unknown []string) string {
	properties, _ := f.schema["properties"].(map[string]any)
	declared := slices.Sorted(maps.Keys(properties))
	parts := make([]string, 0, maxShownFailures)
	for i, key := range unknown {
		if i == maxShownFailures {
			parts = append(parts, fmt.Sprintf("and %d more", len(unknown)-i))
			break
		}
		part := quoteClipped(key)
		if near := nearest(key, declared, 1); len(near) > 0 {
			part += fmt.Sprintf(" (did you mean %q?)", near[0])
		}
		parts = append(parts, part)
	}
	noun := "unknown key"
	if len(unknown) > 1 {
		noun = "unknown keys"
	}
	known := "it takes no keys"
	if len(declared) > 0 {
		known = "the declared keys are " + strings.Join(declared[:min(len(declared), maxShownKeys)], ", ")
	}
	return fmt.Sprintf("%s%s %s; %s.", at, noun, strings.Join(parts, ", "), known)
}

// showSchema quotes the violated subschema.
func (f failure) showSchema() string {
	if f.schema == nil {
		return ""
	}
	return " Its schema: " + escape.ClipBytes(string(appendJSON(nil, f.schema)), maxShownSchema)
}

// showValue quotes a value with its type.
func showValue(v any) string {
	return fmt.Sprintf("%s (%s)", escape.ClipBytes(string(appendShown(nil, v)), maxShownValue), kindOf(v))
}

// appendShown is appendJSON with numbers as they were passed.
func appendShown(b []byte, v any) []byte {
	if n, ok := v.(json.Number); ok {
		return append(b, n...)
	}
	return appendJSON(b, v)
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// typeNames formats the types of a schema's type keyword.
func typeNames(t any) string {
	return strings.Join(typesOf(t), " or ")
}

func typesOf(t any) []string {
	switch t := t.(type) {
	case string:
		return []string{t}
	case []any:
		var names []string
		for _, n := range t {
			if s, ok := n.(string); ok {
				names = append(names, s)
			}
		}
		return names
	}
	return nil
}
