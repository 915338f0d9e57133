package display

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", " a b ": "A b.", "Is it?": "Is it?", "élan": "Élan.", "/w/a": "/w/a."} {
		require.Equal(t, want, Sentence(in))
	}
}

func TestWrap(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "  \n",
		"a b":              "  a b\n",
		"aaaa bbbb cccc":   "  aaaa\n  bbbb\n  cccc\n",
		"aa bb cc dd":      "  aa bb\n  cc dd\n",
		"longer-than-that": "  longer-than-that\n",
		"a\n\nb\n":         "  a\n  \n  b\n",
	} {
		require.Equal(t, want, Wrap(in, "  ", 8), "%q", in)
	}
}
