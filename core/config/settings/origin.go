package settings

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Origin is one layer's value of a key.
type Origin struct {
	Layer  Layer  `json:"layer"`
	Source string `json:"source,omitempty"` // path of the file, "the variable NAME", or "the command line"; "" for the default
	Line   int    `json:"line,omitempty"`   // 1-based, in a file
	Column int    `json:"column,omitempty"`
	Value  any    `json:"value"` // as written, with the names of variables and not their values

	// Filled states that variables in the value were expanded, so that the
	// effective value may contain a secret that is not written here.
	Filled bool `json:"filled,omitempty"`
	// Refused is the reason why the value has no effect, or not completely,
	// although no layer of higher precedence sets it. "": it has its effect.
	Refused string `json:"refused,omitempty"`

	// OfProject states that the value, or a variable in it, comes from the
	// project's settings file or a .env file of the project.
	OfProject bool `json:"-"`

	byTrust bool            // the project may set it only because it is trusted
	took    bool            // it has an effect, at least in part
	secrets []string        // that were expanded
	takes   []any           // its contribution to a list; nil: none
	spots   map[string]spot // positions of the texts of a list
	hooks   *HookLayer      // its hooks; nil: none
}

// Entry is one text of an effective list.
type Entry struct {
	Text   string
	Origin Origin // with the entry's own line and column, and the text as its Value
}

// Entries returns the effective list of a key, each entry with its layer, the
// lowest one if several contain it.
func (r *Result) Entries(key string) []Entry {
	k := known().byPath[key]
	if k == nil || k.kind != aList {
		return nil
	}
	var all []Entry
	there := map[string]Origin{}
	add := func(o Origin) {
		if k.Merge == Replace {
			all = nil
		}
		for _, part := range o.takes {
			text, _ := part.(string) // lists contain only texts
			from, known := there[text]
			if known && k.Merge == Union {
				continue
			}
			if at, here := o.spots[text]; here || !known {
				from = Origin{Layer: o.Layer, Source: o.Source, Line: at.line, Column: at.column, Value: text, Filled: o.Filled, OfProject: o.OfProject}
				there[text] = from
			}
			all = append(all, Entry{text, from})
		}
	}
	if list, ok := defaultValues()[key].([]any); ok {
		add(Origin{Layer: LayerDefault, takes: list})
	}
	for _, o := range r.origins[key] {
		if o.takes != nil {
			add(o)
		}
	}
	return all
}

// Origins returns the layers' values of a key, the one with the highest
// precedence first and the default, if there is one, last. It is empty for an
// unknown key.
func (r *Result) Origins(key string) []Origin {
	k := known().byPath[key]
	if k == nil {
		return nil
	}
	list := slices.Clone(r.origins[key])
	slices.Reverse(list)
	if v, ok := defaultIn(r.layout, key); ok {
		list = append(list, Origin{Layer: LayerDefault, Value: v})
	}
	return list
}

// InForce returns the value with the highest precedence that has an effect, at
// least in part. It is the zero Origin if no layer sets the key.
func (r *Result) InForce(key string) Origin {
	for _, o := range r.Origins(key) {
		if o.Refused == "" || len(o.takes) > 0 {
			return o
		}
	}
	return Origin{}
}

// OriginOf returns the value with the highest precedence that is effective as a
// whole; the zero Origin if no layer sets the key.
func (r *Result) OriginOf(key string) Origin {
	for _, o := range r.Origins(key) {
		if o.Refused == "" {
			return o
		}
	}
	return Origin{}
}

// Value returns the effective value of a key in its JSON representation, nil for
// an unset key without a default and for an unknown key.
func (r *Result) Value(key string) any {
	k := known().byPath[key]
	if k == nil {
		return nil
	}
	text, err := json.Marshal(reflect.ValueOf(&r.Settings).Elem().FieldByIndex(k.index).Interface())
	if err != nil {
		return nil // plain values can be encoded
	}
	var value any
	_ = json.Unmarshal(text, &value) // the encoded value can be decoded
	return value
}
