package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// The model knows a renamed tool by its new name only.
func TestRenamedToolRefusesUnderItsName(t *testing.T) {
	type params struct {
		N int `json:"n"`
	}
	edit, err := tools.Define("edit", "Edits.", tools.KindEdit, func(context.Context, params) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("done")}, nil
	}, tools.WithSpec(func(s *tools.Spec) { s.Aliases = []string{"replace", "change"} }), tools.WithValidation(func(p params) error {
		if p.N < 0 {
			return errors.New("n is negative")
		}
		return nil
	}))
	require.NoError(t, err)
	replace := tools.Rename(edit, "replace")
	require.Equal(t, "replace", replace.Spec().Name)
	require.Equal(t, []string{"edit", "change"}, replace.Spec().Aliases)
	require.Equal(t, "edit", edit.Spec().Name)
	for tool, name := range map[tools.DeclarativeTool]string{edit: "edit", replace: "replace", tools.Rename(replace, "other"): "other"} {
		_, err := tool.Build(json.RawMessage(`{"x":1}`))
		require.Contains(t, fault.As(err).Message, "The arguments of "+name+" are invalid")
		for _, args := range []string{`{"x":1}`, `{"n":1e30}`, `{"n":-1}`} {
			_, err := tool.Build(json.RawMessage(args))
			require.Equal(t, "Invalid arguments for "+name, fault.As(err).Short, args)
		}
		_, err = tool.Build(json.RawMessage(`{"n":1}`))
		require.NoError(t, err)
	}
	other := tools.Rename(plain{edit}, "replace")
	require.Equal(t, "replace", other.Spec().Name)
}

// plain is a tool not created by core/tools.
type plain struct{ tools.DeclarativeTool }
