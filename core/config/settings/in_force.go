package settings

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// With returns r with the values and the origins of some keys replaced by those
// of newer: it has the variables of r and the problems of newer. Neither of the
// two changes. Unknown keys are ignored.
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

// WrongIn returns the sources whose contribution to a key is partly or wholly
// unknown, because their value for it, for a part of it or for its group has no
// effect. A source whose problems are not all listed is included.
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
