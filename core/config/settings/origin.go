package settings

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Origin is what one layer says of a key.
type Origin struct {
	Layer  Layer  `json:"layer"`
	Source string `json:"source,omitempty"` // path of the file, "the variable NAME", or "the command line"; "" for the default
	Line   int    `json:"line,omitempty"`   // 1-based, in a file
	Column int    `json:"column,omitempty"`
	Value  any    `json:"value"` // as it stands there, with the names of variables and not what they hold

	// Filled says that variables in the value were filled in, so that what is in
	// force may hold a secret that is not written here.
	Filled bool `json:"filled,omitempty"`
	// Refused says why the value has no effect, or not all of it, though no
	// stronger layer gives another. "": it has its effect.
	Refused string `json:"refused,omitempty"`
}

// Origins lists what the layers say of a key, the strongest first and the
// default, if there is one, last. It is empty for what is no key.
func (r *Result) Origins(key string) []Origin {
	k := known().byPath[key]
	if k == nil {
		return nil
	}
	list := slices.Clone(r.origins[key])
	slices.Reverse(list)
	if v, ok := known().defaults[key]; ok {
		list = append(list, Origin{Layer: LayerDefault, Value: v})
	}
	return list
}

// Value returns the value in force of a key as JSON holds it, nil where none is
// given and there is no default, and for what is no key.
func (r *Result) Value(key string) any {
	k := known().byPath[key]
	if k == nil {
		return nil
	}
	text, err := json.Marshal(reflect.ValueOf(&r.Settings).Elem().FieldByIndex(k.index).Interface())
	if err != nil {
		return nil // plain values can be written
	}
	var value any
	_ = json.Unmarshal(text, &value) // what was written can be read
	return value
}
