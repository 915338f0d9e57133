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

	// OfProject says that the project gives the value, or a variable in it: its
	// settings file, or a .env file of its.
	OfProject bool `json:"-"`

	byTrust bool            // the project may say it only as it is trusted
	took    bool            // it has its effect, at least in part
	secrets []string        // that were filled in
	takes   []any           // what it contributes to a list; nil: nothing
	spots   map[string]spot // of the texts of a list that is written there
	hooks   *HookLayer      // what it gives of the hooks; nil: nothing
}

// Entry is one text of a list in force.
type Entry struct {
	Text   string
	Origin Origin // with the entry's own line and column, and the text as its Value
}

// Entries returns the list in force of a key whose values are lists, each entry
// with the layer that gives it; where several do, the weakest.
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
			text, _ := part.(string) // no list has other parts
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

// Origins lists what the layers say of a key, the strongest first and the
// default, if there is one, last. It is empty for what is no key.
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

// InForce returns what the strongest layer says that has its effect, at least in
// part. It is the zero Origin where nobody says anything.
func (r *Result) InForce(key string) Origin {
	for _, o := range r.Origins(key) {
		if o.Refused == "" || len(o.takes) > 0 {
			return o
		}
	}
	return Origin{}
}

// OriginOf returns what the strongest layer says whose value is in force as a whole;
// the zero Origin where nobody says anything.
func (r *Result) OriginOf(key string) Origin {
	for _, o := range r.Origins(key) {
		if o.Refused == "" {
			return o
		}
	}
	return Origin{}
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
