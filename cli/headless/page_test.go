package headless

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/docs"
)

// docs/headless.md lists every key of the formats.
func TestHeadlessPage(t *testing.T) {
	page, err := fs.ReadFile(docs.Files(), "headless.md")
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, v := range []any{jsonAnswer{}, streamInit{}, streamMessage{}, streamToolUse{}, streamToolResult{}, streamError{}, streamResult{}} {
		addKeys(keys, reflect.TypeOf(v))
	}
	require.Greater(t, len(keys), 40)
	for key := range keys {
		require.True(t, strings.Contains(string(page), `"`+key+`"`) || strings.Contains(string(page), "`"+key+"`"), key)
	}
}

// addKeys collects the JSON keys of a type.
func addKeys(keys map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		addKeys(keys, t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				keys[name] = true
			}
			addKeys(keys, field.Type)
		}
	}
}
