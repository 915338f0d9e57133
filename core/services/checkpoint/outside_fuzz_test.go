package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Whatever the content of a session's log, reading it, planning and restoring return, touch no file
// outside of the project, and leave unchanged every path that was reported as done.
func FuzzLog(f *testing.F) {
	fuzzseed.Add(f)
	const head = `{"type":"session","time":"2026-01-01T00:00:00Z","version":1,"session":"one"}` + "\n" + `{"type":"turn","turn":1,"prompt":"p"}` + "\n"
	entry := func(files string) string {
		return head + `{"type":"begin","turn":1,"number":1,"kind":"call","call":"c","tool":"t"}` + "\n" + `{"type":"end","turn":1,"number":1,"files":[` + files + `]}` + "\n"
	}
	const absent, present = `{"kind":"absent"}`, `{"kind":"file","size":4,"mode":420,"sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}`
	for _, seed := range []string{
		"", head, entry(""), entry(`{"path":"@P/in","before":` + absent + `,"after":` + present + `}`), entry(`{"path":"@O/out","before":` + absent + `,"after":` + present + `}`),
		entry(`{"path":"@P/../outside/out","before":` + absent + `,"after":` + present + `}`), entry(`{"path":"in","before":` + present + `,"after":` + absent + `}`), entry(`{"path":{"bytes":"/w=="},"before":{"kind":"link","target":"/etc"},"after":` + absent + `}`),
		entry(`{"path":"@P/in","before":{"kind":"folder"},"after":`+present+`}`) + "{\n", head + `{"type":"end","turn":-1,"number":1,"files":[{}]}` + "\n" + `{"type":"tree","tree":"../../x"}` + "\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, log string) {
		top, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		project, outside, store := filepath.Join(top, "project"), filepath.Join(top, "outside"), filepath.Join(top, "store")
		for path, text := range map[string]string{project + "/in": "hi!\n", outside + "/out": "hi!\n", store + "/sessions/one.jsonl": strings.NewReplacer("@P", project, "@O", outside).Replace(log)} {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		files, err := workspace.Open(project)
		require.NoError(t, err)
		defer func() { require.NoError(t, files.Close()) }()
		s := checkpoint.New(checkpoint.Options{Dir: store})
		h, err := s.History(t.Context(), "")
		if err != nil {
			require.Contains(t, []fault.Code{fault.CheckpointNotFound, fault.CheckpointFailed}, fault.CodeOf(err))
			return
		}
		restore := func(plan *checkpoint.Plan) error {
			finder := discovery.New(files)
			r := s.Record(checkpoint.RecorderOptions{Session: "two", Files: files, Finder: func() *discovery.Finder { return finder }})
			defer func() { require.NoError(t, r.Close()) }()
			_, err := r.Restore(t.Context(), committer(), plan)
			return err
		}
		for _, turn := range h.Turns {
			require.NotEmpty(t, turn.Entries)
			what := checkpoint.Selection{Session: h.Session, Turn: turn.Number, Since: true, Partial: true}
			plan, err := s.Plan(t.Context(), files, what)
			if err != nil {
				require.NotEqual(t, fault.Unknown, fault.CodeOf(err), "%v", err)
				continue
			}
			if len(plan.Steps) == 0 {
				continue // no step
			}
			if err := restore(plan); err != nil {
				require.NotEqual(t, fault.Unknown, fault.CodeOf(err), "%v", err)
			}
		}
		data, err := os.ReadFile(outside + "/out")
		require.NoError(t, err)
		require.Equal(t, "hi!\n", string(data))
		there, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Len(t, there, 1)
		there, err = os.ReadDir(top)
		require.NoError(t, err)
		require.Len(t, there, 3)
	})
}

// A text that names a turn or a call is parsed, or is refused with a remedy.
func FuzzWhat(f *testing.F) {
	for _, seed := range []string{"", "1", "3.2", "0", "-1", "1.", ".1", "1.-2", "99999999999999999999", "+1", "1.2.3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := checkpoint.ParseSelection(text)
		if err != nil {
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			return
		}
		require.True(t, w.Turn > 0 && w.Call == "" || w.Turn == 0 && w.Call == text, "%q is %+v", text, w)
	})
}
