package program

import (
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/stretchr/testify/require"
)

// An ignored rule and an ignored message are reported separately.
func TestLikeness(t *testing.T) {
	rule, message := fault.Problem{Path: "p", Key: ""}, fault.Problem{Path: "p", Key: "denyMessage"}
	require.NotEqual(t, groupKey(rule), groupKey(message))
	require.Equal(t, groupKey(rule), groupKey(fault.Problem{Path: "p", Line: 5}))
}
