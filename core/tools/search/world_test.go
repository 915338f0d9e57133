package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// world is a workspace with the tools bound to it.
type world struct {
	t       testing.TB
	dir     string
	dirs    []string
	options discovery.Options
	now     time.Time
	visible visibility
}

// visibility reports whether a file may be shown; nil: all.
type visibility func(p workspace.Path) bool

func (v visibility) MayShow(p workspace.Path) bool { return v == nil || v(p) }

func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{t: t, dir: dir, dirs: []string{dir}, now: time.Now().Add(48 * time.Hour)}
	for name, text := range files {
		w.write(name, text)
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) tool(name string) tools.DeclarativeTool {
	w.t.Helper()
	ws, err := workspace.Open(w.dirs...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = ws.Close() })
	all, err := search.Factories()
	require.NoError(w.t, err)
	for _, f := range all {
		if f.Spec().Name == name {
			return f.Bind(search.Services{Paths: ws, Finder: discovery.New(ws).With(w.options), Visible: w.visible, Now: func() time.Time { return w.now }})
		}
	}
	w.t.Fatalf("no tool %s", name)
	return nil
}

func raw(t testing.TB, a args) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(a)
	require.NoError(t, err)
	return data
}

func (w *world) run(ctx context.Context, tool string, a args) tools.Result {
	w.t.Helper()
	inv, err := w.tool(tool).Build(raw(w.t, a))
	require.NoError(w.t, err)
	result, err := inv.Execute(ctx, nil)
	require.NoError(w.t, err)
	return result
}

// answer is the result of either tool, as the model receives it.
type answer struct {
	Searched []string `json:"searched"`
	Matches  int      `json:"matches"`
	Files    []json.RawMessage
	LeftOut  int  `json:"left_out"`
	More     bool `json:"more"`
	Binary   int  `json:"binary"`
	Withheld int  `json:"withheld"`

	Ignored    int      `json:"ignored"`
	IgnoredBy  []string `json:"ignored_by"`
	Unreadable []string `json:"unreadable"`
	Failed     int      `json:"failed"`
	Notice     string   `json:"notice"`
}

// shown runs a call that succeeds and returns its lines: names of files, or name:line:text, relative to the directory.
func (w *world) shown(tool string, a args) ([]string, answer) {
	w.t.Helper()
	r := w.run(w.t.Context(), tool, a)
	require.Nil(w.t, r.Error)
	var got answer
	require.NoError(w.t, json.Unmarshal([]byte(r.LLMContent.String()), &got))
	require.NotNil(w.t, got.Files)
	var lines []string
	for _, f := range got.Files {
		var name string
		var file struct {
			FilePath string `json:"file_path"`
			Lines    []struct {
				Line    int
				Text    string
				Context bool
			}
		}
		if json.Unmarshal(f, &name) != nil {
			require.NoError(w.t, json.Unmarshal(f, &file))
			name = file.FilePath
		}
		require.True(w.t, filepath.IsAbs(name))
		if rel, err := filepath.Rel(w.dir, name); err == nil {
			name = filepath.ToSlash(rel)
		}
		if len(file.Lines) == 0 {
			lines = append(lines, name)
		}
		for _, l := range file.Lines {
			mark := ":"
			if l.Context {
				mark = "-"
			}
			lines = append(lines, fmt.Sprint(name, mark, l.Line, mark, l.Text))
		}
	}
	return lines, got
}
