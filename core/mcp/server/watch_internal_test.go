package server

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// aSession returns a session without a connected client.
func aSession(t *testing.T) *session {
	t.Helper()
	s := New(Options{Name: "s", Version: "1", Open: func(context.Context, Client) (*mcpservice.Service, error) { return nil, nil }})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s.begin(t.Context(), kind{})
}

// within fails if f does not return in time.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, what+" hangs")
	}
}

// EX-20: a Service may wait in stop for a change that it is reporting.
func TestWatchIsGivenUpWhileAChangeIsTold(t *testing.T) {
	s := aSession(t)
	stopped := 0
	svc := &mcpservice.Service{Watch: func(changed func(mcp.Change)) func() {
		return func() {
			var told sync.WaitGroup
			told.Go(func() { changed(mcp.Change{Tools: true}) })
			told.Wait()
			stopped++
		}
	}}
	within(t, "the second watch", func() {
		s.startWatch(svc)
		s.startWatch(svc) // one is enough: this watch is stopped
	})
	require.Equal(t, 1, stopped)
	within(t, "the end", func() { require.NoError(t, s.end()) })
	require.Equal(t, 2, stopped)
}

type declared tools.Spec

func (d declared) Spec() tools.Spec { return tools.Spec(d) }

func (declared) Build(json.RawMessage) (tools.ToolInvocation, error) { return nil, nil }

// EX-20: an index built before a change is not kept after it.
func TestIndexOfAnEarlierTime(t *testing.T) {
	s := aSession(t)
	var tell func(mcp.Change)
	listed := []tools.DeclarativeTool{declared{Name: "t", Description: "old"}}
	during := func() {}
	svc := &mcpservice.Service{
		Watch: func(changed func(mcp.Change)) func() { tell = changed; return func() {} },
		Tools: func() []tools.DeclarativeTool { found := listed; during(); return found },
	}
	s.startWatch(svc)
	during = func() {
		listed = []tools.DeclarativeTool{declared{Name: "t", Description: "new"}}
		tell(mcp.Change{Tools: true})
	}
	spec, _ := s.spec(svc, "t")
	require.Equal(t, "old", spec.Description, "it was listed before")
	during = func() {}
	spec, _ = s.spec(svc, "t")
	require.Equal(t, "new", spec.Description)
	during = func() { require.Fail(t, "it is kept while nothing changes") }
	spec, _ = s.spec(svc, "t")
	require.Equal(t, "new", spec.Description)
}

// EX-20: a host learns that its client's stream was ended only if it was.
func TestPartIsNotDropped(t *testing.T) {
	s := aSession(t)
	s.resumable = true
	x := &exchange{s: s, ctx: t.Context(), parts: true}
	sent := make(chan struct{})
	first := make(chan struct{}, 1)
	x.part = func(sdk.CloseSSEStreamArgs) {
		select {
		case first <- struct{}{}:
		default:
		}
		<-sent
	}
	h := newHost(&run{s: s}, x, nil)
	require.True(t, h.Disconnect(0))
	within(t, "sending", func() { <-first })
	for range maxQueued {
		require.True(t, h.Disconnect(0))
	}
	require.False(t, h.Disconnect(0), "there is no room for it")
	close(sent)
	within(t, "leaving", h.leave)
	require.False(t, h.Disconnect(0), "nobody is there")
	require.NoError(t, s.end())
	h.meet(x)
	require.False(t, h.Disconnect(0), "the session has ended")
}
