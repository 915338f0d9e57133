package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

// AR-21: Amend.
func TestAmend(t *testing.T) {
	for params, want := range map[string]string{
		`{"content":"old","count":3,"path":"a"}`: `{"content":"<\u000a>&` + "\u2028" + `","path":"a"}`,
		`{}`:                                     `{"content":"<\u000a>&` + "\u2028" + `"}`,
	} {
		got, err := tools.Amend(json.RawMessage(params), map[string]any{"content": "<\n>&\u2028"}, "count")
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
		require.NotContains(t, string(got), `\u003c`, "canonical")
		require.True(t, json.Valid(got))
	}
	got, err := tools.Amend(json.RawMessage(`{"content":""}`), map[string]any{"content": "a\xff"})
	require.NoError(t, err)
	require.JSONEq(t, `{"content":"a\ufffd"}`, string(got))
	_, err = tools.Amend(json.RawMessage(`[1]`), nil)
	require.Error(t, err)
}
