package tools_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

// switchable is a set of hidden names that can change.
type switchable struct{ now atomic.Pointer[[]string] }

func (s *switchable) hide(names ...string) { s.now.Store(&names) }

func (s *switchable) names() []string {
	if now := s.now.Load(); now != nil {
		return *now
	}
	return nil
}

func declared(r *tools.Registry) []string {
	var names []string
	for _, d := range r.Declarations() {
		names = append(names, d.Name)
	}
	return names
}

// TO-18: a hidden tool is not declared, but can be called.
func TestHidden(t *testing.T) {
	var hidden switchable
	r := tools.NewRegistry(tools.RegistryOptions{Hidden: hidden.names})
	for _, name := range []string{"enter", "leave", "read_file"} {
		require.NoError(t, r.Register(named(t, name, "Does it.", builtIn, name+"_alias")))
	}
	all := []string{"enter", "leave", "read_file"}
	for _, step := range []struct{ hide, want []string }{
		{nil, all},
		{[]string{"leave"}, []string{"enter", "read_file"}},
		{[]string{"enter"}, []string{"leave", "read_file"}},
		{[]string{"enter_alias", "absent"}, []string{"leave", "read_file"}},
		{all, nil},
		{[]string{}, all},
	} {
		hidden.hide(step.hide...)
		for range 2 {
			require.Equal(t, step.want, declared(r), step.hide)
		}
		require.Equal(t, all, r.Names())
		require.Len(t, r.All(), 3)
		for _, name := range []string{"enter", "leave_alias"} {
			_, err := r.Lookup(name)
			require.NoError(t, err)
		}
	}

	// A cached list is not used after the tools have changed.
	hidden.hide("leave")
	require.Equal(t, []string{"enter", "read_file"}, declared(r))
	require.True(t, r.Unregister("enter"))
	require.Equal(t, []string{"read_file"}, declared(r))
	require.NoError(t, r.Register(named(t, "glob", "Finds.", builtIn)))
	require.Equal(t, []string{"read_file", "glob"}, declared(r))
}

// The callback may append the names to a list that the registry reuses.
func TestHiddenInListOfTheCaller(t *testing.T) {
	list := []string{"enter"}
	r := tools.NewRegistry(tools.RegistryOptions{Hidden: func() []string { return list }})
	require.NoError(t, r.Register(named(t, "enter", "Enters.", builtIn)))
	require.NoError(t, r.Register(named(t, "leave", "Leaves.", builtIn)))
	require.Equal(t, []string{"leave"}, declared(r))
	list[0] = "leave"
	require.Equal(t, []string{"enter"}, declared(r))
}

// While the hidden and the registered tools change, each list of declarations is consistent.
func TestHiddenConcurrently(t *testing.T) {
	var hidden switchable
	r := tools.NewRegistry(tools.RegistryOptions{Hidden: hidden.names})
	for _, name := range []string{"enter", "leave"} {
		require.NoError(t, r.Register(named(t, name, "Does it.", builtIn)))
	}
	hidden.hide("enter")
	extra := named(t, "extra", "Comes and goes.", builtIn)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 200 {
				switch worker {
				case 0:
					hidden.hide([]string{"enter", "leave"}[i%2])
				case 1:
					if r.Register(extra) == nil {
						r.Unregister("extra")
					}
				default:
					got := declared(r)
					if slices.Contains(got, "enter") == slices.Contains(got, "leave") {
						t.Errorf("one of the two is hidden at any time, but %q are declared", got)
					}
				}
			}
		})
	}
	running.Wait()
	hidden.hide("enter")
	require.Equal(t, []string{"leave"}, declared(r))
}

// Budget 50 µs for 10,000 tools.
func BenchmarkRegistryDeclarationsHidden(b *testing.B) {
	r := tools.NewRegistry(tools.RegistryOptions{Hidden: func() []string { return []string{"tool_7", "tool_9999"} }})
	fill(b, r)
	for b.Loop() {
		if len(r.Declarations()) != manyTools-2 {
			b.Fatal("wrong number of declarations")
		}
	}
}
