package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// inNamespaces returns a Service that confines commands by namespaces, with a workspace and a home
// directory.
func inNamespaces(t *testing.T, change func(c *process.Confinement)) (s *process.Service, ws, home string) {
	t.Helper()
	ws, home = t.TempDir(), t.TempDir()
	c := process.Confinement{
		Kind: process.Namespaces, NoTCP: true, PerCommand: true, Writable: []string{ws}, Home: home, Cache: filepath.Join(t.TempDir(), "cache"),
	}
	if change != nil {
		change(&c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s = process.New(process.Options{Confinement: c})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, ws, home
}

// SB-02: a confined command writes in the workspace and its temporary directory only.
func TestConfinePerCommand(t *testing.T) {
	s, ws, home := inNamespaces(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(home, "secret"), []byte("s"), 0o600))
	const line = `touch a && echo ws; touch "$TMPDIR/b" /tmp/c && echo temp; touch "$1"/x && echo home; cat "$1"/secret; ls /tmp/b /tmp/c "$TMPDIR/c"`
	for how, want := range map[process.Confine]string{
		process.ConfineDefault: "ws\ntemp\nhome\ns",
		process.ConfineNone:    "ws\ntemp\nhome\ns",
		process.ConfineWrite:   "ws\ntemp\n",
		process.ConfineRead:    "temp\n",
	} {
		r, err := s.Run(t.Context(), process.Command{Line: "set -- '" + home + "'; exec 2>/dev/null; " + line, Dir: ws, Confine: how})
		require.NoError(t, err)
		require.Contains(t, r.Text, want, "%q", how)
		if how == process.ConfineWrite || how == process.ConfineRead {
			require.NotContains(t, r.Text, "home")
			require.Contains(t, r.Text, "/tmp/b\n/tmp/c\n")
		}
		if how == process.ConfineRead {
			require.NotContains(t, r.Text, "ws")
		}
	}
}
