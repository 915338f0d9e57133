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

// defaultsIn returns the values without any layer in a layout.
func defaultsIn(l layout.Layout) Settings {
	s := Defaults()
	if l.FullContent {
		s.Tools.ChangedRegionsAbove = 0
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

// defaultValues returns the defaults by path, in their JSON representation; they
// are computed once and must not be modified. Nil pointers, lists and maps are
// omitted.
var defaultValues = sync.OnceValue(func() map[string]any {
	all := reflect.ValueOf(Defaults())
	values := make(map[string]any, len(known().keys))
	for _, k := range known().keys {
		if v := representation(all.FieldByIndex(k.index)); v != nil {
			values[k.Path] = v
		}
	}
	return values
})

// representation returns the JSON representation of the default in a key's field,
// nil for none. No map has one.
func representation(field reflect.Value) any {
	if field.Kind() == reflect.Pointer {
		field = field.Elem() // invalid if nil
	}
	switch field.Kind() {
	case reflect.String:
		return field.String()
	case reflect.Bool:
		return field.Bool()
	case reflect.Int:
		return float64(field.Int())
	case reflect.Float64:
		return field.Float()
	case reflect.Slice:
		if field.IsNil() {
			return nil
		}
		list := make([]any, field.Len())
		for i := range list {
			list[i] = field.Index(i).String()
		}
		return list
	}
	return nil
}
