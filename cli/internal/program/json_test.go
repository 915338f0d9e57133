package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The escaped JSON contains no terminal control characters and decodes to the same
// value.
func TestEscapeObeyed(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\"plain \\t ż\"}\n":          "{\"a\":\"plain \\t ż\"}\n",
		"\"\u009b2J\x7f\u202e\U000e0041\"\n": "\"\\u009b2J\\u007f\\u202e\\udb40\\udc41\"\n",
	} {
		got := EscapeControls(in)
		require.Equal(t, want, got)
		require.JSONEq(t, in, got)
	}
}
