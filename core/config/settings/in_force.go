package settings

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// With returns what is in force once some keys of r have the values, and the
// origins, of newer: the variables of r, the problems of newer. Neither of the
// two changes. Keys that there are not are left out.
func (r *Result) With(newer *Result, keys ...string) *Result {
	mixed := *r
	mixed.Problems = slices.Clone(newer.Problems)
	mixed.origins = map[string][]Origin{}
	maps.Copy(mixed.origins, r.origins)
	target, source := reflect.ValueOf(&mixed.Settings).Elem(), reflect.ValueOf(&newer.Settings).Elem()
	for _, path := range keys {
		k := known().byPath[path]
		if k == nil {
			continue
		}
		target.FieldByIndex(k.index).Set(source.FieldByIndex(k.index))
		delete(mixed.origins, path)
		if given, ok := newer.origins[path]; ok {
			mixed.origins[path] = given
		}
	}
	return &mixed
}

// Wrong reports whether what was given of a key cannot be told, or not all of
// it, since a layer's value for it, for a part of it or for a group that it
// belongs to has no effect.
func (r *Result) Wrong(key string) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool {
		if p.Severity != Error {
			return false
		}
		given := p.Key
		for _, a := range aliases() {
			if a.from == given {
				given = a.to
			}
		}
		return given == key || strings.HasPrefix(key, given+".") || strings.HasPrefix(given, key+".") || p.Kind == KindMore
	})
}
