package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/viper"
)

// merged is what the layers make together.
type merged struct {
	settings Settings
	problems []Problem
	origins  map[string][]Origin
}

// merge joins the layers, the weakest first, in a viper instance of its own
// (GO-04). Viper folds the case of keys, in maps too, so maps stay beside it
// (KH-25).
func merge(o Options, all []*layerOf) merged {
	store := viper.NewWithOptions(viper.KeyDelimiter("::")) // no key holds it, so that none is taken apart
	objects := map[string]any{}
	get := func(k *Key) any {
		if k.kind == aMap {
			return objects[k.Path]
		}
		return store.Get(k.Path)
	}
	m := merged{settings: Defaults(), origins: map[string][]Origin{}}
	defaults := known().defaults
	for _, l := range all {
		given := map[string]any{}
		for _, k := range known().keys {
			e := l.entries[k.Path]
			if e == nil {
				continue
			}
			lower := get(k)
			if lower == nil {
				lower = defaults[k.Path]
			}
			value := e.value
			origin := Origin{Layer: l.layer, Source: e.source, Line: e.line, Column: e.column, Value: e.written, Filled: e.filled}
			if l.layer == LayerProject {
				var refused string
				value, refused = o.fromProject(k, value, lower)
				if refused != "" {
					origin.Refused = refused
					l.report(Problem{Line: e.line, Column: e.column, Key: k.Path, Kind: KindUntrusted, Severity: Warning, Message: refused,
						Remedy: "Set it in your own settings, or trust the folder with fettle trust."})
				}
			}
			m.origins[k.Path] = append(m.origins[k.Path], origin)
			if value == nil {
				continue
			}
			value = combine(k.Merge, lower, value)
			if k.kind == aMap {
				objects[k.Path] = value
			} else {
				given[k.Path] = value
			}
		}
		if err := store.MergeConfigMap(given); err != nil {
			panic("settings: " + err.Error()) // it has no reason to fail
		}
		slices.SortStableFunc(l.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		m.problems = append(m.problems, l.problems...)
	}
	target := reflect.ValueOf(&m.settings).Elem()
	for _, k := range known().keys {
		if v := get(k); v != nil {
			k.assign(target, v)
		}
	}
	return m
}

// last puts at the end that not all problems are told.
func last(p Problem) int {
	if p.Kind == KindMore {
		return 1
	}
	return 0
}

// fromProject returns what the project's file contributes to a key, nil for
// nothing, and why that is not all that it says.
func (o Options) fromProject(k *Key, value, lower any) (result any, refused string) {
	if k.Project == ProjectNever {
		return nil, "A project has no say in this; the key has no effect here."
	}
	if o.Trusted {
		return value, ""
	}
	if k.Path == "tools.core" && lower == nil {
		if o.DefaultTools == nil {
			return nil, "As the folder is not trusted, its project may not say which tools there are."
		}
		list := []any{}
		for _, name := range o.DefaultTools {
			list = append(list, name)
		}
		lower = list
	}
	result, ok, whole := k.Project.tighten(value, lower)
	switch {
	case !ok && (k.Project == ProjectTrusted):
		return nil, "As the folder is not trusted, its project may not set this; the key has no effect."
	case !ok:
		return nil, fmt.Sprintf("As the folder is not trusted, its project may tighten this and not loosen it; %s has no effect.", quote(value))
	case !whole:
		return result, "As the folder is not trusted, its project may tighten this and not loosen it; entries that would be new are left out."
	}
	return result, ""
}

// assign puts a checked value into its field.
func (k *Key) assign(settings reflect.Value, value any) {
	text, err := json.Marshal(value)
	if err == nil {
		field := reflect.New(settings.FieldByIndex(k.index).Type())
		if err = json.Unmarshal(text, field.Interface()); err == nil {
			settings.FieldByIndex(k.index).Set(field.Elem())
			return
		}
	}
	panic(fmt.Sprintf("settings: %s passed its schema and does not fit its field: %v", k.Path, err))
}

// combine joins a layer's value with that of the layers below, nil for none.
func combine(m Merge, lower, value any) any {
	switch m {
	case Concat, Union:
		switch v := value.(type) {
		case []any:
			below, _ := lower.([]any)
			list := slices.Clone(below)
			for _, part := range v {
				if m == Concat || !contains(list, part) {
					list = append(list, part)
				}
			}
			if list == nil {
				list = []any{}
			}
			return list
		case map[string]any:
			merged := cloneMap(lower)
			for name, part := range v {
				merged[name] = combine(m, merged[name], part)
			}
			return merged
		}
	case Shallow:
		if v, ok := value.(map[string]any); ok {
			merged := cloneMap(lower)
			for name, part := range v {
				merged[name] = part
			}
			return merged
		}
	case Replace:
	}
	return value
}

func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return reflect.DeepEqual(have, value) })
}

func cloneMap(value any) map[string]any {
	merged := map[string]any{}
	if m, ok := value.(map[string]any); ok {
		for name, part := range m {
			merged[name] = part
		}
	}
	return merged
}
