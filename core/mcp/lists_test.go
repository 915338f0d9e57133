package mcp_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
)

// list_changed: notifications that arrive while a list is fetched cause one more
// fetch, not one each; an unchanged list causes no notification.
func TestListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		told := new(changes)
		m := one(t, s, func(o *mcp.Options) { o.Changed = told.told })
		require.Equal(t, 1, s.count(&s.listed))
		before := told.number("s")
		kept := lookUp(t, m, "s", "a")

		s.Changed(mcp.Change{Tools: true}) // without an effect
		time.Sleep(second)
		require.Equal(t, 2, s.count(&s.listed))
		require.Equal(t, before, told.number("s"))
		require.Same(t, kept, lookUp(t, m, "s", "a"))

		s.with(func(s *fake) {
			s.tools = append(s.tools, tool("b"))
			s.onList = func(context.Context) error { time.Sleep(second); return nil }
		})
		for range 1000 {
			s.Changed(mcp.Change{Tools: true})
		}
		time.Sleep(second / 2)
		for range 1000 { // while the list is fetched
			s.Changed(mcp.Change{Tools: true})
		}
		time.Sleep(time.Minute)
		require.Equal(t, 4, s.count(&s.listed))
		require.Equal(t, before+1, told.number("s"))
		require.Equal(t, []string{"a", "b"}, status(t, m, "s").Tools)

		s.with(func(s *fake) {
			s.onList = nil
			s.prompts = []mcp.Prompt{{Name: "p"}}
			s.resources = []mcp.Resource{{URI: "x:1", Name: "one"}}
		})
		s.Changed(mcp.Change{Prompts: true})
		s.Changed(mcp.Change{Resources: true})
		time.Sleep(second)
		require.Equal(t, 4, s.count(&s.listed))
		require.Equal(t, []string{"p"}, status(t, m, "s").Prompts)
		require.Equal(t, 1, status(t, m, "s").Resources)

		// A list that cannot be fetched keeps its old content.
		s.with(func(s *fake) { s.onList = func(context.Context) error { return errBroken } })
		s.Changed(mcp.Change{Tools: true})
		time.Sleep(second)
		require.Len(t, m.Tools("s"), 2)
	})
}

// A list that cannot be fetched is retried without end, and does not block
// anything else.
func TestListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		m := one(t, s)
		s.with(func(s *fake) {
			s.tools = append(s.tools, tool("b"))
			s.prompts = []mcp.Prompt{{Name: "p"}}
			s.onList = func(context.Context) error { return errBroken }
		})
		listed := s.count(&s.listed)
		s.Changed(mcp.Change{Tools: true})
		s.Changed(mcp.Change{Prompts: true})
		synctest.Wait()
		require.Equal(t, []string{"p"}, status(t, m, "s").Prompts)
		time.Sleep(time.Hour)
		require.InDelta(t, 70, s.count(&s.listed)-listed, 15, "and not all the time")
		require.Equal(t, []string{"a"}, status(t, m, "s").Tools)
		s.with(func(s *fake) { s.onList = nil })
		for range 1000 { // which do not postpone it
			s.Changed(mcp.Change{Prompts: true})
			time.Sleep(second / 10)
		}
		require.Equal(t, []string{"a", "b"}, status(t, m, "s").Tools)
		listed = s.count(&s.listed)
		time.Sleep(time.Hour)
		require.Equal(t, listed, s.count(&s.listed))
	})
	synctest.Test(t, func(t *testing.T) { // on connecting
		s := newFake(tool("a"))
		s.prompts = []mcp.Prompt{{Name: "p"}}
		s.panics = "Prompts"
		m := one(t, s)
		require.Equal(t, mcp.StateConnected, status(t, m, "s").State)
		require.Empty(t, status(t, m, "s").Prompts)
		s.with(func(s *fake) { s.panics = "" })
		time.Sleep(2 * second)
		require.Equal(t, []string{"p"}, status(t, m, "s").Prompts)
	})
}

// A server that reports changes continuously is not listed continuously.
func TestChangesWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		_ = one(t, s)
		for range 1000 {
			s.Changed(mcp.Change{Tools: true})
			time.Sleep(10 * time.Millisecond)
		}
		require.InDelta(t, 50, s.count(&s.listed), 5)
	})
}

// Changed is called sequentially, sees the reported state, and may panic.
func TestChanged(t *testing.T) {
	var running atomic.Int32
	var m *mcp.Manager
	var mu sync.Mutex
	seen := map[string]int{}
	d := dialer{}
	o := mcp.Options{Dialer: d, Changed: func(server string) {
		if running.Add(1) != 1 {
			panic("two at once")
		}
		defer running.Add(-1)
		n := len(m.Tools(server))
		mu.Lock()
		seen[server] = n
		mu.Unlock()
		if n > 0 {
			panic("in Changed")
		}
	}}
	for i := range 20 {
		name := fmt.Sprint("s", i)
		d[name] = newFake(tool("a"), tool("b")).dial
		o.Servers = append(o.Servers, stdio(name))
	}
	m = mcp.NewManager(o)
	m.Start(t.Context())
	require.True(t, m.Settled(t.Context()))
	mu.Lock()
	require.Len(t, seen, 20)
	for name, n := range seen {
		require.Equal(t, 2, n, name)
	}
	mu.Unlock()
	require.NoError(t, m.Close())
}
