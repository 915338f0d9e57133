package standard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/standard"
)

// remoteAgent is a server that answers every call and records the credentials.
type remoteAgent struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []string // credentials
	threads []string // threads of the calls; "" for a new one
}

func newRemoteAgent(t *testing.T) *remoteAgent {
	a := &remoteAgent{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage
			Params struct{ Message struct{ ContextID string } }
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		a.mu.Lock()
		a.asked, a.threads = append(a.asked, r.Header.Get("Authorization")), append(a.threads, asked.Params.Message.ContextID)
		a.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","role":"agent","messageId":"m","contextId":"thread","parts":[{"kind":"text","text":"Here."}]}}`, asked.ID)
	}))
	t.Cleanup(a.Close)
	return a
}

// definition returns an agent that authenticates with the token in FAR_TOKEN.
func (a *remoteAgent) definition(t *testing.T) subagent.Definition {
	t.Helper()
	card := fmt.Sprintf(`{"name":"far","description":"Far away.","url":%q,"protocolVersion":"0.3.0","version":"1","capabilities":{},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[]}`, a.URL+"/rpc")
	return subagent.Definition{
		Name: "far", Description: "Far away.", Kind: subagent.KindRemote,
		Remote: &subagent.Remote{CardJSON: card, Auth: &subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Bearer", Token: "$FAR_TOKEN"}},
	}
}

func (a *remoteAgent) tokens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// calls calls the agent and returns the error message, or "".
func calls(t *testing.T, c *config.Config) string {
	t.Helper()
	r := configtest.Call(t.Context(), t, c, "far", map[string]any{"query": "Where?"})
	if r.Result.Error != nil {
		return r.Result.Error.Message
	}
	return ""
}

// Each Config made of the same Parameters authenticates with the variables of its own environment, also if the models
// are the embedder's.
func TestRemoteAgentsHaveTheirConfigsVariables(t *testing.T) {
	for name, models := range map[string]model.Source{"fettle's models": nil, "the embedder's models": model.Always(nil)} {
		t.Run(name, func(t *testing.T) {
			far := newRemoteAgent(t)
			p := standard.Parameters(config.Parameters{
				Conversation: config.Conversation{Models: models}, Policy: config.Policy{ApprovalMode: policy.ModeYolo},
				Agents: config.Agents{Definitions: []subagent.Definition{far.definition(t)}},
			})
			var configs []*config.Config
			for _, token := range []string{"first-token", "second-token"} {
				p.Environment.Getenv = func(name string) string { return map[string]string{"FAR_TOKEN": token}[name] }
				configs = append(configs, begin(t, p))
			}
			for _, c := range configs {
				require.Empty(t, calls(t, c))
			}
			require.Equal(t, []string{"Bearer first-token", "Bearer second-token"}, far.tokens())
		})
	}
}

// Variables of a project's .env file are not sent to an agent of the user.
func TestRemoteAgentsHaveNoVariablesOfAProject(t *testing.T) {
	far := newRemoteAgent(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("FAR_TOKEN=theirs-theirs\n"), 0o644))
	open := func(environ ...string) *config.Config {
		p := standard.Parameters(config.Parameters{
			TargetDir: dir, Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{Trust: trust.Trusted, ApprovalMode: policy.ModeYolo},
			Settings: &settings.Options{Environ: environ},
			Agents:   config.Agents{Definitions: []subagent.Definition{far.definition(t)}},
		})
		c, err := config.New(p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		require.NoError(t, c.Initialize(t.Context()))
		return c
	}
	require.Contains(t, calls(t, open()), "FAR_TOKEN")
	require.Empty(t, far.tokens())
	require.Empty(t, calls(t, open("FAR_TOKEN=mine-mine")))
	require.Equal(t, []string{"Bearer mine-mine"}, far.tokens())
}

// A conversation with a remote agent belongs to one conversation of one Config.
func TestRemoteAgentsKeepConversationsApart(t *testing.T) {
	far := newRemoteAgent(t)
	c := begin(t, standard.Parameters(config.Parameters{
		Conversation: config.Conversation{Models: model.Always(nil)}, Policy: config.Policy{ApprovalMode: policy.ModeYolo},
		Environment: config.Environment{Getenv: func(string) string { return "token" }},
		Agents:      config.Agents{Definitions: []subagent.Definition{far.definition(t)}},
	}))
	child, err := c.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer child.Close()
	for _, on := range []*config.Config{c, c, child} {
		require.Empty(t, calls(t, on))
	}
	require.Equal(t, []string{"", "thread", ""}, far.threads)
	far.threads = nil
	_, err = c.StartNewSession(c.SessionID(), 0)
	require.NoError(t, err)
	for _, on := range []*config.Config{c, child} {
		require.Empty(t, calls(t, on))
	}
	require.Equal(t, []string{"", "thread"}, far.threads)
	far.threads = nil
	for range 2 {
		_, err = c.Converse(config.Opening{})
		require.NoError(t, err)
		require.Empty(t, calls(t, c))
	}
	client, err := c.Client()
	require.NoError(t, err)
	require.NoError(t, client.ResetChat(t.Context()))
	require.Empty(t, calls(t, c))
	require.Equal(t, []string{"thread", "", ""}, far.threads, "what a client begins with was begun before")
}
