package cli

import (
	"bytes"
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

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// A server is started for a call only if the tool may be its own, whatever has
// become of the names.
func TestServersOfATool(t *testing.T) {
	long, longer := strings.Repeat("s", 40), strings.Repeat("s", 80)
	for _, tt := range []struct {
		tool, server string
		may          bool
	}{
		{"mcp_ab_x", "ab", true},
		{"mcp_abc_x", "ab", false},
		{"mcp_ab_c_x", "ab", true},
		{"mcp_ab_c_x", "ab_c", true},
		{"mcp_ab", "ab", false},
		{"mcp_my_server_x", "my server", true},
		{"ab_x", "ab", false},
		{tools.QualifiedName(long, "x"), long, true},
		{tools.QualifiedName(long, longer), long, true},
		{tools.QualifiedName(longer, "x"), longer, true},
		{tools.QualifiedName(longer, "x"), "s", false},
		// With more of a hash, as where names would be alike.
		{tools.QualifiedName(longer, "x")[:46] + "_" + strings.Repeat("0", 16), longer, true},
		{tools.QualifiedName(longer, "x")[:30] + "_" + strings.Repeat("0", 32), long, true},
		{strings.Repeat("x", 30) + "_" + strings.Repeat("0", 32), long, false},
	} {
		require.Equal(t, tt.may, mayBeOf(tt.tool, tt.server), "%s of %s", tt.tool, tt.server)
	}
}

// EX-15: a call connects the servers that may have its tool, and no other.
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
		m, err := s.Config().MCP()
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

// EX-15: where a person sits at the terminal, a server whose settings enable that
// opens the page to sign in at; elsewhere it says which command does.
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
		person  bool
		shown   bool
	}{{"true", true, true}, {"false", true, false}, {"true", false, false}} {
		home, _ := configPlace(t)
		writeFile(t, filepath.Join(home, ".fettle", "settings.json"),
			`{"mcpServers": {"web": {"httpUrl": "`+web.URL+`/mcp", "oauth": {"enabled": `+tt.enabled+`, "clientId": "me"}}}}`)
		var page string
		var at *signIn
		if tt.person {
			at = &signIn{open: func(_ context.Context, url string) error {
				page = url
				return errors.New("no page today")
			}}
		}
		s, err := openConfig(t.Context(), sessionOptions{flags: fettleFlags(), log: slog.New(slog.DiscardHandler), signIn: at})
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
	require.Nil(t, (&program{in: strings.NewReader(""), err: io.Discard}).signIn(), "a pipe is nobody")
}

// A name cannot break the table that it stands in, nor what is told below it.
func TestServerListIsOfLines(t *testing.T) {
	var out bytes.Buffer
	p := &program{out: &out}
	require.NoError(t, p.listServers([]serverListing{
		{Name: "a\nb\tc\x1b[2J", State: mcp.StateBlocked, Source: "x\ny", Error: fault.New(fault.InvalidConfig, "t", "It is\nwrong.", "Mend it.")},
		{Name: "slow", State: mcp.StateConnecting},
	}))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 8, out.String())
	require.True(t, strings.HasPrefix(lines[1], "a b c<U+001B>[2J  blocked"), lines[1])
	require.True(t, strings.HasSuffix(lines[1], "  x y"), lines[1])
	require.True(t, strings.HasPrefix(lines[4], "a b c<U+001B>[2J: It is wrong."), lines[4])
	require.Contains(t, lines[6], "slow: It is not connected yet")
}
