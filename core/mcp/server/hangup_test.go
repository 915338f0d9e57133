package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// EX-20: without a session to resume, a client that disconnects during a call
// cancels it.
func TestHangUp(t *testing.T) {
	for name, tt := range map[string]struct {
		body    string
		headers []string
	}{
		"2026-07-28": {modernCall(1, "block", ""), modernHeaders("block")},
		"2025-11-25": {call(1, "block"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := serveWeb(t, server.HTTPOptions{Stateless: true})
			ctx, hangUp := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if res, err := w.send(ctx, "POST", tt.body, tt.headers...); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}()
			w.shop.begun(t)
			hangUp()
			<-done
			settled(t, "cancelled", func() bool { return w.shop.cancelled.Load() == 1 && w.shop.closed.Load() == 1 })
		})
	}
}

// EX-20: a client that does not read does not block Close of the server.
func TestSlowReader(t *testing.T) {
	for name, o := range map[string]server.HTTPOptions{"session": {}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			w := serveWeb(t, o)
			body, headers := modernCall(1, "large", ""), strings.Join(modernHeaders("large"), "\r\n")
			if !o.Stateless {
				body, headers = call(2, "large"), w.begin()
			}
			c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), server.Path))
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s\r\nContent-Length: %d\r\n\r\n%s", headers, len(body), body)
			require.NoError(t, err)
			line, err := bufio.NewReaderSize(c, 16).ReadString('\n') // and no more
			require.NoError(t, err)
			require.Contains(t, line, "200")
			require.NoError(t, w.s.Close())
			require.Equal(t, w.shop.opened.Load(), w.shop.closed.Load())
		})
	}
}

// EX-20, SEP-1699: a tool can end its client's stream; the client reconnects for
// the result.
func TestDisconnect(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{})
	c := clientOf(t, &sdk.StreamableClientTransport{Endpoint: w.url}, "2025-11-25", sdk.ClientOptions{})
	require.Equal(t, "true", c.text(t, "part", nil))
	for name, o := range map[string]server.HTTPOptions{"no replay": {ReplayBytes: -1}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			w := serveWeb(t, o)
			c := clientOf(t, &sdk.StreamableClientTransport{Endpoint: w.url}, "", sdk.ClientOptions{})
			require.Equal(t, "false", c.text(t, "part", nil))
		})
	}
}

// EX-20: a client whose connection breaks during a call receives the answer on
// the next one.
func TestResumed(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{})
	session := w.begin()
	ctx, drop := context.WithCancel(t.Context())
	res, err := w.send(ctx, "POST", call(2, "block"), session)
	require.NoError(t, err)
	events := bufio.NewReader(res.Body)
	line, err := events.ReadString('\n')
	for err == nil && !strings.HasPrefix(line, "id: ") {
		line, err = events.ReadString('\n')
	}
	require.NoError(t, err)
	w.shop.begun(t)
	drop()
	_ = res.Body.Close()
	r, _ := w.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, session)
	require.Equal(t, 202, r.StatusCode)
	var body string
	settled(t, "resumed", func() bool { // the server may not have noticed yet that the connection is gone
		r, body = w.do("GET", "", session, "Last-Event-ID: "+strings.TrimSpace(strings.TrimPrefix(line, "id: ")))
		return r.StatusCode == 200
	})
	require.Contains(t, body, `"cancelled"`)
}
