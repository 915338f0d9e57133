package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// versions records the version numbers that were assigned.
type versions struct {
	mu   sync.Mutex
	seen map[int64]string
	most int64
}

func (v *versions) note(t *testing.T, s filestate.State, call string) {
	if s.Version == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if first, twice := v.seen[*s.Version]; twice {
		t.Errorf("version %d was assigned twice, by %s and %s", *s.Version, first, call)
	}
	v.seen[*s.Version] = call
	v.most = max(v.most, *s.Version)
}

// FS-01, FS-04, AR-16: thousands of concurrent calls in one session, of every kind
// and on the same few files: each has a result, no version is assigned twice or
// skipped, and the files are the result of the acknowledged changes.
func TestConcurrentCalls(t *testing.T) {
	const files, workers = 16, 64
	dir := t.TempDir()
	c, err := config.New(config.Parameters{
		TargetDir: dir, Environment: config.Environment{HomeDir: t.TempDir(), OnDefect: func(err error) { t.Errorf("defect: %v", err) }}, Policy: config.Policy{ApprovalMode: policy.ModeYolo},
		Tools: config.Tools{Core: []string{"read_file", "read_many_files", "list_directory", "safe_patch", "write_file", "edit"}},
	})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer c.Close()
	before := runtime.NumGoroutine()
	calls, err := c.Scheduler()
	require.NoError(t, err)
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d", i)), []byte("count 0\n"), 0o644))
	}

	seen := &versions{seen: map[int64]string{}}
	var mu sync.Mutex
	acked := map[string]int{}
	statuses := map[string]int{}
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := range jobs {
				w := caller{t, calls, seen, rand.New(rand.NewPCG(uint64(n), 9))}
				name := fmt.Sprintf("f%02d", w.r.IntN(files))
				kind, done := w.one(t.Context(), n, name)
				mu.Lock()
				statuses[kind]++
				if done {
					acked[name]++
				}
				mu.Unlock()
			}
		})
	}
	total := number(500, 10_000)
	if raceDetector { // the purpose of this test
		total = max(total, 1000)
	}
	for n := range total {
		jobs <- n
	}
	close(jobs)
	wg.Wait()

	changes := 0
	for i := range files {
		name := fmt.Sprintf("f%02d", i)
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("count %d\n", acked[name]), string(content), "%s: the file has each acknowledged change and no other", name)
		changes += acked[name]
	}
	require.NotZero(t, changes)
	counter, err := c.SessionStateService()
	require.NoError(t, err)
	require.Len(t, seen.seen, int(seen.most), "no version was skipped")
	require.Equal(t, seen.most, counter.Current())
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	created := statuses["create"]
	require.Len(t, names, files+created, "no leftover files")
	runtime.GC()
	require.LessOrEqual(t, goroutines(before), before)
	t.Logf("%d rounds, %d changes acknowledged, %d versions assigned; %v", total, changes, seen.most, statuses)
}

// caller makes calls concurrently with others.
type caller struct {
	t    *testing.T
	run  *scheduler.Scheduler
	seen *versions
	r    *rand.Rand
}

func (w caller) call(ctx context.Context, tool string, args any) scheduler.Response {
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Error(err)
	}
	return w.run.Run(ctx, scheduler.Request{Tool: tool, Args: raw})
}

// state decodes a state object, and records its version if it is new.
func (w caller) state(r scheduler.Response) (filestate.State, bool) {
	var s filestate.State
	if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &s); err != nil {
		w.t.Errorf("%s: %v in %s", r.Tool, err, r.Result.LLMContent)
	}
	if s.Content == nil {
		return s, false
	}
	w.seen.note(w.t, s, r.Tool)
	return s, true
}

// one makes one call, with a read first if the call changes a file, and returns the
// kind of call and whether a change was acknowledged.
func (w caller) one(ctx context.Context, n int, name string) (kind string, changed bool) {
	switch w.r.IntN(8) {
	case 0:
		r := w.call(ctx, "read_file", map[string]any{"file_path": name})
		w.must(r)
		w.state(r)
		return "read", false
	case 1:
		r := w.call(ctx, "read_many_files", map[string]any{"paths": []string{"f0*"}})
		w.must(r)
		var all []filestate.State
		if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &all); err != nil {
			w.t.Errorf("read_many_files: %v in %.200s", err, r.Result.LLMContent)
		}
		if len(all) != 10 {
			w.t.Errorf("read_many_files showed %d files of 10", len(all))
		}
		for _, s := range all {
			if s.Content != nil {
				w.seen.note(w.t, s, r.Tool)
			}
		}
		return "read many", false
	case 2:
		w.must(w.call(ctx, "list_directory", map[string]any{"dir_path": "."}))
		return "list", false
	case 3:
		r := w.call(ctx, "write_file", file.WriteFileParams{FilePath: fmt.Sprintf("new%d", n), Content: "new\n"})
		w.must(r)
		w.report(r)
		return "create", false
	}
	shown, ok := w.state(w.call(ctx, "read_file", map[string]any{"file_path": name, "offset": 0, "limit": 10}))
	if !ok || shown.SHA256 == nil {
		return "unread", false // another caller is writing
	}
	var count int
	if _, err := fmt.Sscanf(*shown.Content, "count %d\n", &count); err != nil {
		w.t.Errorf("%s is torn: %q", name, *shown.Content)
	}
	was, now := fmt.Sprintf("count %d\n", count), fmt.Sprintf("count %d\n", count+1)
	var r scheduler.Response
	switch kind = []string{"safe_patch", "write_file", "edit"}[w.r.IntN(3)]; kind {
	case "safe_patch":
		r = w.call(ctx, kind, file.SafePatchParams{FilePath: name, UnifiedDiff: "@@ @@\n-" + was + "+" + now, BaseContentSHA256: *shown.SHA256})
	case "write_file":
		r = w.call(ctx, kind, map[string]any{"file_path": name, "content": now, "base_content_sha256": *shown.SHA256})
	case "edit":
		r = w.call(ctx, kind, map[string]any{"file_path": name, "old_string": was, "new_string": now})
	}
	report := w.report(r)
	switch {
	case report.Success, r.Result.Error.Code == fault.FileChangedSinceRead:
	case kind == "edit" && r.Result.Error.Code == fault.EditNoOccurrenceFound: // another change came first and has been shown since
	default:
		w.t.Errorf("%s: %v", kind, r.Result.Error)
	}
	if !report.Success {
		return kind + " refused", false
	}
	return kind, true
}

func (w caller) must(r scheduler.Response) {
	if r.Status != scheduler.StatusSuccess {
		w.t.Errorf("%s: %v", r.Tool, r.Result.Error)
	}
}

func (w caller) report(r scheduler.Response) file.Report {
	var report file.Report
	if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &report); err != nil {
		w.t.Errorf("%s: %v in %s", r.Tool, err, r.Result.LLMContent)
	}
	if report.LatestFileState.Content != nil {
		w.seen.note(w.t, report.LatestFileState, r.Tool)
	}
	return report
}

// goroutines returns the number of goroutines once it is no more than want. A
// goroutine that has reported its end exits a moment later.
func goroutines(want int) int {
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > want && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	return runtime.NumGoroutine()
}
