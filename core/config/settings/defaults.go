package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// Defaults returns what holds where no layer says otherwise, in the layout of
// fettle: what the tags say. In one with FullContent tools.changedRegionsAbove is 0.
func Defaults() Settings {
	var s Settings
	for _, k := range known().keys {
		if k.initial != "" {
			k.putInitial(reflect.ValueOf(&s).Elem().FieldByIndex(k.index))
		}
	}
	return s
}

// putInitial puts the default of the key's tag into its field. It panics on one of
// another type, which the first test finds.
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

// defaultIn returns the value that a key has in a layout where no layer gives one.
func defaultIn(l layout.Layout, key string) (any, bool) {
	if key == "tools.changedRegionsAbove" && l.FullContent {
		return float64(0), true // as JSON holds it
	}
	v, ok := defaultValues()[key]
	return v, ok
}

// defaultValues are the defaults by path, made once and not to be changed.
var defaultValues = sync.OnceValue(func() map[string]any { return valuesOf(known().root, Defaults()) })

// valuesOf returns what settings hold, by the path of each key. Absent pointers,
// lists and maps are left out.
func valuesOf(root *node, s Settings) map[string]any {
	found := map[string]any{}
	text, err := json.Marshal(s)
	if err != nil {
		return found // a struct of plain values can be written
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return found // what was written can be read
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
