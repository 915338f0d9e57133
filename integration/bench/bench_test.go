// Package bench measures whole calls and the whole program, each beside the
// least that the same work costs by hand, in the same run.
// docs/benchmarks.md records the figures.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// session is a Config that asks nobody, and whose clock is so late that no
// file is racily clean.
type session struct {
	tb    testing.TB
	dir   string
	calls *scheduler.Scheduler
}

func newSession(tb testing.TB, limits filestate.Limits) *session {
	tb.Helper()
	noop, err := tools.Define("noop", "Does nothing.", tools.KindRead,
		func(context.Context, file.ReadFileParams) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text("done")}, nil
		})
	require.NoError(tb, err)
	s := &session{tb: tb, dir: tb.TempDir()}
	c, err := config.New(config.Parameters{
		TargetDir: s.dir, HomeDir: tb.TempDir(), ApprovalMode: policy.ModeYolo,
		Limits: limits,
		Now:    func() time.Time { return time.Now().Add(time.Hour) },
		Tools:  []tools.DeclarativeTool{noop},
	})
	require.NoError(tb, err)
	require.NoError(tb, c.Initialize(tb.Context()))
	tb.Cleanup(func() { require.NoError(tb, c.Close()) })
	s.calls, err = c.Scheduler()
	require.NoError(tb, err)
	return s
}

// write puts a file in the session's folder and returns its path.
func (s *session) write(name, content string) string {
	s.tb.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.tb, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// showsAll are limits within which a file of a megabyte is shown at once.
var showsAll = filestate.Limits{Lines: 1 << 20, Bytes: 4 << 20}

func request(tool string, args any) scheduler.Request {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return scheduler.Request{CallID: "c", Tool: tool, Args: raw}
}

func (s *session) run(r scheduler.Request) scheduler.Response {
	response := s.calls.Run(s.tb.Context(), r)
	if response.Status != scheduler.StatusSuccess {
		s.tb.Fatal(response.Result.Error)
	}
	return response
}

// beside runs floor and ours by turns and reports the least time of each, how
// many times the one is the other, and that of the medians: the least because
// whatever else the machine does can only add, the median because it does.
func beside(b *testing.B, floor, ours func()) {
	b.Helper()
	var floors, all []time.Duration
	for b.Loop() {
		start := time.Now()
		floor()
		between := time.Now()
		ours()
		floors, all = append(floors, between.Sub(start)), append(all, time.Since(between))
	}
	slices.Sort(floors)
	slices.Sort(all)
	half := len(all) / 2
	b.ReportMetric(0, "ns/op") // that of both together says nothing
	b.ReportMetric(float64(floors[0].Nanoseconds())/1e3, "µs/floor")
	b.ReportMetric(float64(all[0].Nanoseconds())/1e3, "µs/ours")
	b.ReportMetric(float64(all[0])/float64(floors[0]), "×floor")
	b.ReportMetric(float64(all[half])/float64(floors[half]), "×floor-median")
}

// allocated returns how many bytes a call of f allocates.
func allocated(f func()) float64 {
	const runs = 5
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// Budget: 1.5 × reading, hashing and encoding by hand.
func BenchmarkReadFile1MB(b *testing.B) {
	s := newSession(b, showsAll)
	path := s.write("f.go", source(1<<20))
	whole := request("read_file", map[string]any{"file_path": "f.go", "offset": 0, "limit": 1 << 20})
	var size int
	ours := func() { size = len(s.run(whole).Result.LLMContent.String()) }
	floor := func() {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		sum := sha256.Sum256(data)
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		err = e.Encode(map[string]any{"file_path": path, "version": 1, "sha256": hex.EncodeToString(sum[:]), "content": string(data)})
		if err != nil || out.Len() < len(data) {
			b.Fatal(err)
		}
		_ = out.String()
	}
	beside(b, floor, ours)
	require.Greater(b, size, 1<<20)
	b.ReportMetric(allocated(floor)/(1<<20), "×size-alloc/floor")
	b.ReportMetric(allocated(ours)/(1<<20), "×size-alloc/ours")
}

// Budget: 30 µs and 150 allocations.
func BenchmarkCallOverhead(b *testing.B) {
	s := newSession(b, filestate.Limits{})
	call := request("noop", map[string]any{"file_path": "core/config/config.go", "offset": 100, "limit": 200})
	b.ReportAllocs()
	least := time.Duration(1 << 62)
	for b.Loop() {
		start := time.Now()
		s.run(call)
		least = min(least, time.Since(start))
	}
	b.ReportMetric(float64(least.Nanoseconds())/1e3, "µs/least")
}

// Budget: 10 µs over the same call of a tool that does nothing. The difference
// of the two is the cost of a look at the file.
func BenchmarkUnchangedReread(b *testing.B) {
	s := newSession(b, showsAll)
	require.NoError(b, os.MkdirAll(filepath.Join(s.dir, "core", "config"), 0o755))
	s.write("core/config/f.go", source(1<<20))
	args := map[string]any{"file_path": "core/config/f.go"}
	read := request("read_file", args)
	s.run(read)
	again := s.run(read)
	require.Contains(b, again.Result.LLMContent.String(), filestate.StatusUnchanged)
	noop := request("noop", args)
	const each = 100 // calls a turn, for a clock that costs nothing
	leastNoop, leastRead := time.Duration(1<<62), time.Duration(1<<62)
	for b.Loop() {
		start := time.Now()
		for range each {
			s.run(noop)
		}
		between := time.Now()
		for range each {
			s.run(read)
		}
		leastNoop, leastRead = min(leastNoop, between.Sub(start)), min(leastRead, time.Since(between))
	}
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / each }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(micros(leastNoop), "µs/noop")
	b.ReportMetric(micros(leastRead), "µs/reread")
	b.ReportMetric(micros(leastRead-leastNoop), "µs/difference")
}

// Budget: 200 MB for 10,000, and no goroutine. There are so many with FETTLE_FULL.
func BenchmarkIdleConfigs(b *testing.B) {
	configs := 1_000
	if os.Getenv("FETTLE_FULL") != "" {
		configs = 10_000
	}
	dir, home := b.TempDir(), b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "f"), []byte("text\n"), 0o644))
	for name, use := range map[string]bool{"idle": false, "after a read": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				goroutines := runtime.NumGoroutine()
				heap, rss := heapBytes(), residentBytes(b)
				all := make([]*config.Config, configs)
				for i := range all {
					c, err := config.New(config.Parameters{TargetDir: dir, HomeDir: home, ApprovalMode: policy.ModeYolo})
					require.NoError(b, err)
					require.NoError(b, c.Initialize(b.Context()))
					all[i] = c
					if !use {
						continue
					}
					calls, err := c.Scheduler()
					require.NoError(b, err)
					r := calls.Run(b.Context(), request("read_file", map[string]any{"file_path": "f"}))
					if e := r.Result.Error; e != nil && errors.Is(e, syscall.EMFILE) {
						b.Skip("each Config in use holds a descriptor, and the system does not allow as many")
					}
					require.Equal(b, scheduler.StatusSuccess, r.Status)
				}
				b.ReportMetric(float64(heapBytes()-heap)/1e6, "MB-heap")
				b.ReportMetric(float64(residentBytes(b)-rss)/1e6, "MB-RSS")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
				for _, c := range all {
					require.NoError(b, c.Close())
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// residentBytes returns the memory that the system counts for this process, 0
// where it does not say.
func residentBytes(tb testing.TB) int64 {
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, resident int64
	_, err = fmt.Sscan(string(data), &total, &resident)
	require.NoError(tb, err)
	return resident * int64(os.Getpagesize())
}
