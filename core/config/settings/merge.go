package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/viper"

	"github.com/fettle-dev/fettle/core/fault"
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
func merge(o Options, all []*layerOf) (merged, error) {
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
			return merged{}, unmergeable(l.source, err)
		}
		slices.SortStableFunc(l.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		m.problems = append(m.problems, l.problems...)
	}
	target := reflect.ValueOf(&m.settings).Elem()
	for _, k := range known().keys {
		if v := get(k); v != nil {
			if err := k.assign(target, v); err != nil {
				return merged{}, unmergeable(k.Path, err)
			}
		}
	}
	return m, nil
}

// unmergeable is an error of fettle itself: what was checked can be merged.
func unmergeable(what string, err error) error {
	return fault.Wrap(fault.InvalidConfig, "settings.load", fmt.Sprintf("The settings cannot be joined, because of %s: %v.", what, err), "Report this as a mistake in fettle.", err)
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
func (k *Key) assign(settings reflect.Value, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	field := reflect.New(settings.FieldByIndex(k.index).Type())
	if err := json.Unmarshal(text, field.Interface()); err != nil {
		return err
	}
	settings.FieldByIndex(k.index).Set(field.Elem())
	return nil
}

// combine joins a layer's value with that of the layers below, nil for none.
func combine(m Merge, lower, value any) any {
	switch m {
	case Concat, Union:
		switch v := value.(type) {
		case []any:
			below, _ := lower.([]any)
			list := append([]any{}, below...)
			there := textsOf(below)
			for _, part := range v {
				text, isText := part.(string)
				if m == Union && isText && there[text] {
					continue
				}
				there[text] = there[text] || isText
				list = append(list, part)
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

// textsOf is the set of the texts in a list.
func textsOf(list []any) map[string]bool {
	set := map[string]bool{}
	for _, part := range list {
		if text, ok := part.(string); ok {
			set[text] = true
		}
	}
	return set
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
