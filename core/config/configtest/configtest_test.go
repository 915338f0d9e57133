package configtest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// AR-33: an embedder's test of a conversation, with no fakes.
func TestSession(t *testing.T) {
	s := configtest.New(t)
	path := s.Write("notes/a.txt", "one\ntwo\n")
	require.Equal(t, s.Path("notes/a.txt"), path)
	require.Equal(t, s.TargetDir(), s.Dir)
	require.True(t, filepath.IsAbs(s.Dir))

	got := configtest.Decode[filestate.State](t, s.Call("read_file", map[string]any{"file_path": "notes/a.txt"}))
	require.Equal(t, path, got.FilePath)
	require.Equal(t, "one\ntwo\n", *got.Content)

	patch := file.SafePatchParams{FilePath: "notes/a.txt", UnifiedDiff: "@@ -1,2 +1,2 @@\n one\n-two\n+three\n", BaseContentSHA256: *got.SHA256}
	r := s.Call("safe_patch", patch)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "one\nthree\n", s.Read("notes/a.txt"))
	require.True(t, configtest.Decode[file.Report](t, r).Success)

	asked := s.Confirmations()
	require.Len(t, asked, 1)
	require.Equal(t, "safe_patch", asked[0].ToolCall.Name)
	require.Contains(t, asked[0].Details.EditDetails.FileDiff, "-two\n+three\n")
}

// A test answers like a user, or changes files while the user decides.
func TestAnswer(t *testing.T) {
	s := configtest.New(t)
	s.Write("f", "one\n")
	base := *configtest.Decode[filestate.State](t, s.Call("read_file", map[string]any{"file_path": "f"})).SHA256
	patch := file.SafePatchParams{FilePath: "f", UnifiedDiff: "@@\n-one\n+two\n", BaseContentSHA256: base}

	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	r := s.Call("safe_patch", patch)
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
	require.Equal(t, "one\n", s.Read("f"))

	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.Write("f", "somebody's\n")
		return bus.ProceedOnce
	}
	r = s.Call("safe_patch", patch)
	require.Equal(t, fault.FileChangedSinceRead, r.Result.Error.Code)
	require.Equal(t, "somebody's\n", s.Read("f"))
	require.Len(t, s.Confirmations(), 2)
}

// Parameters may be changed, and a derived Config is called in the same way.
func TestChanges(t *testing.T) {
	who, err := tools.Define("who", "Says who.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("me")}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{who} },
		func(p *config.Parameters) { p.Session.ID = "mine" })
	require.Equal(t, "mine", s.SessionID())
	child, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	require.Equal(t, "me", configtest.Call(t.Context(), t, child, "who", map[string]any{}).Result.LLMContent.String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, scheduler.StatusCancelled, s.CallContext(ctx, "who", nil).Status)
}

// The home directory is the test's own: the developer's settings have no effect,
// and nothing is written there.
func TestHome(t *testing.T) {
	s := configtest.New(t)
	storage, err := s.Storage()
	require.NoError(t, err)
	own, err := os.UserHomeDir()
	require.NoError(t, err)
	dir := storage.GlobalDir
	require.NotEqual(t, own, filepath.Dir(dir))
	s.Call("write_file", file.WriteFileParams{FilePath: "f", Content: "x"})
	require.NoDirExists(t, dir)
}

// A failure in a session fails its test.
func TestFailures(t *testing.T) {
	broken, err := tools.Define("broken", "Breaks.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		panic("oh")
	})
	require.NoError(t, err)
	rec := &recorder{TB: t}
	s := configtest.New(rec, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{broken} })
	s.Call("broken", nil)
	require.Equal(t, []string{"defect in a tool: %v"}, rec.errors)
	for name, fatal := range map[string]func(){
		"no such directory": func() { configtest.New(rec, func(p *config.Parameters) { p.TargetDir = s.Path("none") }) },
		"no parameters":     func() { configtest.New(rec, func(p *config.Parameters) { p.TargetDir = "" }) },
		"no such file":      func() { s.Read("none") },
		"bad arguments":     func() { s.Call("read_file", func() {}) },
		"other content": func() {
			configtest.Decode[filestate.State](rec, s.Call("list_directory", map[string]any{"dir_path": "."}))
		},
	} {
		require.Panics(t, fatal, name)
	}
}

// recorder is a test that survives its failure.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, _ ...any) { r.errors = append(r.errors, format) }
func (r *recorder) Fatalf(string, ...any)          { panic("fatal") }
func (r *recorder) Fatal(...any)                   { panic("fatal") }
