package standard_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/standard"
)

// begin initializes a session with the standard parts.
func begin(t *testing.T, p config.Parameters) *config.Config {
	t.Helper()
	p.TargetDir, p.Environment.HomeDir = t.TempDir(), t.TempDir()
	c, err := config.New(standard.Parameters(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Initialize(t.Context()))
	return c
}

// A session finds its provider by the environment, and names the missing variables if there is none.
func TestParametersWireModels(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}))
	defer server.Close()
	values := map[string]string{"OPENAI_API_KEY": "k-123456", "OPENAI_BASE_URL": server.URL + "/v1"}
	getenv := func(name string) string { return values[name] }

	c := begin(t, config.Parameters{Environment: config.Environment{Getenv: getenv}})
	client, err := c.Client()
	require.NoError(t, err)
	answer := ""
	for e := range client.Run(t.Context(), model.TextPart("Hi")) {
		require.Nil(t, e.Err)
		if e.Type == agent.EventText {
			answer += e.Text
		}
	}
	require.Equal(t, "Hello.", answer)
	require.Equal(t, []string{"Bearer k-123456"}, asked)

	client, err = begin(t, config.Parameters{}).Client()
	require.NoError(t, err)
	err = client.Initialize(t.Context())
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "GEMINI_API_KEY")
}

// Remote agents of the user's directory are tools; an unknown model is reported.
func TestParametersWireAgents(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".fettle", "agents")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "far.md"), []byte("---\nkind: remote\nname: far\ndescription: Far away.\nagent_card_url: http://127.0.0.1:1/card\n---\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "near.md"), []byte("---\nname: near\ndescription: Near.\nmodel: sonnet\n---\nx\n"), 0o644))
	p := standard.Parameters(config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: home}})
	c, err := config.New(p)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Initialize(t.Context()))
	r, err := c.ToolRegistry()
	require.NoError(t, err)
	for _, name := range []string{"far", "near"} {
		_, err = r.Lookup(name)
		require.NoError(t, err)
	}
	problems, err := c.Agents().Problems()
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "sonnet")
}

// Values of the embedder stay.
func TestParametersKeepWhatIsGiven(t *testing.T) {
	mine := model.Always(nil)
	p := standard.Parameters(config.Parameters{Conversation: config.Conversation{Models: mine}})
	require.Nil(t, p.Conversation.Providers)
	require.NotNil(t, p.Conversation.Models)
	require.Nil(t, p.Agents.CheckModel, "the embedder's models have the embedder's names")
}
