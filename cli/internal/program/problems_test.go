package program

import (
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/stretchr/testify/require"
)

// A rule that is ignored and a message that is are told apart.
func TestLikeness(t *testing.T) {
	rule, message := fault.Problem{Path: "p", Key: ""}, fault.Problem{Path: "p", Key: "denyMessage"}
	require.NotEqual(t, likeness(rule), likeness(message))
	require.Equal(t, likeness(rule), likeness(fault.Problem{Path: "p", Line: 5}))
}
