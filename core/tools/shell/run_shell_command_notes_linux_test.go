package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// fixedRunner is a runner whose commands all have the same result.
type fixedRunner struct{ result process.Result }

func (r fixedRunner) Run(context.Context, process.Command) (process.Result, error) {
	return r.result, nil
}

func (r fixedRunner) Start(context.Context, process.Command) (process.Info, error) {
	return process.Info{}, nil
}

// executed returns the content for the model and the error of a command with the given result.
func executed(t *testing.T, s shell.Services, dir string, result process.Result) (string, *fault.Error) {
	t.Helper()
	w, err := workspace.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	s.Paths, s.Directories, s.Runner = w, w, fixedRunner{result}
	factories, err := shell.Factories()
	require.NoError(t, err)
	require.Equal(t, shell.RunShellCommand, factories[0].Spec().Name)
	inv, err := factories[0].Bind(s).Build(json.RawMessage(`{"command":"true"}`))
	require.NoError(t, err)
	r, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	return r.LLMContent.String(), r.Error
}

// TO-09: the result states how to read the saved output, if that is possible.
func TestSavedOutputIsRead(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	in := func(kind process.ConfinementKind, writable ...string) func() process.Confinement {
		return func() process.Confinement { return process.Confinement{Kind: kind, Writable: writable} }
	}
	const byCommand, byUser = "read a part with run_shell_command", "only the user can read it"
	for name, tt := range map[string]struct {
		confinement func() process.Confinement
		saveDir     string
		want        string
	}{
		"not confined":     {nil, elsewhere, byCommand},
		"landlock":         {in(process.Landlock, dir), elsewhere, byCommand},
		"container":        {in(process.Container, dir), elsewhere, byUser},
		"in the workspace": {in(process.Container), dir, ""},
		"shared":           {in(process.Container, dir, elsewhere), filepath.Join(elsewhere, "output"), byCommand},
		"nothing saved":    {in(process.Container, dir), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := process.Result{Text: "x", ANSI: "x", Bytes: 100_000, SavedBytes: 100_000}
			if tt.saveDir != "" {
				r.SavedPath = filepath.Join(tt.saveDir, "output-1.txt")
			}
			content, _ := executed(t, shell.Services{Confinement: tt.confinement}, dir, r)
			for _, note := range []string{byCommand, byUser} {
				require.Equal(t, tt.want == note, strings.Contains(content, note), content)
			}
		})
	}
}

// A command that was ended at a terminal may have been waiting for keys.
func TestIdleAtATerminal(t *testing.T) {
	t.Parallel()
	const why = "tools.shell.enableInteractiveShell"
	r := process.Result{Exit: process.Exit{Code: -1, Signal: "SIGTERM"}, Ending: process.IdleLimit, Duration: time.Minute}
	for _, terminal := range []bool{false, true} {
		content, failed := executed(t, shell.Services{Terminal: terminal}, t.TempDir(), r)
		require.Equal(t, fault.IdleLimit, failed.Reason)
		require.Equal(t, terminal, strings.Contains(content, why), content)
		require.Equal(t, terminal, strings.Contains(failed.Remedy, shell.WriteBackground), failed.Remedy)
	}
}

// SB-03: the result names the protected paths that were moved away, and those that stayed.
func TestRemovedIsReported(t *testing.T) {
	t.Parallel()
	content, _ := executed(t, shell.Services{}, t.TempDir(), process.Result{Removed: []string{"/w/.git", "/w/.env"}, RemoveError: errors.New("remove /w/.env: disk full")})
	require.Contains(t, content, "Removed Protected Paths: /w/.git, /w/.env (")
	require.Contains(t, content, "Remaining Protected Paths: remove /w/.env: disk full (")
}
