package tooltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/tools"
)

func (k *kit) checkSpec(t testing.TB) {
	s := k.spec
	if err := tools.NewRegistry(tools.RegistryOptions{}).Register(k.tool); err != nil {
		t.Errorf("Spec: no registry accepts it: %v", err)
	}
	for i, alias := range s.Aliases {
		if alias == s.Name || slices.Contains(s.Aliases[:i], alias) {
			t.Errorf("Spec.Aliases: %q is a duplicate or the name", alias)
		}
	}
	if strings.TrimSpace(s.Description) == "" {
		t.Errorf("Spec.Description is empty; models choose tools by it")
	}
	switch o := s.Origin; {
	case o.Group == tools.GroupMCP && o.Server == "":
		t.Errorf("Spec.Origin: an MCP tool requires a server")
	case o.Group != tools.GroupMCP && o.Server != "":
		t.Errorf("Spec.Origin: only MCP tools have a server, here %q", o.Server)
	case o.Tool != "" && o.Server == "":
		t.Errorf("Spec.Origin: %q is the name of a tool at a server, but there is no server", o.Tool)
	}
	if s.Annotations != nil && s.Origin.Server == "" {
		t.Errorf("Spec.Annotations come from the server of a tool, but there is no server")
	}
	if again := k.tool.Spec(); !reflect.DeepEqual(s, again) {
		t.Errorf("Spec differs between calls:\n%+v\n%+v", s, again)
	}
}

// keywords are the keywords that the schema of a tool may use. Validators ignore unknown keywords, so a misspelt limit
// would have no effect.
var keywords = []string{
	"type", "enum", "const", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
	"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
	"items", "prefixItems", "minItems", "maxItems", "uniqueItems",
	"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"anyOf", "oneOf", "allOf", "not", "$ref", "$defs",
}

// notOutermost are keywords that model APIs refuse at the top of a schema.
var notOutermost = []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"}

func (k *kit) checkSchema(t testing.TB) {
	schema, err := tools.ParseSchema(k.spec.Name, k.spec.Schema)
	if err == nil {
		err = schema.Compile()
	}
	if err != nil {
		t.Errorf("Spec.Schema: %v", err)
		return
	}
	var root map[string]any
	if err := json.Unmarshal(k.spec.Schema, &root); err != nil {
		t.Errorf("Spec.Schema: %v", err)
		return
	}
	if root["type"] != "object" {
		t.Errorf("Spec.Schema: the outermost type must be \"object\"")
	}
	if k.spec.OutputSchema != nil {
		output, err := tools.ParseOutputSchema(k.spec.Name, k.spec.OutputSchema)
		if err == nil {
			err = output.Compile()
		}
		if err != nil {
			t.Errorf("Spec.OutputSchema: %v", err)
		}
	}
	if k.spec.Origin.Group != tools.GroupBuiltIn {
		return // the schema of a server may use every keyword
	}
	for _, word := range notOutermost {
		if _, found := root[word]; found {
			t.Errorf("Spec.Schema: model APIs refuse %s at the outermost level", word)
		}
	}
	for _, problem := range schemaProblems(root, "") {
		t.Errorf("Spec.Schema: %s", problem)
	}
}

// schemaProblems returns the errors of a part of a schema. at is the path of properties to it.
func schemaProblems(node any, at string) []string {
	schema, ok := node.(map[string]any)
	if !ok {
		return nil // a boolean schema
	}
	var problems []string
	report := func(format string, args ...any) {
		problems = append(problems, place(at)+": "+fmt.Sprintf(format, args...))
	}
	for _, word := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(keywords, word) {
			report("%q is not a keyword that validators and models know", word)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" || properties != nil {
		switch extra := schema["additionalProperties"].(type) {
		case nil:
			report("it is open: without additionalProperties it accepts any key")
		case bool:
			if extra {
				report("it is open: additionalProperties is true")
			}
		case map[string]any:
			if len(properties) > 0 {
				report("it is open: it has properties and accepts others")
			}
			problems = append(problems, schemaProblems(extra, at+".*")...)
		}
	}
	required, _ := schema["required"].([]any)
	for _, r := range required {
		if name, _ := r.(string); properties[name] == nil {
			report("%q is required but not declared", r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner := strings.TrimPrefix(at+"."+name, ".")
		property, _ := properties[name].(map[string]any)
		if text, _ := property["description"].(string); strings.TrimSpace(text) == "" {
			problems = append(problems, place(inner)+": it has no description (tag jsonschema_description)")
		}
		problems = append(problems, schemaProblems(properties[name], inner)...)
	}
	return append(problems, nestedProblems(schema, at)...)
}

// nestedProblems returns the errors of the parts of a schema other than properties.
func nestedProblems(schema map[string]any, at string) []string {
	var problems []string
	if items := schema["items"]; items != nil {
		problems = append(problems, schemaProblems(items, at+"[]")...)
	}
	for _, word := range []string{"prefixItems", "anyOf", "oneOf", "allOf"} {
		parts, _ := schema[word].([]any)
		for i, part := range parts {
			problems = append(problems, schemaProblems(part, fmt.Sprintf("%s(%s %d)", at, word, i))...)
		}
	}
	for _, word := range []string{"patternProperties", "$defs"} {
		parts, _ := schema[word].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			problems = append(problems, schemaProblems(parts[name], fmt.Sprintf("%s(%s %s)", at, word, name))...)
		}
	}
	return problems
}

func place(at string) string {
	if at == "" {
		return "outermost object"
	}
	return at
}
