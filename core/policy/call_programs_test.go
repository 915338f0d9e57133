package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

func TestPrograms(t *testing.T) {
	require.Empty(t, policy.Call{Tool: "glob"}.Programs())
	c := policy.Call{Line: shell.Parse("cd x && go test ./... | tee log; go vet > f; $CMD")}
	require.Equal(t, []string{"go", "tee"}, c.Programs())
}
