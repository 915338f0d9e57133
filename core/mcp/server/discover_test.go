package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// described is the description of a server in an answer to initialize or
// server/discover.
type described struct {
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions string          `json:"instructions"`
	TTLMs        int             `json:"ttlMs"`
	CacheScope   string          `json:"cacheScope"`
	Versions     []string        `json:"supportedVersions"`
}

// describe sends a request and returns the description in its answer.
func (w *web) describe(body string, headers ...string) (d described) {
	w.t.Helper()
	res, text := w.do("POST", body, headers...)
	require.Equal(w.t, 200, res.StatusCode, text)
	for line := range strings.Lines(text) {
		var m struct{ Result *described }
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &m) == nil && m.Result != nil {
			d = *m.Result
		}
	}
	require.NotEmpty(w.t, d.Capabilities, text)
	return d
}

// EX-20: over HTTP server/discover returns the capabilities and instructions of
// initialize, with sessions and without, before a session and in one. Its answer is
// never cached for other clients.
func TestDiscoverEqualsInitialize(t *testing.T) {
	modern := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover"}
	ask := request(1, "server/discover", `{`+modernMeta+`}`)
	for _, stateless := range []bool{false, true} {
		for name, change := range map[string]func(*mcpservice.Service){
			"all":       func(*mcpservice.Service) {},
			"unwatched": func(s *mcpservice.Service) { s.Watch, s.Updates = nil, false },
			"tools only": func(s *mcpservice.Service) {
				s.Resources, s.Templates, s.Read, s.Prompts, s.Complete = nil, nil, nil, nil, nil
			},
			"instructions": func(s *mcpservice.Service) { s.Instructions = "Ask first." },
		} {
			t.Run(fmt.Sprintf("%s, stateless %v", name, stateless), func(t *testing.T) {
				if stateless && name != "unwatched" {
					t.Skip("a Service without sessions has nothing to watch")
				}
				w := serveWeb(t, server.HTTPOptions{Stateless: stateless}, func(o *server.Options) {
					open := o.Open
					o.Open = func(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
						svc, err := open(ctx, c)
						if err == nil {
							change(svc)
						}
						return svc, err
					}
				})
				at := w.describe(hello)
				first := w.describe(ask, modern...)
				require.JSONEq(t, string(at.Capabilities), string(first.Capabilities))
				require.Equal(t, at.Instructions, first.Instructions)
				require.Equal(t, "private", first.CacheScope)
				require.Equal(t, stateless, first.Versions[0] == "2026-07-28", first.Versions)
				if name == "unwatched" {
					require.Equal(t, 60_000, first.TTLMs)
				} else {
					require.Zero(t, first.TTLMs)
				}
				if !stateless {
					require.Equal(t, first, w.describe(ask, append(modern, w.begin())...))
				}
			})
		}
	}
}

// EX-20: the Service of server/discover serves the session of the same client. The one
// of a client that does not continue is closed, at the latest when its place is needed.
func TestDiscoverOpensOnce(t *testing.T) {
	modern := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover"}
	ask := request(1, "server/discover", `{`+modernMeta+`}`)
	t.Run("same client", func(t *testing.T) {
		w := serveWeb(t, server.HTTPOptions{})
		w.describe(ask, modern...)
		w.describe(ask, modern...)
		w.begin()
		require.EqualValues(t, 1, w.shop.opened.Load())
		w.begin()
		require.EqualValues(t, 2, w.shop.opened.Load(), "a second session has a Service of its own")
		require.Zero(t, w.shop.closed.Load())
	})
	t.Run("other client", func(t *testing.T) {
		w := serveWeb(t, server.HTTPOptions{Sessions: 1})
		w.describe(strings.Replace(ask, `"name":"c"`, `"name":"d"`, 1), modern...)
		w.begin()
		require.EqualValues(t, 2, w.shop.opened.Load())
		require.EqualValues(t, 1, w.shop.closed.Load())
	})
	t.Run("other token", func(t *testing.T) {
		w := serveWeb(t, server.HTTPOptions{Tokens: []string{"one-token-0123456789", "two-token-0123456789"}})
		w.describe(ask, append(modern, "Authorization: Bearer one-token-0123456789")...)
		w.begin("Authorization: Bearer two-token-0123456789")
		require.EqualValues(t, 2, w.shop.opened.Load())
	})
	t.Run("no client", func(t *testing.T) {
		w := serveWeb(t, server.HTTPOptions{IdleTime: time.Millisecond})
		w.describe(ask, modern...)
		settled(t, "closed", func() bool { return w.shop.closed.Load() == 1 })
		w.begin()
	})
}
