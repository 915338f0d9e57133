package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/stretchr/testify/require"
)

// plain is a service that offers only tools.
func plain(closed error) *mcpservice.Service {
	return &mcpservice.Service{
		Tools: func() []tools.DeclarativeTool { return nil },
		Call:  func(context.Context, string, json.RawMessage) tools.Result { return tools.Result{} },
		Close: func() error {
			if closed != nil && closed.Error() == "panic" {
				panic("closing")
			}
			return closed
		},
	}
}

// EX-20: a feature that a Service lacks is neither announced nor answered.
func TestNotOffered(t *testing.T) {
	s := server.New(server.Options{Name: "s", Version: "1", Open: func(context.Context, server.Client) (*mcpservice.Service, error) { return plain(nil), nil }})
	speak(t, stdio(t, s), strings.TrimSpace("> "+hello)+`
< {"id":1,"result":{"capabilities":{"tools":{"listChanged":"absent"},"logging":{},"prompts":"absent","resources":"absent","completions":"absent"}}}
> {"jsonrpc":"2.0","id":2,"method":"prompts/list"}
< {"id":2,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}
< {"id":3,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":4,"method":"resources/list"}
< {"id":4,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":5,"method":"resources/templates/list"}
< {"id":5,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"a:b"}}
< {"id":6,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"a:b"}}
< {"id":7,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":8,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}
< {"id":8,"error":{"code":-32601}}
> {"jsonrpc":"2.0","id":9,"method":"tools/list"}
< {"id":9,"result":{"tools":[],"nextCursor":"absent"}}
`)
}

// EX-20: a Service that cannot be opened or closed affects nothing else.
func TestServiceBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		open func(context.Context, server.Client) (*mcpservice.Service, error)
		err  string // of Stdio
		want string // in the answer to initialize
	}{
		"open panics": {func(context.Context, server.Client) (*mcpservice.Service, error) { panic("hunter2") }, "", "-32603"},
		"nothing":     {func(context.Context, server.Client) (*mcpservice.Service, error) { return nil, nil }, "", "-32603"},
		"no tools":    {func(context.Context, server.Client) (*mcpservice.Service, error) { return &mcpservice.Service{}, nil }, "", "-32603"},
		"close fails": {func(context.Context, server.Client) (*mcpservice.Service, error) {
			return plain(errors.New("not closed")), nil
		}, "not closed", "serverInfo"},
		"close panics": {func(context.Context, server.Client) (*mcpservice.Service, error) {
			return plain(errors.New("panic")), nil
		}, "its log has details", "serverInfo"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := server.New(server.Options{Name: "s", Version: "1", Open: tt.open, Linger: time.Minute}).Stdio(t.Context(), strings.NewReader(hello), &out)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.err)
			}
			require.Contains(t, out.String(), tt.want)
			require.NotContains(t, out.String(), "hunter2")
		})
	}
	require.Panics(t, func() { server.New(server.Options{}) })
	closed := server.New(options(newShop()))
	require.NoError(t, closed.Close())
	require.Error(t, closed.Stdio(t.Context(), strings.NewReader(hello), &bytes.Buffer{}))
}

// text is a log for concurrent writers.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// EX-20: neither tokens nor session IDs reach the log, at any level.
func TestLogHoldsNoSecret(t *testing.T) {
	var log text
	w := serveWeb(t, server.HTTPOptions{Tokens: []string{"hunter2"}}, func(o *server.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
	})
	token := "Authorization: Bearer hunter2"
	session := w.begin(token)
	for _, body := range []string{call(2, "count"), call(3, "panic"), call(4, "nothing"), "{", request(5, "resources/read", `{"uri":"shop:breaks"}`)} {
		w.do("POST", body, token, session)
	}
	w.do("POST", hello, "Authorization: Bearer hunter3")
	w.do("DELETE", "", token, session)
	log.mu.Lock()
	defer log.mu.Unlock()
	require.Contains(t, log.b.String(), "a call panicked")
	require.NotContains(t, log.b.String(), "hunter")
	require.NotContains(t, log.b.String(), strings.TrimPrefix(session, "Mcp-Session-Id: "))
}
