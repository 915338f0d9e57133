package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/websearch"
	"github.com/fettle-dev/fettle/core/tools"
)

// GO-07: two concurrent sessions of an embedder in one process, with different
// directories, homes, layouts, settings, variables, flags, clocks, rules, modes,
// trust, search services, tools, buses and limits: each sees only its own (GO-04).
func TestSideBySide(t *testing.T) {
	t.Parallel()
	yes := true
	words, err := newCountWords()
	require.NoError(t, err)
	ownBus := bus.New(bus.Options{})
	defer ownBus.Close()
	fettle := config.Parameters{
		Session: config.Session{ID: "first", WatchSettings: true}, TargetDir: realTemp(t), Environment: config.Environment{HomeDir: realTemp(t), Layout: layout.Fettle(), Now: func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }},
		Policy:   config.Policy{Rules: []policy.Rule{{Name: "first", Tools: []string{"write_file"}, ArgsPattern: `"file_path":"second`, Decision: policy.Deny, Tier: policy.TierUser}}, AllowedTools: []string{"web_search"}},
		Tools:    config.Tools{WebSearch: shelf{"tea": websearch.Source{Title: "first", URL: "https://example.com/first"}}, Own: []tools.DeclarativeTool{words}},
		Settings: &settings.Options{Environ: []string{"FETTLE_MODEL=first", "GEMINI_MODEL=second"}, Flags: map[string]any{"ui.errorVerbosity": "low"}},
	}
	gemini := config.Parameters{
		Session: config.Session{ID: "second", FileReadCacheDisabled: &yes, Limits: filestate.Limits{Lines: 2}, Bus: ownBus, WatchSettings: true}, TargetDir: realTemp(t), Environment: config.Environment{HomeDir: realTemp(t), Layout: layout.Gemini(), DebugMode: true}, IncludeDirs: []string{realTemp(t)},
		Policy: config.Policy{Rules: []policy.Rule{{Name: "second", Tools: []string{"write_file"}, ArgsPattern: `"file_path":"first`, Decision: policy.Deny, Tier: policy.TierUser}}, ApprovalMode: policy.ModeYolo, Trust: trust.Trusted},
		Tools:  config.Tools{WebSearch: shelf{"tea": websearch.Source{Title: "second", URL: "https://example.com/second"}}, Exclude: []string{"list_directory"}, FileFiltering: config.FileFiltering{NoOwnIgnore: true}},

		Settings: &settings.Options{Environ: []string{"FETTLE_MODEL=first", "GEMINI_MODEL=second"}},
	}
	for _, p := range []config.Parameters{fettle, gemini} {
		own := filepath.Join(p.Environment.HomeDir, p.Environment.Layout.Dir, "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(own), 0o755))
		require.NoError(t, os.WriteFile(own, []byte(`{"ui": {"theme": "`+p.Session.ID+`", "errorVerbosity": "full"}}`), 0o644))
		for name, text := range map[string]string{
			p.Environment.Layout.IgnoreFile: "*.secret\n", "a.secret": "x\n", "three.txt": "1\n2\n3\n",
			p.Environment.Layout.Dir + "/policies.toml": "[[rule]]\ntoolName = \"glob\"\nargsPattern = \"" + p.Session.ID + "\"\ndecision = \"deny\"\npriority = 1\n",
		} {
			path := filepath.Join(p.TargetDir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}

	var wg sync.WaitGroup
	var asked [2]int
	for i, p := range []config.Parameters{fettle, gemini} {
		other := []string{"second", "first"}[i]
		search := []string{"web_search", "google_web_search"}[i]
		wg.Go(func() {
			within(p, func(ctx context.Context, c *config.Config, calls *scheduler.Scheduler) {
				if i == 0 { // the other receives no request and has no listener
					sayYes(ctx, c.MessageBus(), func(bus.ToolConfirmationRequest) { asked[i]++ })
				}
				status := func(tool, args string) scheduler.Response {
					r := call(ctx, calls, tool, args)
					if r.Status != scheduler.StatusSuccess {
						t.Errorf("%s: %s: %s: %v", p.Session.ID, tool, r.Status, r.Result.Error)
					}
					return r
				}
				for n := range 20 {
					status("write_file", fmt.Sprintf(`{"file_path": "%s-%d.txt", "content": "%s\n"}`, p.Session.ID, n, p.Session.ID))
					if r := call(ctx, calls, "write_file", fmt.Sprintf(`{"file_path": "%s.txt", "content": ""}`, other)); r.Status != scheduler.StatusDenied || r.Decision.Rule != p.Session.ID {
						t.Errorf("%s: its rule did not apply: %s %s", p.Session.ID, r.Status, r.Decision.Rule)
					}
					if r := call(ctx, calls, "glob", fmt.Sprintf(`{"pattern": "%s*"}`, p.Session.ID)); r.Status != scheduler.StatusDenied {
						t.Errorf("%s: the rule of its directory did not apply: %s", p.Session.ID, r.Status)
					}
					r := status(search, `{"query": "tea"}`)
					if text := r.Result.LLMContent.String(); !strings.Contains(text, "https://example.com/"+p.Session.ID) || strings.Contains(text, other) {
						t.Errorf("%s found %s", p.Session.ID, text)
					}
				}
				found := status("glob", `{"pattern": "*.secret"}`)
				if got := strings.Contains(found.Result.LLMContent.String(), `a.secret"]`); got != (i == 1) {
					t.Errorf("%s: the ignore file does not apply: %s", p.Session.ID, found.Result.LLMContent)
				}
				var state struct{ Truncated bool }
				if err := json.Unmarshal([]byte(status("read_file", `{"file_path": "three.txt"}`).Result.LLMContent.String()), &state); err != nil || state.Truncated != (i == 1) {
					t.Errorf("%s: truncated %t, %v", p.Session.ID, state.Truncated, err)
				}
				if got := declared(c, "count_words"); got != (i == 0) {
					t.Errorf("%s declares the first one's tool: %t", p.Session.ID, got)
				}
				for tool, want := range map[string]bool{"replace": i == 1, "grep_search": i == 1, "list_directory": i == 0} {
					if got := declared(c, tool); got != want {
						t.Errorf("%s declares %s: %t", p.Session.ID, tool, got)
					}
				}
				if c.SessionID() != p.Session.ID || c.Layout().Name != p.Environment.Layout.Name || c.Trust() != p.Policy.Trust || c.DebugMode() != p.Environment.DebugMode || c.TargetDir() != p.TargetDir {
					t.Errorf("%s has values of the other session", p.Session.ID)
				}
				s, err := c.Settings().Current()
				if verbosity := []string{"low", "full"}[i]; err != nil || s.UI.Theme != p.Session.ID || s.UI.ErrorVerbosity != verbosity || c.Model() != p.Session.ID {
					t.Errorf("%s has settings of the other session: %s %s %s, %v", p.Session.ID, s.UI.Theme, s.UI.ErrorVerbosity, c.Model(), err)
				}
				if on := c.FileReadCacheDisabled(); on != (i == 1) {
					t.Errorf("%s: kill switch %t", p.Session.ID, on)
				}
				if same := c.MessageBus() == ownBus; same != (i == 1) {
					t.Errorf("%s: the bus given is used: %t", p.Session.ID, same)
				}
			})
		})
	}
	wg.Wait()
	require.Equal(t, [2]int{20, 0}, asked, "each new file of the first session needed approval")
	for i, p := range []config.Parameters{fettle, gemini} {
		files, err := filepath.Glob(filepath.Join(p.TargetDir, "*-*.txt"))
		require.NoError(t, err)
		require.Len(t, files, 20)
		require.NoDirExists(t, filepath.Join(p.TargetDir, []string{".gemini", ".fettle"}[i]))
	}
}

// realTemp returns a temporary directory with links resolved.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
