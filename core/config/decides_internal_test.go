package config

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/internal/apply"
)

// HO-07: an embedder's values take precedence over the settings in a running
// session too. Each key that may change there has a case in decides, or is listed
// here with the reason.
func TestLiveKeysAreDecided(t *testing.T) {
	const part = "a part of FileFiltering: what is given stays beside what the settings say, see fillFileFiltering"
	without := map[string]string{
		"context.fileFiltering.respectGitIgnore":      part,
		"context.fileFiltering.respectFettleIgnore":   part,
		"context.fileFiltering.customIgnoreFilePaths": part,
		"context.fileFiltering.maxFileCount":          part,
	}
	var none, all Parameters
	give(reflect.ValueOf(&all).Elem())
	for _, key := range apply.LiveKeys() {
		require.False(t, none.store().decides(key), "decides of core/config/settings.go says of Parameters without fields that they decide on %s", key)
		require.Equal(t, without[key] == "", all.store().decides(key), "decides of core/config/settings.go about %s; the reason to have no case: %q", key, without[key])
		delete(without, key)
	}
	require.Empty(t, without, "no live keys")
}

// give sets v, and structs in it, to non-zero values if possible.
func give(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				give(v.Field(i))
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("given")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	}
}
