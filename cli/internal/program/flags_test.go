package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNameList(t *testing.T) {
	for in, want := range map[string][]string{
		"":                         nil,
		"read_file":                {"read_file"},
		"read_file, edit ,":        {"read_file", "edit"},
		"run(git log,git diff),ls": {"run(git log,git diff)", "ls"},
		"run(a(b,c),d),e":          {"run(a(b,c),d)", "e"},
	} {
		var got []string
		require.NoError(t, (&nameList{names: &got}).Set(in), in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"a(b", "a)b", "a)(b"} {
		var got []string
		require.Error(t, (&nameList{names: &got}).Set(in), in)
	}
}
