package fuzzseed

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

// The input in the archive is a regular seed: the target receives its values.
func FuzzAdd(f *testing.F) {
	Add(f)
	seen := false
	f.Cleanup(func() {
		if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !seen && !fuzzing {
			f.Error("the input of the archive was not run")
		}
	})
	f.Fuzz(func(t *testing.T, text string, data []byte, set bool, char byte, count int) {
		if text == "first" {
			seen = true
			require.Equal(t, []byte("\xff\n"), data)
			require.True(t, set)
			require.Equal(t, byte('\''), char)
			require.Equal(t, -3, count)
		}
	})
}

func TestDecode(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []any
	}{
		"all types":      {"go test fuzz v1\nstring(\"a\\n\")\n[]byte(\"\\x00\")\nbool(false)\nbyte('\\xe9')\nint(-12)\n", []any{"a\n", []byte{0}, false, byte(0xe9), -12}},
		"a raw string":   {"go test fuzz v1\nstring(`a`)\n", []any{"a"}},
		"a letter":       {"go test fuzz v1\nbyte('ñ')\n", []any{byte('ñ')}},
		"a number":       {"go test fuzz v1\nbyte(7)\n", []any{byte(7)}},
		"another format": {"go test fuzz v2\nstring(\"a\")\n", nil},
		"another type":   {"go test fuzz v1\nfloat64(1)\n", nil},
		"no conversion":  {"go test fuzz v1\n\"a\"\n", nil},
		"no literal":     {"go test fuzz v1\nstring(a())\n", nil},
		"cut off":        {"go test fuzz v1\nstring(\"a\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(tt.text)
			if tt.want == nil {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}
