package program

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/redact"
)

// CF-08: the debug log contains no secret, also if quoting changed it or it became
// known later.
func TestLogIsMasked(t *testing.T) {
	var out bytes.Buffer
	hide := &redact.Masker{}
	hide.Add("short", "sk-0123456789", "line\nof \"two\"")
	log := slog.New(slog.NewTextHandler(redact.NewWriter(&out, hide.Text), nil))
	log.Info("a sk-0123456789 b", "key", "line\nof \"two\" and short")
	hide.Add("another-one")
	log.Info("another-one")
	require.Contains(t, out.String(), `msg="a [masked] b"`)
	require.Contains(t, out.String(), `key="[masked] and short"`)
	require.NotContains(t, out.String(), "another-one")
	hide.Add("another-one-that-is-longer")
	require.Equal(t, redact.Mark, hide.Text("another-one-that-is-longer"), "no rest of it stays where another secret begins alike")
}
