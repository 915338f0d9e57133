package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// EX-15: every key of a server's settings reaches the dialer.
func TestServersOfSettings(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"all": {}, "web": {}, "old": {}, "mcp": {}}}
	c := s.with(t, `{"mcp": {"serverCommand": "serve --port '8 0'"}, "mcpServers": {
		"all": {"command": "run", "args": ["-v"], "env": {"Api_Key": "k"}, "cwd": "sub", "timeout": 1500, "trust": true, "description": "All.",
			"includeTools": ["a"], "excludeTools": ["b"]},
		"web": {"url": "https://example.org/mcp", "type": "sse", "headers": {"X-Key": "v"}, "oauth": {"enabled": true, "clientId": "me", "scopes": ["s"]}},
		"old": {"httpUrl": "https://example.org/old", "url": "https://example.org/not"}}}`)
	all := s.spec("all")
	require.Equal(t, mcp.ServerSpec{
		Name: "all", Description: "All.", Command: "run", Args: []string{"-v"}, Env: map[string]string{"Api_Key": "k"}, Dir: c.Path("sub"),
		Timeout: 1500 * time.Millisecond, ConnectTimeout: 1500 * time.Millisecond, Trusted: true, IncludeTools: []string{"a"}, ExcludeTools: []string{"b"}, Source: all.Source,
	}, all)
	require.True(t, strings.HasSuffix(all.Source, "settings.json"), all.Source)
	web := s.spec("web")
	require.Equal(t, mcp.TransportSSE, web.Transport)
	require.Equal(t, map[string]string{"X-Key": "v"}, web.Headers)
	require.Equal(t, &mcp.OAuthSpec{Enabled: true, ClientID: "me", Scopes: []string{"s"}}, web.OAuth)
	require.Equal(t, c.Dir, web.Dir)
	old := s.spec("old")
	require.Equal(t, "https://example.org/old", old.URL)
	require.Equal(t, mcp.TransportHTTP, old.Transport)
	command := s.spec("mcp")
	require.Equal(t, []string{"--port", "8 0"}, command.Args)
	require.Equal(t, "serve", command.Command)
	require.Equal(t, c.Dir, s.env.Dir)
	require.Equal(t, "auth-cache.json", filepath.Base(s.env.TokenFile))
}

// CR-25: project settings, user settings, mcp-settings.json; the more specific
// one replaces the others as a whole.
func TestServersOrder(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"one": {}, "two": {}, "three": {}}}
	s.with(t, `{"mcpServers": {"one": {"command": "user"}, "two": {"command": "user"}}}`, func(p *config.Parameters) {
		p.Policy.Trust = trust.Trusted
		settingsIn(t, p.TargetDir, `{"mcpServers": {"one": {"command": "project"}}}`)
		require.NoError(t, os.WriteFile(filepath.Join(p.Environment.HomeDir, ".fettle", "mcp-settings.json"),
			[]byte(`{"mcpServers": {"two": {"command": "file"}, "three": {"command": "file"}}}`), 0o644))
	})
	require.Equal(t, "project", s.spec("one").Command)
	require.Equal(t, "user", s.spec("two").Command)
	require.Equal(t, "file", s.spec("three").Command)
}

// EX-16, AR-07, AR-08: tools of servers are registered after the others, require
// approval with a question of type mcp, and run.
func TestServerTools(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{
		"b": {tools: []mcp.Tool{fakeTool("z", nil), fakeTool("look", map[string]any{"readOnlyHint": true})}},
		"a": {tools: []mcp.Tool{fakeTool("read_file", nil)}},
	}}
	c := s.with(t, `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	all := names(t, c.Config)
	require.Contains(t, all, "read_file", "the built-in keeps its name")
	require.Equal(t, []string{"mcp_a_read_file", "mcp_b_z", "mcp_b_look"}, all[len(all)-3:])
	resp := c.Call("mcp_b_z", map[string]any{"n": 9007199254740993})
	require.Equal(t, scheduler.StatusSuccess, resp.Status, resp.Result.LLMContent.String())
	require.Contains(t, resp.Result.LLMContent.String(), `called z {"n":9007199254740993}`)
	require.Contains(t, resp.Result.LLMContent.String(), "<untrusted_context>")
	require.Len(t, c.Confirmations(), 1)
	q := c.Confirmations()[0]
	require.Equal(t, "b", q.ServerName)
	require.Equal(t, confirmation.MCP, q.Details.Type)
	require.Equal(t, "b", q.Details.ServerName)

	c.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ProceedAlwaysServer }
	require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_b_z", nil).Status)
	require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_b_look", nil).Status)
	require.Len(t, c.Confirmations(), 2, "the whole server is trusted now")

	child, err := c.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer child.Close()
	require.Contains(t, names(t, child), "mcp_b_z", "derived Configs have them too")
	require.Equal(t, 1, s.by["b"].open, "over the same connection")
}

// A server that the user trusts runs without approval, except in plan mode
// (EX-16).
func TestTrustedServer(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"b": {tools: []mcp.Tool{fakeTool("z", nil)}}}}
	c := s.with(t, `{"mcpServers": {"b": {"command": "b", "trust": true}}}`)
	require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_b_z", nil).Status)
	require.Empty(t, c.Confirmations())
	require.NoError(t, c.SetApprovalMode(policy.ModePlan))
	require.NotContains(t, c.Call("mcp_b_z", nil).Result.LLMContent.String(), "called", "a preview at the most")
}

// A written rule takes precedence over trust, and a project's trust does not
// override a rule of the user, however weak (KH-22).
func TestTrustAndRules(t *testing.T) {
	for name, tt := range map[string]struct {
		user, project string
	}{
		"the person's":  {`{"mcpServers": {"b": {"command": "b", "trust": true}}}`, `{}`},
		"the project's": {`{}`, `{"mcpServers": {"b": {"command": "b", "trust": true}}}`},
	} {
		for rule, want := range map[string]scheduler.Status{"": scheduler.StatusSuccess, "deny": scheduler.StatusDenied} {
			t.Run(name+" "+rule, func(t *testing.T) {
				s := &servers{by: map[string]*fakeServer{"b": {tools: []mcp.Tool{fakeTool("z", nil)}}}}
				c := s.with(t, tt.user, func(p *config.Parameters) {
					p.Policy.Trust = trust.Trusted
					settingsIn(t, p.TargetDir, tt.project)
					if rule != "" {
						require.NoError(t, os.WriteFile(filepath.Join(p.Environment.HomeDir, ".fettle", "policies.toml"),
							[]byte("[[rule]]\nmcpName = \"b\"\ntoolName = \"z\"\ndecision = \""+rule+"\"\npriority = 0\n"), 0o644))
					}
				})
				require.Equal(t, want, c.Call("mcp_b_z", nil).Status)
				require.Empty(t, c.Confirmations())
			})
		}
	}
}

// EX-17, KH-22: a project's own files about servers count only in a trusted
// directory: otherwise none of their programs is started, and they cannot mark a
// server of the user as trusted.
func TestServersOfProject(t *testing.T) {
	for state, there := range map[trust.State]bool{trust.Trusted: true, trust.Undecided: false, trust.Untrusted: false} {
		s := &servers{by: map[string]*fakeServer{
			"own": {tools: []mcp.Tool{fakeTool("z", nil)}}, "theirs": {tools: []mcp.Tool{fakeTool("y", nil)}},
		}}
		c := s.with(t, `{"mcpServers": {"own": {"command": "own"}}}`, func(p *config.Parameters) {
			p.Policy.Trust = state
			settingsIn(t, p.TargetDir, `{"mcpServers": {"own": {"command": "evil", "trust": true}, "theirs": {"command": "theirs", "trust": true}}}`)
		})
		require.Equal(t, there, slices.Contains(names(t, c.Config), "mcp_theirs_y"), state)
		require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_own_z", nil).Status)
		if there {
			require.Equal(t, "evil", s.spec("own").Command)
			require.Empty(t, c.Confirmations())
			continue
		}
		require.Equal(t, "own", s.spec("own").Command)
		require.Len(t, c.Confirmations(), 1, "the prompt still appears")
		require.Empty(t, s.spec("theirs").Name)
	}
}

// Servers that may not be used are listed with the reason, and not dialed.
func TestBlockedServers(t *testing.T) {
	for name, tt := range map[string]struct {
		settings string
		dialed   []string
		because  string
	}{
		"excluded":                  {`"mcp": {"excluded": ["B"]}`, []string{"a"}, "mcp.excluded"},
		"not allowed":               {`"mcp": {"allowed": ["A"]}`, []string{"a"}, "mcp.allowed"},
		"none":                      {`"mcp": {"allowed": []}`, nil, "mcp.allowed"},
		"all":                       {`"mcp": {"excluded": ["*"]}`, nil, "mcp.excluded"},
		"all allowed, one excluded": {`"mcp": {"allowed": ["*"], "excluded": ["B"]}`, []string{"a"}, "mcp.excluded"},
		"both":                      {`"mcp": {"allowed": ["a","b"], "excluded": ["b"]}`, []string{"a"}, "mcp.excluded"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &servers{by: map[string]*fakeServer{"a": {tools: []mcp.Tool{fakeTool("z", nil)}}, "b": {tools: []mcp.Tool{fakeTool("z", nil)}}}}
			c := s.with(t, `{`+tt.settings+`, "mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
			var dialed []string
			for _, one := range []string{"a", "b"} {
				if s.spec(one).Name != "" {
					dialed = append(dialed, one)
				}
			}
			require.Equal(t, tt.dialed, dialed)
			m, err := c.MCP().Manager()
			require.NoError(t, err)
			status := m.Status()
			require.Len(t, status, 2)
			require.Equal(t, mcp.StateBlocked, status[1].State)
			require.ErrorContains(t, status[1].Error, tt.because)
		})
	}
	s := &servers{}
	c := s.with(t, `{"mcp": {"enabled": false}, "mcpServers": {"a": {"command": "a"}}}`)
	m, err := c.MCP().Manager()
	require.NoError(t, err)
	require.Nil(t, m, "there is no manager without servers")
}

// EX-17: a server's name denotes no other server. One with an asterisk, or with
// invisible characters, is not used, and an allowance for it applies to nothing
// else.
func TestServerNames(t *testing.T) {
	for _, name := range []string{"*", "b*", " b", "b\u0000", "b\nc", ""} {
		key, err := json.Marshal(name)
		require.NoError(t, err)
		s := &servers{by: map[string]*fakeServer{"b": {tools: []mcp.Tool{fakeTool("z", nil)}}, name: {tools: []mcp.Tool{fakeTool("y", nil)}}, "own": {}}}
		c := s.with(t, `{"mcpServers": {"b": {"command": "b"}, `+string(key)+`: {"command": "c", "trust": true}}}`, func(p *config.Parameters) {
			p.MCP.Servers = []mcp.ServerSpec{{Name: name + "*", Command: "d", Trusted: true}, {Name: "own", Command: "e"}}
		})
		require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_b_z", nil).Status)
		require.Len(t, c.Confirmations(), 1, "%q: nobody is trusted that is not meant", name)
		m, err := c.MCP().Manager()
		require.NoError(t, err)
		for _, status := range m.Status() {
			if status.Name != "b" && status.Name != "own" {
				require.NotEqual(t, mcp.StateConnected, status.State, "%q", status.Name)
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(status.Error), "%q", status.Name)
				require.Empty(t, s.spec(status.Name).Name)
			}
		}
	}
}

// An excluded server is denied in any case of letters, even if its tools do not
// come from the session; and an invalid server name in the list prevents the
// session, because the entry protects.
func TestExcludedServers(t *testing.T) {
	for excluded, denied := range map[string]bool{"B": true, "b": true, "*": true, "c": false} {
		s := &servers{}
		c := s.with(t, `{"mcp": {"excluded": ["`+excluded+`"]}}`)
		d, err := c.Policy().Decide(policy.Call{Tool: "mcp_b_z", Server: "b", ServerTool: "z", Kind: "other"})
		require.NoError(t, err)
		require.Equal(t, denied, d.Decision == policy.Deny, excluded)
		require.Equal(t, denied, d.Rule != "" && strings.Contains(d.Rule, "excluded"), d.Rule)
	}
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir(), Layout: layout.Fettle()}}
	withUser(t, `{"mcp": {"excluded": ["b*"]}}`)(&p)
	c, err := config.New(p)
	require.NoError(t, err)
	err = c.Initialize(t.Context())
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, "b*")
	require.ErrorContains(t, err, "mcp.excluded")
}

// An allowance by a composed name belongs to one of the session's servers.
func TestAllowedServerTool(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"a": {tools: []mcp.Tool{fakeTool("b_delete", nil)}}, "a_b": {tools: []mcp.Tool{fakeTool("add", nil)}}}}
	c := s.with(t, `{"tools": {"allowed": ["mcp_a_b_*"]}, "mcpServers": {"a": {"command": "a"}, "a_b": {"command": "b"}}}`)
	require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_a_b_add", nil).Status)
	require.Empty(t, c.Confirmations())
	require.Equal(t, scheduler.StatusSuccess, c.Call("mcp_a_b_delete", nil).Status)
	require.Len(t, c.Confirmations(), 1, "it is the tool of another server")

	for _, call := range []policy.Call{{Tool: "mcp_a_b_add", Server: "a_b", ServerTool: "add"}, {Tool: "mcp_a_b_delete", Server: "a", ServerTool: "b_delete"}} {
		d, err := c.Policy().Decide(call)
		require.NoError(t, err)
		require.Equal(t, call.Server == "a", d.Unnamed, "the policy knows the servers")
	}
}

// EX-16, EX-18: servers that hang, or are invalid, delay nothing; each is
// reported by name.
func TestBadServers(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"hangs": {hangs: true}, "good": {tools: []mcp.Tool{fakeTool("z", nil)}}}}
	c := s.with(t, `{"mcpServers": {"hangs": {"command": "h"}, "gone": {"command": "g"}, "socket": {"tcp": "ws://example.org"}, "empty": {},
		"good": {"command": "g"}, "google": {"url": "https://example.org", "authProviderType": "google_credentials"}}}`)
	named(t, c.Config, "mcp_good_z", true)
	m, err := c.MCP().Manager()
	require.NoError(t, err)
	states := map[string]mcp.Status{}
	require.Eventually(t, func() bool { // servers are connected in any order
		for _, status := range m.Status() {
			states[status.Name] = status
		}
		return states["hangs"].State == mcp.StateConnecting
	}, time.Minute, time.Millisecond)
	require.Equal(t, mcp.StateConnected, states["good"].State)
	require.Equal(t, mcp.StateUnsupported, states["socket"].State)
	require.ErrorContains(t, states["empty"].Error, "neither command nor url")
	require.ErrorContains(t, states["google"].Error, "google_credentials")
}

// Tools are added and removed while a session runs; tools.exclude applies to
// those too.
func TestServerToolsChange(t *testing.T) {
	server := &fakeServer{tools: []mcp.Tool{fakeTool("z", nil)}}
	s := &servers{by: map[string]*fakeServer{"b": server}}
	c := s.with(t, `{"tools": {"exclude": ["mcp_b_secret"]}, "mcpServers": {"b": {"command": "b"}}}`)
	server.offer(fakeTool("y", nil), fakeTool("secret", nil))
	named(t, c.Config, "mcp_b_y", true)
	require.NotContains(t, names(t, c.Config), "mcp_b_z")
	require.NotContains(t, names(t, c.Config), "mcp_b_secret")
}

// KH-27: a server's tool changes a file without the session: that is reported,
// and the next patch is refused with the new state.
func TestServerChangesFile(t *testing.T) {
	server := &fakeServer{tools: []mcp.Tool{fakeTool("write", nil)}}
	s := &servers{by: map[string]*fakeServer{"b": server}}
	c := s.with(t, `{"mcpServers": {"b": {"command": "b", "trust": true}}}`)
	path := c.Write("f.txt", "one\n")
	server.call = func(context.Context, toolCall) (mcp.CallResult, error) {
		c.Write("f.txt", "another\n")
		return mcp.CallResult{Content: []tools.Part{{Text: "done"}}}, nil
	}
	var state struct {
		SHA256 string `json:"sha256"`
	}
	read := c.Call("read_file", map[string]any{"file_path": path})
	require.NoError(t, json.Unmarshal([]byte(read.Result.LLMContent.String()), &state))
	resp := c.Call("mcp_b_write", nil)
	require.Contains(t, resp.Result.LLMContent.String(), "Changed Files")
	require.Contains(t, resp.Result.LLMContent.String(), path)
	patched := c.Call("safe_patch", map[string]any{"file_path": path, "base_content_sha256": state.SHA256, "unified_diff": "@@ -1 +1 @@\n-one\n+two\n"})
	require.Equal(t, scheduler.StatusError, patched.Status)
	require.Contains(t, patched.Result.LLMContent.String(), `another`)
	require.Equal(t, "another\n", c.Read("f.txt"))
}

// @server:uri in a prompt is a resource.
func TestMentionedResource(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"shelf": {}}}
	c := s.with(t, `{"mcpServers": {"shelf": {"command": "b"}}}`)
	expanded, err := c.Expand(t.Context(), "Tell me @shelf:shelf://book again")
	require.NoError(t, err)
	require.Empty(t, expanded.Notices)
	var text strings.Builder
	for _, p := range expanded.Content.Parts {
		text.WriteString(p.Text)
	}
	require.Contains(t, text.String(), "a tale")
}

// The tools for resources are registered if there are servers, and declared to
// the model if one has resources.
func TestResourceTools(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"shelf": {}}}
	c := s.with(t, `{"mcpServers": {"shelf": {"command": "b"}}}`)
	require.Contains(t, c.Call("list_mcp_resources", nil).Result.LLMContent.String(), "shelf:shelf://book")
	require.Contains(t, c.Call("read_mcp_resource", map[string]any{"uri": "shelf:shelf://book"}).Result.LLMContent.String(), "a tale")
	require.Empty(t, c.Confirmations())
	declared := func(c *config.Config) bool {
		r, err := c.ToolRegistry()
		require.NoError(t, err)
		return slices.ContainsFunc(r.Declarations(), func(d tools.FunctionDeclaration) bool { return d.Name == mcp.ListResources })
	}
	require.True(t, declared(c.Config))
	gone := &servers{by: map[string]*fakeServer{}}
	without := gone.with(t, `{"mcpServers": {"shelf": {"command": "b"}}}`)
	require.False(t, declared(without.Config))
	require.Contains(t, names(t, without.Config), mcp.ListResources)
	require.NotContains(t, names(t, configtest.New(t).Config), mcp.ListResources)
}

// A prompt of a server is a command.
func TestServerPrompt(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"a": {info: mcp.Info{Version: "A"}}, "b": {info: mcp.Info{Version: "B"}}}}
	c := s.with(t, `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	for text, want := range map[string]string{
		"/book-review Emma":                     "A book review of Emma\nYour previous messages:\nI have read it.",
		" /b.book-review --title=\"two words\"": "B book review of two words\nYour previous messages:\nI have read it.",
	} {
		content, ok, err := c.MCP().Prompt(t.Context(), text)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, content.String())
	}
	for _, text := range []string{"/review Emma", "book-review Emma", "/", "/ book-review", "", "c.book-review"} {
		_, ok, err := c.MCP().Prompt(t.Context(), text)
		require.NoError(t, err)
		require.False(t, ok, text)
	}
	_, ok, err := c.MCP().Prompt(t.Context(), "/book-review")
	require.True(t, ok)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.ErrorContains(t, err, "title")
	_, ok, err = c.MCP().Prompt(t.Context(), "/book-review none")
	require.True(t, ok)
	require.NotNil(t, fault.As(err))
}

// A server's instructions are in the system prompt.
func TestServerInstructions(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"shelf": {tools: []mcp.Tool{fakeTool("z", nil)}, info: mcp.Info{Instructions: "Books by their number."}}}}
	c := s.with(t, `{"mcpServers": {"shelf": {"command": "b"}}}`)
	prompt, err := c.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, prompt, `## The server "shelf"`)
	require.Contains(t, prompt, "Books by their number.")
}

// A server's questions reach the user over the bus.
func TestServerAsks(t *testing.T) {
	server := &fakeServer{tools: []mcp.Tool{fakeTool("z", nil)}}
	s := &servers{by: map[string]*fakeServer{"b": server}}
	c := s.with(t, `{"mcpServers": {"b": {"command": "b", "trust": true}}}`)
	bus.Subscribe(t.Context(), c.MessageBus(), func(_ context.Context, r bus.AskUserRequest) {
		_ = c.MessageBus().Publish(bus.AskUserResponse{CorrelationID: r.CorrelationID, Answers: map[string]string{"0": "Ann"}})
	})
	server.call = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
		got, err := server.handlers.Elicit(ctx, host.Elicitation{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		return mcp.CallResult{Content: []tools.Part{{Text: string(got.Action) + string(got.Content)}}}, err
	}
	require.Contains(t, c.Call("mcp_b_z", nil).Result.LLMContent.String(), `accept{"name":"Ann"}`)
}

// Close closes the connections, also of servers that are still connecting.
func TestServersClose(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"hangs": {hangs: true}, "good": {}}}
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir(), Layout: quietLayout(t)}, Settings: &settings.Options{}}
	p.MCP.Dial = s.dial
	settingsIn(t, p.Environment.HomeDir, `{"mcpServers": {"hangs": {"command": "h"}, "good": {"command": "g"}}}`)
	c, err := config.New(p)
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	m, err := c.MCP().Manager()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(m.Status(), func(status mcp.Status) bool { return status.State == mcp.StateConnected })
	}, 30*time.Second, time.Millisecond)
	require.NoError(t, c.Close())
	require.Zero(t, s.by["good"].open)
}
