package process

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The environment of a process counts once it is complete.
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
		"the old one cut off":       {"0", "0", "0", "0", 50, false},
		"no number":                 {"0", "x", "0", "0", 0, true},
	} {
		fields := slices.Repeat([][]byte{[]byte("0")}, 50)
		fields[6], fields[23], fields[47], fields[48] = []byte(tt.flags), []byte(tt.code), []byte(tt.start), []byte(tt.end)
		require.Equal(t, tt.want, isEnviron(fields, tt.n), name)
	}
	require.True(t, isEnviron(bytes.Fields([]byte("R 1 2")), 0), "there is no such process")
}

// A process that only executes programs is recognized by its mark at any moment. The mark comes
// last, beyond the end of a first read.
func TestMarkedInTheMiddleOfAnExecve(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700)) //nolint:gosec // it is run
	cmd := exec.CommandContext(t.Context(), script)
	cmd.Env = []string{"LONG=" + strings.Repeat("x", 3000), "MARK=of-this-command"}
	require.NoError(t, cmd.Start())
	for range 2000 {
		if !marked(cmd.Process.Pid, []byte("of-this-command")) {
			t.Error("a process without its mark")
			break
		}
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}
