package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// EX-20: omitted fields receive the schema's defaults exactly, even if the SDK
// has filled them in before.
func TestDefaultsAreExact(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":9007199254740993},"s":{"type":"string","default":null}}}`)
	for name, tt := range map[string]struct {
		entered map[string]any
		want    string
	}{
		"left out": {nil, `{"n":9007199254740993}`},
		"rounded":  {map[string]any{"n": 9007199254740992.0}, `{"n":9007199254740993}`},
		"another":  {map[string]any{"n": 5.0, "s": "x"}, `{"n":5,"s":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := fill(schema, tt.entered)
			require.Empty(t, problem)
			require.Equal(t, tt.want, string(got))
		})
	}
	_, problem := fill(schema, map[string]any{"n": "five"})
	require.NotEmpty(t, problem)
}
