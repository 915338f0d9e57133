package process

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read of an environment counts once the process has all of it.
func TestIsEnviron(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags, code, start, end string
		n                       int
		want                    bool
	}{
		"all of it":                 {"0", "4096", "100", "150", 50, true},
		"the beginning":             {"0", "4096", "100", "150", 20, false},
		"nothing, in an execve":     {"0", "0", "0", "0", 0, false},
		"no addresses of code yet":  {"0", "0", "100", "100", 0, false},
		"the old one, in an execve": {"0", "0", "100", "150", 50, false},
		"an empty one":              {"0", "4096", "100", "100", 0, true},
		"a process that ends":       {"4", "0", "0", "0", 0, true},
		"a thread of the kernel":    {"2097152", "0", "0", "0", 0, true},
		"a kernel without places":   {"0", "0", "0", "0", 50, true},
		"no number":                 {"0", "x", "0", "0", 0, true},
	} {
		fields := slices.Repeat([][]byte{[]byte("0")}, 50)
		fields[6], fields[23], fields[47], fields[48] = []byte(tt.flags), []byte(tt.code), []byte(tt.start), []byte(tt.end)
		require.Equal(t, tt.want, isEnviron(fields, tt.n), name)
	}
	require.True(t, isEnviron(bytes.Fields([]byte("R 1 2")), 0), "there is no such process")
}
