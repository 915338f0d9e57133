package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// Defaults returns the values without any layer, in the layout of fettle: those
// of the tags. In a layout with FullContent tools.changedRegionsAbove is 0.
func Defaults() Settings {
	var s Settings
	for _, k := range known().keys {
		if k.initial != "" {
			k.putInitial(reflect.ValueOf(&s).Elem().FieldByIndex(k.index))
		}
	}
	return s
}

// putInitial sets a key's field to the default of its tag. It panics on a default
// of another type, which the first test finds.
func (k *Key) putInitial(field reflect.Value) {
	var err error
	switch k.kind {
	case aText:
		field.SetString(k.initial)
	case aList:
		field.Set(reflect.ValueOf(strings.Split(k.initial, "|")))
	default:
		err = json.Unmarshal([]byte(k.initial), field.Addr().Interface())
	}
	if err != nil {
		panic("settings: the default of " + k.Path + ": " + err.Error())
	}
}

// defaultIn returns the value of a key in a layout without any layer.
func defaultIn(l layout.Layout, key string) (any, bool) {
	if key == "tools.changedRegionsAbove" && l.FullContent {
		return float64(0), true // the JSON representation
	}
	v, ok := defaultValues()[key]
	return v, ok
}

// defaultValues returns the defaults by path; they are computed once and must not
// be modified.
var defaultValues = sync.OnceValue(func() map[string]any { return valuesOf(known().root, Defaults()) })

// valuesOf returns the values of settings by the path of each key. Nil pointers,
// lists and maps are omitted.
func valuesOf(root *node, s Settings) map[string]any {
	found := map[string]any{}
	text, err := json.Marshal(s)
	if err != nil {
		return found // a struct of plain values can be encoded
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return found // the encoded value can be decoded
	}
	var walk func(n *node, tree map[string]any)
	walk = func(n *node, tree map[string]any) {
		for name, below := range n.below {
			switch v := tree[name].(type) {
			case nil:
			case map[string]any:
				if below.key == nil {
					walk(below, v)
				} else {
					found[below.path] = v
				}
			default:
				found[below.path] = v
			}
		}
	}
	walk(root, tree)
	return found
}
