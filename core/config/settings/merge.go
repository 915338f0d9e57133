package settings

import (
	"reflect"
	"slices"
)

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
