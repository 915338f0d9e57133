//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// managed returns a settled Manager of one server over the real client.
func managed(t *testing.T, spec mcp.ServerSpec) *mcp.Manager {
	t.Helper()
	m := mcp.NewManager(mcp.Options{Dialer: client.New(client.Options{Grace: time.Second}), Servers: []mcp.Configured{{ServerSpec: spec}}})
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	m.Start(t.Context())
	require.True(t, m.Settled(t.Context()))
	return m
}

// callTool calls a server's tool as a session does.
func callTool(t *testing.T, m *mcp.Manager, server, name string) tools.Result {
	t.Helper()
	for _, tool := range m.Tools(server) {
		if tool.Spec().Origin.Tool != name {
			continue
		}
		inv, err := tool.Build(json.RawMessage(`{}`))
		require.NoError(t, err)
		r, err := inv.Execute(t.Context(), nil)
		require.NoError(t, err)
		return r
	}
	require.FailNow(t, "there is no tool "+name)
	return tools.Result{}
}

// A session has no timeout of its own in addition to its caller's: the user may
// take longer than a request may.
func TestNoClock(t *testing.T) {
	for name, way := range transports(t) {
		t.Run(name, func(t *testing.T) {
			spec := way(t)
			spec.Timeout, spec.ConnectTimeout = time.Nanosecond, long
			s := dial(t, spec, mcp.Handlers{Elicit: func(context.Context, host.Elicitation) (host.Elicited, error) {
				return host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			}})
			_, err := s.Call(t.Context(), "ask", nil, nil)
			require.NoError(t, err)
		})
	}
}

// The restart of a server at a URL fails no call: a call that the server refused
// because of an unknown session is repeated once, and so is one made before the
// end of the connection is noticed.
func TestRestartCostsNothing(t *testing.T) { // the servers' own goroutines are not ended
	for _, versions := range [][]string{nil, {"2025-06-18"}} {
		t.Run(fmt.Sprint(versions), func(t *testing.T) {
			var handler atomic.Pointer[http.Handler]
			var ran atomic.Int32
			fresh := func() {
				server := sdk.NewServer(&sdk.Implementation{Name: "x", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
				server.AddTool(&sdk.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					ran.Add(1)
					return &sdk.CallToolResult{}, nil
				})
				h := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
				handler.Store(&h)
			}
			fresh()
			web := serve(t, func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) })
			m := managed(t, mcp.ServerSpec{Name: "w", URL: web.URL, Transport: mcp.TransportHTTP})
			calls, succeeded := int32(0), int32(0)
			for n := range int32(5) {
				fresh()
				for succeeded < 2*(n+1) {
					calls++
					require.Less(t, calls, int32(50))
					err := callTool(t, m, "w", "count").Error
					if err == nil {
						succeeded++
						continue
					}
					// Another request of the lost session has ended it while this
					// one was running, so its effect is unknown; that is
					// reported, and the call is not repeated.
					require.Equal(t, fault.MCPServerUnavailable, err.Code)
					require.Contains(t, err.Message, "is unknown")
				}
				require.GreaterOrEqual(t, ran.Load(), succeeded)
				require.LessOrEqual(t, ran.Load(), calls, "no call runs twice")
				if versions == nil || n == 1 {
					break
				}
			}
		})
	}
}

// The cause of a failure shows whether the server has certainly not begun the
// request.
func TestNotRun(t *testing.T) {
	var status atomic.Int32
	server := newServer(&sdk.ServerOptions{SupportedProtocolVersions: []string{"2025-06-18"}})
	handler := streamable(server, nil)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if s := status.Load(); s != 0 && r.Method == http.MethodPost {
			w.WriteHeader(int(s))
			return
		}
		handler.ServeHTTP(w, r)
	})
	for code, want := range map[int32]bool{http.StatusNotFound: true, http.StatusBadGateway: false} {
		status.Store(0)
		s := dial(t, mcp.ServerSpec{Name: "w", URL: web.URL, Transport: mcp.TransportHTTP}, mcp.Handlers{})
		status.Store(code)
		_, err := s.Call(t.Context(), "echo", nil, nil)
		require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err), "%v", err)
		require.Equal(t, want, errors.Is(err, mcp.ErrNotRun), "%d: %v", code, err)
		if want {
			<-s.Done()
			_, err = s.Call(t.Context(), "echo", nil, nil) // it is not even sent
			require.ErrorIs(t, err, mcp.ErrNotRun)
		}
	}
	s := dial(t, peerSpec(t, "script", hello+"> tools/call\n!exit 1\n"), mcp.Handlers{})
	_, err := s.Call(t.Context(), "x", nil, nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, mcp.ErrNotRun)
}

// Secrets of the arguments appear in no status.
func TestSecretArguments(t *testing.T) {
	const secret = "sk-verysecret0123456789"
	spec := peerSpec(t, "script", "!err unknown option --token="+secret+"\n!exit 2")
	spec.Args = append(spec.Args, "--token="+secret)
	m := managed(t, spec)
	st := m.Status()[0]
	require.Contains(t, st.Error.Error(), "unknown option --token=[masked]")
	require.NotContains(t, fmt.Sprint(st.Error, st.Stderr), secret)
}
