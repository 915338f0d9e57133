package config_test

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/tracker"
)

func shaOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func logTo(b *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// shown is the answer to a read of a text file: content or a placeholder.
type shown struct {
	FilePath string  `json:"file_path"`
	Version  int64   `json:"version"`
	SHA256   string  `json:"sha256"`
	Content  *string `json:"content"`
	Status   string  `json:"status"`
	Advice   string  `json:"advice"`
	Notice   string  `json:"notice"`
}

// read reads a whole file in a session.
func read(t *testing.T, c *config.Config, name string) shown {
	t.Helper()
	r := call(t, c, "read_file", map[string]any{"file_path": name})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	return configtest.Decode[shown](t, r)
}

// edits tries to replace a by b in a file.
func edits(t *testing.T, c *config.Config, name string) scheduler.Response {
	t.Helper()
	return call(t, c, "edit", map[string]any{"file_path": name, "old_string": "a", "new_string": "b"})
}

func withEdit(p *config.Parameters) {
	p.Tools.Core = []string{"read_file", "read_many_files", "list_directory", "safe_patch", "write_file", "edit"}
}

func derive(t *testing.T, c *config.Config, d config.DeriveParameters) *config.Config {
	t.Helper()
	child, err := c.Derive(d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.Close()) })
	return child
}

func cached(t *testing.T, c *config.Config) int {
	t.Helper()
	cache, err := c.FileReadCache()
	require.NoError(t, err)
	return cache.Len()
}

func TestStartNewSession(t *testing.T) { // AR-04, RC-21
	s := configtest.New(t, func(p *config.Parameters) { p.Session.ID = "first" })
	s.Write("f", "a\n")
	s.Write("AGENTS.md", "Be brief.\n")
	require.Equal(t, int64(1), read(t, s.Config, "f").Version)
	require.Equal(t, "file_unchanged", read(t, s.Config, "f").Status)
	require.Equal(t, 1, cached(t, s.Config))
	tracker, err := s.FileTracker()
	require.NoError(t, err)
	require.Len(t, tracker.LoadedByAccess(), 1)

	id, err := s.StartNewSession("", 0)
	require.NoError(t, err)
	require.NotEqual(t, "first", id)
	require.Equal(t, id, s.SessionID())
	require.Zero(t, cached(t, s.Config))
	require.Empty(t, tracker.LoadedByAccess(), "given again in a new session (FT-13)")
	again := read(t, s.Config, "f")
	require.Equal(t, int64(1), again.Version, "the counter is reset")
	require.Equal(t, "a\n", *again.Content)
	require.Len(t, tracker.LoadedByAccess(), 1)

	id, err = s.StartNewSession("resumed", 9) // KH-13
	require.NoError(t, err)
	require.Equal(t, "resumed", id)
	resumed := read(t, s.Config, "f")
	require.Equal(t, int64(10), resumed.Version)
	require.NotNil(t, resumed.Content)
}

func TestCompacted(t *testing.T) { // RC-22, CR-19
	s := configtest.New(t)
	s.Write("f", "a\n")
	s.Write("AGENTS.md", "Be brief.\n")
	read(t, s.Config, "f")
	tracker, err := s.FileTracker()
	require.NoError(t, err)
	id := s.SessionID()
	require.NoError(t, s.Compacted())
	require.Zero(t, cached(t, s.Config))
	require.Equal(t, id, s.SessionID())
	require.Len(t, tracker.LoadedByAccess(), 1, "instructions live in the system prompt and stay given (FT-17)")
	again := read(t, s.Config, "f")
	require.Equal(t, int64(2), again.Version, "the counter is not rewound")
	require.NotNil(t, again.Content)
}

func TestClearingIsOnesOwn(t *testing.T) { // RC-23
	s := configtest.New(t)
	s.Write("f", "a\n")
	child := derive(t, s.Config, config.DeriveParameters{})
	for name, clear := range map[string]func(c *config.Config) error{
		"compaction":  func(c *config.Config) error { return c.Compacted() },
		"new session": func(c *config.Config) error { _, err := c.StartNewSession("", 0); return err },
	} {
		for _, pair := range [][2]*config.Config{{s.Config, child}, {child, s.Config}} {
			read(t, s.Config, "f")
			read(t, child, "f")
			require.NoError(t, clear(pair[0]), name)
			require.Zero(t, cached(t, pair[0]), name)
			require.Equal(t, "file_unchanged", read(t, pair[1], "f").Status, name)
		}
	}
}

// AR-05, RC-24, RC-25: the services that a derived Config owns and those that it
// shares, however little it overrides.
func TestDerivedOwnsItsSession(t *testing.T) {
	s := configtest.New(t)
	child := derive(t, s.Config, config.DeriveParameters{})
	sibling := derive(t, s.Config, config.DeriveParameters{ApprovalMode: s.ApprovalMode()})
	grandchild := derive(t, child, config.DeriveParameters{})
	all := []*config.Config{s.Config, child, sibling, grandchild}
	for _, name := range []string{"ToolRegistry", "Scheduler", "SessionStateService", "FileReadCache", "FileState", "FileTracker"} {
		for i, c := range all {
			own, err := accessors[name](c)
			require.NoError(t, err)
			again, err := accessors[name](c)
			require.NoError(t, err)
			require.Same(t, own, again, name)
			for _, other := range all[:i] {
				theirs, err := accessors[name](other)
				require.NoError(t, err)
				require.NotSame(t, theirs, own, name)
			}
		}
	}
	ws, err := s.Workspace()
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, c := range all {
		shared, err := c.Workspace()
		require.NoError(t, err)
		require.Same(t, ws, shared)
		require.Equal(t, s.TargetDir(), c.TargetDir())
		require.Equal(t, s.Layout(), c.Layout())
		ids[c.SessionID()] = true
	}
	require.Len(t, ids, len(all))
}

// RC-24: concurrent first calls return one instance.
func TestLazyServicesOnce(t *testing.T) {
	s := configtest.New(t)
	child := derive(t, s.Config, config.DeriveParameters{})
	got := make([]any, 32)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			<-start
			got[i], _ = child.FileReadCache()
		})
	}
	close(start)
	wg.Wait()
	for _, c := range got {
		require.NotNil(t, c)
		require.Same(t, got[0], c)
	}
}

// RC-24, GO-09: a thousand subagents, each with its own services, created
// concurrently.
func TestDeriveInParallel(t *testing.T) {
	s := configtest.New(t, withEdit)
	s.Write("f", "a\n")
	read(t, s.Config, "f")
	const workers, each = 10, 15
	var mu sync.Mutex
	seen := map[any]bool{}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				child, err := s.Derive(config.DeriveParameters{})
				if err != nil {
					t.Error(err)
					return
				}
				grandchild, err := child.Derive(config.DeriveParameters{})
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range []*config.Config{grandchild, child} {
					cache, err := c.FileReadCache()
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[cache] = true
					mu.Unlock()
					r := call(t, c, "read_file", map[string]any{"file_path": "f"})
					if text := r.Result.LLMContent.String(); !strings.Contains(text, `"version":1,`) || !strings.Contains(text, `"content":"a\n"`) {
						t.Errorf("a child's first read: %s", text)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 2*workers*each)
	require.Equal(t, "file_unchanged", read(t, s.Config, "f").Status)
}

func TestCountersAreOnesOwn(t *testing.T) { // FS-03, CR-18
	s := configtest.New(t)
	s.Write("f", "a\n")
	child := derive(t, s.Config, config.DeriveParameters{})
	require.Equal(t, int64(1), read(t, s.Config, "f").Version)
	require.Equal(t, int64(1), read(t, child, "f").Version)
	s.Write("f", "other\n")
	require.Equal(t, int64(2), read(t, s.Config, "f").Version)
}

// RC-26, KH-04: no tool of a child reaches its parent's record of shown files.
func TestChildKnowsNothing(t *testing.T) {
	s := configtest.New(t, withEdit)
	s.Write("f", "a\n")
	read(t, s.Config, "f")
	child := derive(t, s.Config, config.DeriveParameters{})
	grandchild := derive(t, child, config.DeriveParameters{})
	for _, c := range []*config.Config{child, grandchild} {
		refused := edits(t, c, "f")
		require.Equal(t, fault.EditRequiresPriorRead, refused.Result.Error.Code)
		require.Equal(t, fault.NeverRead, refused.Result.Error.Reason)
		require.Equal(t, "a\n", s.Read("f"))
		require.Equal(t, "a\n", *read(t, c, "f").Content)
	}
	require.Equal(t, scheduler.StatusSuccess, edits(t, grandchild, "f").Status)
	require.Equal(t, "b\n", s.Read("f"))
}

// RC-27: a child's write makes the parent's view stale.
func TestChildWrites(t *testing.T) {
	s := configtest.New(t, withEdit)
	s.Write("f", "a\n")
	base := read(t, s.Config, "f")
	child := derive(t, s.Config, config.DeriveParameters{})
	patched := call(t, child, "safe_patch", map[string]any{
		"file_path": "f", "unified_diff": "@@ -1 +1,2 @@\n a\n+more\n", "base_content_sha256": base.SHA256,
	})
	require.Equal(t, scheduler.StatusSuccess, patched.Status, "%v", patched.Result.Error)

	refused := edits(t, s.Config, "f")
	require.Equal(t, fault.FileChangedSinceRead, refused.Result.Error.Code)
	require.Equal(t, "a\nmore\n", s.Read("f"))
	require.Contains(t, refused.Result.LLMContent.String(), `"content":"a\nmore\n"`, "what it had seen whole it is shown again")
	require.Equal(t, scheduler.StatusSuccess, edits(t, s.Config, "f").Status)
	require.Equal(t, "b\nmore\n", s.Read("f"))
}

// FT-18, FT-02: a subagent receives the instructions although its parent did.
func TestTrackersAreOnesOwn(t *testing.T) {
	s := configtest.New(t)
	s.Write("AGENTS.md", "Be brief.\n")
	s.Write("src/agents.md", "Use tabs.\n")
	s.Write("src/f", "a\n")
	read(t, s.Config, "src/f")
	child := derive(t, s.Config, config.DeriveParameters{})
	parents, err := s.FileTracker()
	require.NoError(t, err)
	childs, err := child.FileTracker()
	require.NoError(t, err)
	require.Empty(t, childs.LoadedByAccess())
	read(t, child, "src/f")
	for name, tracker := range map[string]*tracker.FileTracker{"parent": parents, "child": childs} {
		var paths, texts []string
		for _, d := range tracker.LoadedByAccess() {
			paths, texts = append(paths, d.Path), append(texts, d.Text)
		}
		require.Equal(t, []string{s.Path("AGENTS.md"), s.Path("src/agents.md")}, paths, name)
		require.Equal(t, []string{"Be brief.\n", "Use tabs.\n"}, texts, name)
	}
}

// FS-10: finding a file is not seeing it.
func TestFindingIsNotReading(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{"glob", "search_file_content", "list_directory", "edit", "read_file"}
	})
	s.Write("f", "a\n")
	for tool, args := range map[string]map[string]any{
		"glob": {"pattern": "*"}, "search_file_content": {"pattern": "a"}, "list_directory": {"dir_path": "."},
	} {
		r := s.Call(tool, args)
		require.Equal(t, scheduler.StatusSuccess, r.Status, tool)
		told := r.Result.LLMContent.String()
		require.Contains(t, told, "f", tool)
		require.NotContains(t, told, "sha256", tool)
		require.NotContains(t, told, "version", tool)
		require.Equal(t, fault.EditRequiresPriorRead, edits(t, s.Config, "f").Result.Error.Code, tool)
	}
	read(t, s.Config, "f")
	require.Equal(t, scheduler.StatusSuccess, edits(t, s.Config, "f").Status)
}
