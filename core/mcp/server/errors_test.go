package server_test

import (
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// requireCode requires an error of the protocol with the given code.
func requireCode(t *testing.T, err error, code int64) {
	t.Helper()
	var w *jsonrpc.Error
	require.True(t, errors.As(err, &w), "%v", err)
	require.Equal(t, code, w.Code, "%v", err)
}
