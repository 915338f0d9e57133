package tools

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// The validator panics on numbers that readJSON refuses. If one got past it, the panic would become an error at both
// places.
func TestLibraryPanicsAreErrors(t *testing.T) {
	hostile := &Schema{name: "x", source: json.RawMessage(`{"type":"object","properties":{"a":{"multipleOf":1e-9999999}}}`), document: map[string]any{}}
	err := hostile.Compile()
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, "the schema compiler failed")

	s, err := ParseSchema("x", json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`))
	require.NoError(t, err)
	require.NoError(t, s.Compile())
	_, err = s.validate(map[string]any{"a": json.Number("1e9999999")})
	require.ErrorContains(t, err, "validation against the schema failed")
}
