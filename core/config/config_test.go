package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// accessors contains an accessor for each service.
var accessors = map[string]func(c *config.Config) (any, error){
	"ToolRegistry":        func(c *config.Config) (any, error) { return c.ToolRegistry() },
	"Scheduler":           func(c *config.Config) (any, error) { return c.Scheduler() },
	"SessionStateService": func(c *config.Config) (any, error) { return c.SessionStateService() },
	"FileReadCache":       func(c *config.Config) (any, error) { return c.FileReadCache() },
	"FileState":           func(c *config.Config) (any, error) { return c.FileState() },
	"FileTracker":         func(c *config.Config) (any, error) { return c.FileTracker() },
	"Workspace":           func(c *config.Config) (any, error) { return c.Workspace() },
	"Recover":             func(c *config.Config) (any, error) { return c.Recover(context.Background()) },
	"Derive":              func(c *config.Config) (any, error) { return c.Derive(config.DeriveParameters{}) },
	"StartNewSession":     func(c *config.Config) (any, error) { return c.StartNewSession("", 0) },
	"Compacted":           func(c *config.Config) (any, error) { return nil, c.Compacted() },
}

// requireNotInitialized checks AR-03 for every accessor: a typed error with a
// remedy, and no service.
func requireNotInitialized(t *testing.T, c *config.Config, because string) {
	t.Helper()
	for name, get := range accessors {
		_, err := get(c)
		e := fault.As(err)
		require.NotNil(t, e, name)
		require.Equal(t, fault.NotInitialized, e.Code, name)
		require.Contains(t, e.Message, name)
		require.Contains(t, e.Message, because, name)
		require.NotEmpty(t, e.Remedy, name)
	}
}

func newConfig(t *testing.T, p config.Parameters) *config.Config {
	t.Helper()
	if p.TargetDir == "" {
		p.TargetDir = t.TempDir()
	}
	if p.Environment.HomeDir == "" {
		p.Environment.HomeDir = t.TempDir()
	}
	c, err := config.New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestPhases(t *testing.T) { // AR-03
	c := newConfig(t, config.Parameters{Session: config.Session{ID: "s1"}})
	requireNotInitialized(t, c, "before Initialize")
	require.Equal(t, "s1", c.SessionID(), "plain values never fail")
	require.Equal(t, policy.ModeDefault, c.ApprovalMode())

	require.NoError(t, c.Initialize(t.Context()))
	first := map[string]any{}
	for name, get := range accessors {
		got, err := get(c)
		require.NoError(t, err, name)
		first[name] = got
	}
	require.NoError(t, c.Initialize(t.Context()), "a second call builds nothing")
	for _, name := range []string{"ToolRegistry", "Scheduler", "SessionStateService", "FileReadCache", "FileState", "FileTracker", "Workspace"} {
		again, err := accessors[name](c)
		require.NoError(t, err, name)
		require.Same(t, first[name], again, name)
	}

	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "idempotent")
	requireNotInitialized(t, c, "closed")
	require.Equal(t, fault.NotInitialized, fault.CodeOf(c.Initialize(t.Context())))
	require.NotEmpty(t, c.SessionID())
}

func TestCloseBeforeInitialize(t *testing.T) { // AR-03
	c := newConfig(t, config.Parameters{})
	require.NoError(t, c.Close())
	requireNotInitialized(t, c, "closed")
	require.Equal(t, fault.NotInitialized, fault.CodeOf(c.Initialize(t.Context())))
}

func TestConcurrentInitialize(t *testing.T) { // AR-03
	var discoveries atomic.Int64
	c := newConfig(t, config.Parameters{Tools: config.Tools{Discover: []func(context.Context) ([]tools.DeclarativeTool, error){
		func(context.Context) ([]tools.DeclarativeTool, error) {
			discoveries.Add(1)
			return nil, nil
		},
	}}})
	const callers = 16
	registries := make([]*tools.Registry, callers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			<-start
			if err := c.Initialize(t.Context()); err != nil {
				t.Error(err)
				return
			}
			var err error
			if registries[i], err = c.ToolRegistry(); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	require.Equal(t, int64(1), discoveries.Load())
	for _, r := range registries {
		require.Same(t, registries[0], r)
	}
}

// A discovery may use the Config that is being initialized; nothing blocks, other
// callers can give up waiting, and Close ends it.
func TestDuringInitialize(t *testing.T) { // AR-03
	discovering, goOn := make(chan struct{}), make(chan struct{})
	var c *config.Config
	c = newConfig(t, config.Parameters{Tools: config.Tools{Discover: []func(context.Context) ([]tools.DeclarativeTool, error){
		func(context.Context) ([]tools.DeclarativeTool, error) {
			require.Equal(t, policy.ModeDefault, c.ApprovalMode())
			requireNotInitialized(t, c, "before Initialize")
			close(discovering)
			<-goOn
			return nil, nil
		},
	}}})
	first := make(chan error)
	go func() { first <- c.Initialize(t.Context()) }()
	<-discovering
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(c.Initialize(ctx)))
	before := descriptors(t)
	require.NoError(t, c.Close())
	close(goOn)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(<-first))
	require.LessOrEqual(t, descriptors(t), before)
}

func TestFailedInitialize(t *testing.T) { // AR-03
	dir := filepath.Join(t.TempDir(), "later")
	c := newConfig(t, config.Parameters{TargetDir: dir})
	e := fault.As(c.Initialize(t.Context()))
	require.NotNil(t, e)
	require.Equal(t, fault.InvalidConfig, e.Code)
	require.Contains(t, e.Message, dir)
	requireNotInitialized(t, c, "before Initialize")

	require.NoError(t, os.Mkdir(dir, 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(c.Initialize(ctx)))
	require.NoError(t, c.Initialize(t.Context()), "it may be tried again")
}

func TestNew(t *testing.T) {
	_, err := config.New(config.Parameters{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	_, err = config.New(config.Parameters{TargetDir: "x", Policy: config.Policy{ApprovalMode: "sometimes"}})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, "sometimes")
	_, err = config.New(config.Parameters{TargetDir: "x", Session: config.Session{StaleEdits: "Rebase"}}) // ST-04
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, `"Rebase"`)

	// A layout is used as a whole or refused, never replaced silently.
	for _, l := range []layout.Layout{{Dir: ".mine"}, {ToolNames: map[string]string{"edit": "replace"}}} {
		_, err = config.New(config.Parameters{TargetDir: "x", Environment: config.Environment{Layout: l}})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.ErrorContains(t, err, "Name")
	}
	zero, err := config.New(config.Parameters{TargetDir: "x"})
	require.NoError(t, err)
	require.Equal(t, layout.Fettle(), zero.Layout())

	// No I/O: Initialize checks whether the directory exists.
	c, err := config.New(config.Parameters{TargetDir: "/nonexistent/fettle", Environment: config.Environment{DebugMode: true}})
	require.NoError(t, err)
	require.Equal(t, "/nonexistent/fettle", c.TargetDir())
	require.True(t, c.DebugMode())
	require.Equal(t, "fettle", c.Layout().Name)
	other, err := config.New(config.Parameters{TargetDir: "/nonexistent/fettle"})
	require.NoError(t, err)
	require.NotEqual(t, c.SessionID(), other.SessionID())
	require.Len(t, c.SessionID(), 32)
}

// Later changes of the caller's parameters have no effect.
func TestParametersAreCopied(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Tools: config.Tools{Core: []string{"read_file"}, Exclude: []string{"edit"}}}
	c, err := config.New(p)
	require.NoError(t, err)
	defer c.Close()
	p.Tools.Core[0], p.Tools.Exclude[0] = "write_file", "read_file"
	require.NoError(t, c.Initialize(t.Context()))
	r, err := c.ToolRegistry()
	require.NoError(t, err)
	require.Equal(t, []string{"read_file"}, r.Names())
}

func TestApprovalMode(t *testing.T) {
	s := configtest.New(t)
	require.NoError(t, s.SetApprovalMode("auto_edit"))
	require.Equal(t, policy.ModeAutoEdit, s.ApprovalMode())
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.SetApprovalMode("maybe")))
	require.Equal(t, policy.ModeAutoEdit, s.ApprovalMode())
	require.Equal(t, scheduler.StatusSuccess, s.Call("write_file", map[string]any{"file_path": "a", "content": "a\n"}).Status)
	require.Empty(t, s.Confirmations(), "the mode holds from the next call on")

	// AR-05: the parent's current mode, unless overridden; later changes are
	// independent.
	child, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	planner, err := s.Derive(config.DeriveParameters{ApprovalMode: policy.ModePlan})
	require.NoError(t, err)
	require.NoError(t, s.SetApprovalMode(policy.ModeDefault))
	require.Equal(t, policy.ModeAutoEdit, child.ApprovalMode())
	require.Equal(t, policy.ModePlan, planner.ApprovalMode())
	_, err = s.Derive(config.DeriveParameters{ApprovalMode: "maybe"})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// descriptors counts this process's open descriptors.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list a process's descriptors:", err)
	}
	return len(entries)
}

// goroutines returns the number of goroutines once they are at most want. A
// goroutine that has signalled completion still takes a moment to end.
func goroutines(want int) int {
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > want && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	return runtime.NumGoroutine()
}

// GO-09: after Close everything that a session opened is closed and everything
// that it started has ended, whatever was done in it.
func TestNothingOutlivesClose(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	session := func() {
		c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		child, err := c.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		for _, c := range []*config.Config{c, child} {
			call(t, c, "write_file", map[string]any{"file_path": "f", "content": "f\n"})
			call(t, c, "read_file", map[string]any{"file_path": "f"})
			call(t, c, "safe_patch", map[string]any{"file_path": "f", "unified_diff": "@@\n-f\n+g\n", "base_content_sha256": shaOf("f\n")})
			call(t, c, "list_directory", map[string]any{"dir_path": "."})
			call(t, c, "read_many_files", map[string]any{"paths": []string{"*", "no such file"}})
		}
		require.NoError(t, child.Close())
		require.NoError(t, c.Close())
	}
	session() // state that the process creates on first use stays
	runtime.GC()
	files, before := descriptors(t), runtime.NumGoroutine()
	for range 10 {
		session()
	}
	require.Equal(t, files, descriptors(t))
	require.LessOrEqual(t, goroutines(before), before)
}

// A call that is running when its Config is closed ends.
func TestCloseDuringCalls(t *testing.T) { // GO-09
	for range 20 {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("f\n"), 0o644))
		c := newConfig(t, config.Parameters{TargetDir: dir, Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
		require.NoError(t, c.Initialize(t.Context()))
		run, err := c.Scheduler()
		require.NoError(t, err)
		const workers = 4
		ended := make(chan *fault.Error, workers)
		var running sync.WaitGroup
		for range workers {
			running.Add(1)
			go func() {
				started := sync.OnceFunc(running.Done)
				defer started()
				for {
					r := run.Run(t.Context(), request("write_file", map[string]any{"file_path": "f", "content": "g\n", "base_content_sha256": shaOf("f\n")}))
					if e := r.Result.Error; e != nil && e.Code != fault.FileChangedSinceRead && e.Code != fault.EditRequiresPriorRead {
						ended <- e
						return
					}
					started()
				}
			}()
		}
		running.Wait()
		require.NoError(t, c.Close())
		for range workers {
			require.Equal(t, fault.NotInitialized, (<-ended).Code)
		}
	}
}

// A child is unusable once its parent is closed, and reports that.
func TestChildOfClosedParent(t *testing.T) { // AR-03, AR-05
	parent := newConfig(t, config.Parameters{})
	require.NoError(t, parent.Initialize(t.Context()))
	unused, err := parent.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	used, err := parent.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	grandchild, err := used.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	run, err := used.Scheduler()
	require.NoError(t, err)

	require.NoError(t, parent.Close())
	for _, c := range []*config.Config{unused, used, grandchild} {
		requireNotInitialized(t, c, "whose parent is closed")
		require.Equal(t, fault.NotInitialized, fault.CodeOf(c.Initialize(t.Context())))
	}
	for tool, args := range map[string]map[string]any{
		"read_file":      {"file_path": "f"},
		"list_directory": {"dir_path": "."},
		"write_file":     {"file_path": "f", "content": "x"},
	} {
		r := run.Run(t.Context(), request(tool, args))
		require.NotEqual(t, scheduler.StatusSuccess, r.Status, tool)
		require.NotNil(t, r.Result.Error, tool)
		if tool != "write_file" { // it requires approval first, and there is no approver
			require.Equal(t, fault.NotInitialized, r.Result.Error.Code, tool)
		}
	}
	require.NoError(t, used.Close())
	requireNotInitialized(t, used, "closed")
	require.NoError(t, grandchild.Close())
	require.NoError(t, unused.Close())
}

// Closing a child does not affect its parent and its siblings.
func TestCloseChild(t *testing.T) { // AR-05
	s := configtest.New(t)
	s.Write("f", "f\n")
	child, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	sibling, err := s.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	require.NoError(t, child.Close())
	require.NoError(t, child.Close())
	requireNotInitialized(t, child, "closed")
	require.Equal(t, scheduler.StatusSuccess, s.Call("read_file", map[string]any{"file_path": "f"}).Status)
	require.Equal(t, scheduler.StatusSuccess, call(t, sibling, "read_file", map[string]any{"file_path": "f"}).Status)
}

// A defect of a tool reaches the host, by OnDefect or the log.
func TestDefects(t *testing.T) { // AR-17
	broken, err := tools.Define("broken", "Fails.", tools.KindRead, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{}, errors.New("disk on fire")
	})
	require.NoError(t, err)
	var defects []error
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Own = []tools.DeclarativeTool{broken}
		p.Environment.OnDefect = func(err error) { defects = append(defects, err) }
	})
	r := s.Call("broken", map[string]any{})
	require.Equal(t, fault.UnhandledException, r.Result.Error.Code)
	require.Len(t, defects, 1)
	require.ErrorContains(t, defects[0], "disk on fire")

	var log strings.Builder
	s = configtest.New(t, func(p *config.Parameters) {
		p.Tools.Own = []tools.DeclarativeTool{broken}
		p.Environment.OnDefect, p.Environment.Logger = nil, logTo(&log)
	})
	s.Call("broken", map[string]any{})
	require.Contains(t, log.String(), "disk on fire")
}

func request(tool string, args any) scheduler.Request {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return scheduler.Request{Tool: tool, Args: raw}
}

func call(t *testing.T, c *config.Config, tool string, args any) scheduler.Response {
	t.Helper()
	return configtest.Call(t.Context(), t, c, tool, args)
}
