package settings

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/invopop/jsonschema"
)

// refuseToLoad prevents a schema from loading another one from disk or network.
func refuseToLoad(string) (io.ReadCloser, error) {
	return nil, errors.New("a schema may not load another")
}

// reflectSchema returns the schema of the struct Settings. comment returns a
// field's description, or a type's if field is ""; nil: no descriptions.
func reflectSchema(comment func(t reflect.Type, field string) string) map[string]any {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, LookupComment: comment}
	text, err := json.Marshal(r.Reflect(Settings{}))
	if err != nil {
		panic("settings: the schema cannot be encoded: " + err.Error())
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		panic("settings: the schema cannot be read: " + err.Error())
	}
	return schema
}

// schemasOf returns the schema of each key.
func schemasOf(n *node, schema map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, below := range n.below {
		part, _ := properties[name].(map[string]any)
		if below.key != nil {
			found[below.path] = part
			continue
		}
		for path, s := range schemasOf(below, part) {
			found[path] = s
		}
	}
	return found
}
