package headless

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/docs"
)

// docs/headless.md lists every key of the formats.
func TestHeadlessPage(t *testing.T) {
	page, err := fs.ReadFile(docs.Files(), "headless.md")
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, v := range []any{jsonAnswer{}, streamInit{}, streamMessage{}, streamError{}, streamResult{}} {
		addKeys(keys, reflect.TypeOf(v))
	}
	for _, e := range []agent.Event{
		{Type: agent.EventText, Text: "x"},
		{Type: agent.EventToolCall, Call: &model.FunctionCall{ID: "1", Name: "a"}},
		{Type: agent.EventToolResponse, Call: &model.FunctionCall{ID: "1"}, Response: &scheduler.Response{Preview: true, Notices: []string{"x"},
			Result: tools.Result{ReturnDisplay: tools.TextDisplay("x"), Context: "x", Error: fault.New(fault.Unknown, "", "x", "")}}},
		{Type: agent.EventLoop, Err: fault.New(fault.Unknown, "", "x", "")},
	} {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		var object map[string]any
		require.NoError(t, json.Unmarshal(data, &object))
		for key := range object {
			keys[key] = true
		}
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
