package config_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// ownAccessors contains the services that a Config owns.
func ownAccessors() map[string]func(*config.Config) (any, error) {
	return map[string]func(*config.Config) (any, error){
		"state":     func(c *config.Config) (any, error) { return c.SessionStateService() },
		"cache":     func(c *config.Config) (any, error) { return c.FileReadCache() },
		"reads":     func(c *config.Config) (any, error) { return c.FileState() },
		"tracker":   func(c *config.Config) (any, error) { return c.FileTracker() },
		"registry":  func(c *config.Config) (any, error) { return c.ToolRegistry() },
		"scheduler": func(c *config.Config) (any, error) { return c.Scheduler() },
	}
}

// sharedAccessors contains the services that derived Configs share.
func sharedAccessors() map[string]func(*config.Config) (any, error) {
	return map[string]func(*config.Config) (any, error){
		"workspace": func(c *config.Config) (any, error) { return c.Workspace() },
		"policy":    func(c *config.Config) (any, error) { return c.Policy().Engine() },
		"bus":       func(c *config.Config) (any, error) { return c.MessageBus(), nil },
	}
}

func ask(c *config.Config, accessors map[string]func(*config.Config) (any, error)) (map[string]any, error) {
	got := map[string]any{}
	for name, get := range accessors {
		v, err := get(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		got[name] = v
	}
	return got, nil
}

// AR-05, RC-24 to RC-26, FT-18, GO-09: a thousand Configs derived concurrently,
// also from each other, each own the services of a conversation, created once
// under concurrent access, and share the rest. Unused ones create nothing, and
// nothing is left of any.
func TestDeriveManyAtOnce(t *testing.T) {
	const many = 1000
	s := configtest.New(t, withUser(t, `{"tools": {"exclude": ["glob"]}}`), func(p *config.Parameters) { p.Policy.Trust = trust.Trusted })
	s.Write("AGENTS.md", "Be brief.\n")
	s.Write("f", "a\n")
	read(t, s.Config, "f")
	ofAll, err := ask(s.Config, sharedAccessors())
	require.NoError(t, err)
	runtime.GC()
	files, before := descriptors(t), runtime.NumGoroutine()

	all := make([]*config.Config, many)
	belongings := make([]map[string]any, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			parent := s.Config
			if i%10 == 0 { // a grandchild, of a parent that is never used
				child, err := s.Derive(config.DeriveParameters{})
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { _ = child.Close() })
				parent = child
			}
			c, err := parent.Derive(config.DeriveParameters{Subagent: fmt.Sprint("agent ", i)})
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = c
			if i%2 == 0 { // the others stay idle
				belongings[i] = used(t, c, ofAll)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	seen := map[any]string{}
	for i, b := range append(belongings, mustOwn(t, s.Config)) {
		for name, v := range b {
			require.Empty(t, seen[v], "%s of %d", name, i)
			seen[v] = name
		}
	}
	require.Len(t, seen, (many/2+1)*len(ownAccessors()))
	require.Equal(t, "file_unchanged", read(t, s.Config, "f").Status, "the parent's cache is as it was")

	require.LessOrEqual(t, goroutines(before), before, "no idle Config has a goroutine")
	require.LessOrEqual(t, descriptors(t), files)
	for i := range all {
		wg.Go(func() {
			if err := all[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, goroutines(before), before)
	require.LessOrEqual(t, descriptors(t), files)
}

// used accesses all services of a derived Config concurrently, and reads a file
// as its agent would: completely and with instructions, even if the parent has
// seen them.
func used(t *testing.T, c *config.Config, ofAll map[string]any) map[string]any {
	var sides [2]map[string]any
	var wg sync.WaitGroup
	for i := range sides {
		wg.Go(func() {
			var err error
			if sides[i], err = ask(c, ownAccessors()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !maps.Equal(sides[0], sides[1]) {
		t.Error("two first calls made two services")
	}
	same, err := ask(c, sharedAccessors())
	if err != nil || !maps.Equal(same, ofAll) {
		t.Errorf("not the parent's: %v, %v", same, err)
	}
	if got := c.Policy().ExcludedTools(); !slices.Equal(got, []string{"glob"}) {
		t.Errorf("not the settings of all: %v", got)
	}
	r := configtest.Call(t.Context(), t, c, "read_file", map[string]any{"file_path": "f"})
	if text := r.Result.LLMContent.String(); r.Status != scheduler.StatusSuccess || !strings.Contains(text, `"version":1`) || !strings.Contains(text, `"content"`) {
		t.Errorf("%s: %s", r.Status, text)
	}
	tracker, err := c.FileTracker()
	if err != nil || len(tracker.LoadedByAccess()) != 1 {
		t.Errorf("instructions were not given: %v", err)
	}
	return sides[0]
}

func mustOwn(t *testing.T, c *config.Config) map[string]any {
	t.Helper()
	own, err := ask(c, ownAccessors())
	require.NoError(t, err)
	return own
}
