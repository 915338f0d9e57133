package oauth_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// A sign-in reports a directory without write permission.
func TestUnwritable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) { require.NoError(t, os.Mkdir(filepath.Join(top, "home"), 0o755)) })
	if !ok {
		return
	}
	w := newWorld(t)
	w.service = w.another(filepath.Join(top, "home", "auth-cache.json"))
	w.fails(fault.FileWriteFailure, "cannot be written: permission denied")
}
