package settings

import (
	"maps"
	"reflect"
	"slices"
)

// With returns what is in force once some keys of r have the values, and the
// origins, of newer: the variables of r, the problems of newer. Neither of the
// two changes. Keys that there are not are left out.
func (r *Result) With(newer *Result, keys ...string) *Result {
	mixed := *r
	mixed.Problems = slices.Clone(newer.Problems)
	mixed.origins, mixed.values = maps.Clone(r.origins), maps.Clone(r.values)
	target, source := reflect.ValueOf(&mixed.Settings).Elem(), reflect.ValueOf(&newer.Settings).Elem()
	for _, path := range keys {
		k := known().byPath[path]
		if k == nil {
			continue
		}
		target.FieldByIndex(k.index).Set(source.FieldByIndex(k.index))
		take(mixed.origins, newer.origins, path)
		take(mixed.values, newer.values, path)
	}
	return &mixed
}

// take gives a map what another one has under a key, nothing included.
func take[V any](to, from map[string]V, key string) {
	if v, ok := from[key]; ok {
		to[key] = v
	} else {
		delete(to, key)
	}
}
