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

// WrongIn lists the sources of which it cannot be told what they give of a key,
// or not all of it, since their value for it, for a part of it or for a group
// that it belongs to has no effect. Where not all mistakes of one are told, it is
// among them.
func (r *Result) WrongIn(key string) []string {
	var sources []string
	for _, p := range r.Problems {
		given := p.Key
		for _, a := range aliases() {
			if a.from == given {
				given = a.to
			}
		}
		about := given == key || strings.HasPrefix(key, given+".") || strings.HasPrefix(given, key+".") || p.Kind == KindMore
		if p.Severity == Error && about && !slices.Contains(sources, p.Path) {
			sources = append(sources, p.Path)
		}
	}
	return sources
}
