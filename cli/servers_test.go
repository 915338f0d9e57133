package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// EX-15: a call connects the servers that may provide its tool, and no other.
func TestConnectFor(t *testing.T) {
	home, _ := configPlace(t)
	writeFile(t, filepath.Join(home, ".fettle", "settings.json"), `{"mcpServers": {"ab": {"command": "/none/ab"}, "ab_c": {"command": "/none/c"}, "z": {"command": "/none/z"}}}`)
	for tool, want := range map[string][]string{
		"red_file": nil, "mcp_abc_x": nil, "mcp_z_x": {"z"}, "mcp_ab_c_x": {"ab", "ab_c"}, "mcp_q_x": nil, "read_file": nil,
		mcp.ReadResource: {"ab", "ab_c", "z"},
	} {
		s, err := open(t, fettleFlags())
		require.NoError(t, err)
		missing := s.ConnectFor(t.Context(), tool)
		if tool == "mcp_z_x" {
			require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(missing))
			require.ErrorContains(t, missing, "/none/z")
		}
		if want == nil {
			require.NoError(t, missing)
		}
		m, err := s.Config().MCP().Manager()
		require.NoError(t, err)
		var tried []string
		for _, status := range m.Status() {
			if status.Attempts > 0 {
				tried = append(tried, status.Name)
			}
		}
		require.Equal(t, want, tried, tool)
	}
}

// EX-15: with a user at the terminal, a server whose settings enable sign-in opens
// the sign-in page; otherwise the error names the command.
func TestSignInWhereAPersonIs(t *testing.T) {
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+web.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "WEB", web.URL))
		}
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", answer(`{"resource":"WEB/mcp","authorization_servers":["WEB"]}`))
	mux.HandleFunc("/.well-known/oauth-authorization-server", answer(`{"issuer":"WEB","authorization_endpoint":"WEB/authorize","token_endpoint":"WEB/token",
		"response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`))
	for _, tt := range []struct {
		enabled string
		user    bool
		shown   bool
	}{{"true", true, true}, {"false", true, false}, {"true", false, false}} {
		home, _ := configPlace(t)
		writeFile(t, filepath.Join(home, ".fettle", "settings.json"),
			`{"mcpServers": {"web": {"httpUrl": "`+web.URL+`/mcp", "oauth": {"enabled": `+tt.enabled+`, "clientId": "me"}}}}`)
		var page string
		var at *program.SignIn
		if tt.user {
			at = &program.SignIn{Open: func(_ context.Context, url string) error {
				page = url
				return errors.New("no page today")
			}}
		}
		s, err := program.Open(t.Context(), program.SessionOptions{Flags: fettleFlags(), Log: slog.New(slog.DiscardHandler), SignIn: at, Providers: providers.All{}})
		require.NoError(t, err)
		missing := s.ConnectServers(t.Context(), time.Minute)
		require.NoError(t, s.Close())
		require.Len(t, missing, 1)
		if tt.shown {
			require.Contains(t, page, web.URL+"/authorize?")
			continue
		}
		require.Empty(t, page)
		require.Contains(t, fault.As(missing[0]).Remedy, "fettle mcp auth web")
	}
	require.Nil(t, (&program.Program{In: strings.NewReader(""), Err: io.Discard}).SignIn(), "a pipe is not a user")
}
