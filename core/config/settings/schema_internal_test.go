package settings

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON schema of a settings file, for editors. comment returns
// the description of a field of a struct type of this package, or with field ""
// that of the type; nil: no descriptions.
func Schema(comment func(t reflect.Type, field string) string) ([]byte, error) {
	schema := reflectSchema(comment)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "fettle settings"
	optional(known().root, schema)
	properties := schema["properties"].(map[string]any) //nolint:errcheck // a struct has properties
	properties["$schema"] = map[string]any{"type": "string", "description": "Where this schema lies; for editors."}
	for _, path := range foreign() {
		place(schema, path, map[string]any{"description": "Of another program; fettle does not read it.", "deprecated": true})
	}
	for _, a := range aliases() {
		if part := find(schema, a.to); part != nil {
			place(schema, a.from, map[string]any{"deprecated": true, "description": "The same as " + a.to + ".", "anyOf": []any{part}})
		}
	}
	const gemini = "context.fileFiltering.respectGeminiIgnore"
	own := find(schema, gemini)
	delete(own, "deprecated") // it is the name in the other layout
	for _, k := range known().keys {
		if !k.Single {
			continue
		}
		list := find(schema, k.Path)
		whole := map[string]any{"anyOf": []any{list, map[string]any{"type": "string"}}, "description": list["description"]}
		delete(list, "description")
		group, name := k.Path[:strings.LastIndexByte(k.Path, '.')], k.Path[strings.LastIndexByte(k.Path, '.')+1:]
		find(schema, group)["properties"].(map[string]any)[name] = whole //nolint:errcheck // a group has properties
	}
	delete(find(schema, "ui"), "additionalProperties") // unknown keys of it are another program's
	defaults := defaultValues()
	for _, k := range known().keys {
		if v, ok := defaults[k.Path]; ok {
			find(schema, k.Path)["default"] = v
		}
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// optional makes no member of a schema's groups required, and accepts the short
// forms of groups.
func optional(n *node, schema map[string]any) {
	delete(schema, "required")
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range n.below {
		if below.key != nil {
			continue
		}
		part, _ := properties[name].(map[string]any)
		optional(below, part)
		var forms []any
		for _, s := range shortForms() {
			if s.group == below.path {
				forms = append(forms, map[string]any{"type": s.typeName()})
			}
		}
		if len(forms) > 0 {
			whole := map[string]any{"anyOf": append([]any{part}, forms...)}
			if d, ok := part["description"]; ok {
				whole["description"] = d
				delete(part, "description")
			}
			properties[name] = whole
		}
	}
}

// find returns the schema at a path, nil if there is none.
func find(schema map[string]any, path string) map[string]any {
	for _, name := range strings.Split(path, ".") {
		if forms, ok := schema["anyOf"].([]any); ok {
			schema, _ = forms[0].(map[string]any)
		}
		properties, _ := schema["properties"].(map[string]any)
		if schema, _ = properties[name].(map[string]any); schema == nil {
			return nil
		}
	}
	return schema
}

// place inserts a schema at a path, and creates missing groups.
func place(schema map[string]any, path string, part map[string]any) {
	group, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		group, name = path[:i], path[i+1:]
		if schema = find(schema, group); schema == nil {
			return
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if _, taken := properties[name]; !taken && properties != nil {
		properties[name] = part
	}
}

func (s shortForm) typeName() string {
	if s.kind == aBool {
		return "boolean"
	}
	return "string"
}
