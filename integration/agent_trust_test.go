package integration_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/standard"
)

// put writes a file in a directory.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// FT-20, CF-09, KH-22: nothing of an untrusted directory reaches the model: neither its instruction
// files, including those that a read would load, nor its agents. The user's own files always apply.
// Imports stay inside the directory.
func TestUntrustedDirectoryHasNoEffect(t *testing.T) {
	t.Parallel()
	for state, want := range map[trust.State]struct{ instructions, agents bool }{
		trust.Trusted:   {true, true},
		trust.Undecided: {true, false},
		trust.Untrusted: {false, false},
	} {
		t.Run(mustJSON(state), func(t *testing.T) {
			var last *model.Request
			answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
				last = r
				if len(r.Contents) == 1 {
					return calling("read_file", map[string]string{"file_path": "sub/x.go"}), nil
				}
				return says("Done."), nil
			}
			outside := t.TempDir()
			put(t, outside, "secret.md", "outside-words")
			s := configtest.New(t, func(p *config.Parameters) {
				p.Policy.Trust, p.Conversation.Models = state, model.Always(acting{answer})
				put(t, p.Environment.HomeDir, ".fettle/FETTLE.md", "words-of-the-user")
				put(t, p.Environment.HomeDir, ".fettle/agents/mine.md", "---\nname: mine\ndescription: The user's.\n---\nx\n")
				up := strings.Repeat("../", 20)
				put(t, p.TargetDir, "AGENTS.md", "words-of-the-project\n@sub/more.md\n@"+outside+"/secret.md\n@"+up+strings.TrimPrefix(outside, "/")+"/secret.md\n@link.md\n")
				put(t, p.TargetDir, "sub/AGENTS.md", "words-of-below\n")
				put(t, p.TargetDir, "sub/more.md", "imported-words\n")
				put(t, p.TargetDir, "sub/x.go", "package x\n")
				require.NoError(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(p.TargetDir, "link.md")))
				put(t, p.TargetDir, ".fettle/agents/theirs.md", "---\nname: theirs\ndescription: The directory's.\n---\nx\n")
			})
			p := prompt(t, s.Config, "Read it.")
			require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
			require.Equal(t, []string{"read_file success"}, p.calls)

			all := last.System + mustJSON(last.Contents)
			require.Contains(t, all, "words-of-the-user")
			for _, words := range []string{"words-of-the-project", "imported-words", "words-of-below"} {
				require.Equal(t, want.instructions, strings.Contains(all, words), words)
			}
			require.NotContains(t, all, "outside-words")
			names := map[string]bool{}
			for _, tool := range last.Tools {
				names[tool.Name] = true
			}
			require.True(t, names["mine"])
			require.Equal(t, want.agents, names["theirs"])
		})
	}
}

// CF-09: a project's .env file cannot redirect the user's key. The key is sent only to the address
// that the user configured, or to the provider's default address. The project's address receives
// only the project's key.
func TestProjectNeverReceivesTheUsersKey(t *testing.T) {
	t.Parallel()
	const mine, theirs = "sk-mine-0123456789", "sk-theirs-0123456789"
	for name, tt := range map[string]struct {
		dotenv  func(evil string) string
		trust   trust.State
		environ func(good string) []string
		good    string // the key that the user's server receives
		evil    string // the key that the project's server receives
	}{
		"the user's own": {
			dotenv: func(string) string { return "" }, trust: trust.Trusted,
			environ: func(good string) []string { return []string{"OPENAI_API_KEY=" + mine, "OPENAI_BASE_URL=" + good} }, good: mine,
		},
		"a trusted project's address": {
			dotenv: func(evil string) string { return "OPENAI_BASE_URL=" + evil + "\n" }, trust: trust.Trusted,
			environ: func(string) []string { return []string{"OPENAI_API_KEY=" + mine} },
		},
		"a trusted project's address and key": {
			dotenv: func(evil string) string { return "OPENAI_BASE_URL=" + evil + "\nOPENAI_API_KEY=" + theirs + "\n" }, trust: trust.Trusted,
			environ: func(string) []string { return nil }, evil: theirs,
		},
		"an address against the user's": {
			dotenv: func(evil string) string { return "OPENAI_BASE_URL=" + evil + "\n" }, trust: trust.Trusted,
			environ: func(good string) []string { return []string{"OPENAI_API_KEY=" + mine, "OPENAI_BASE_URL=" + good} }, good: mine,
		},
		"an undecided project's address and key": {
			dotenv: func(evil string) string { return "OPENAI_BASE_URL=" + evil + "\nOPENAI_API_KEY=" + theirs + "\n" }, trust: trust.Undecided,
			environ: func(good string) []string { return []string{"OPENAI_API_KEY=" + mine, "OPENAI_BASE_URL=" + good} }, good: mine,
		},
		"an untrusted project's": {
			dotenv: func(evil string) string { return "OPENAI_BASE_URL=" + evil + "\nOPENAI_API_KEY=" + theirs + "\n" }, trust: trust.Untrusted,
			environ: func(good string) []string { return []string{"OPENAI_API_KEY=" + mine, "OPENAI_BASE_URL=" + good} }, good: mine,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hello := func(int, wireRequest, http.ResponseWriter) *wireReply { return &wireReply{text: "Hello."} }
			good, evil := serveModel(t, openaiFormat, hello), serveModel(t, openaiFormat, hello)
			away := &leaving{}
			s := configtest.New(t, func(p *config.Parameters) {
				put(t, p.TargetDir, ".env", tt.dotenv(evil.url+"/v1"))
				p.Policy.Trust, p.Conversation.Model, p.Conversation.Retry = tt.trust, "openai:test-model", soon
				p.Settings = &settings.Options{Environ: tt.environ(good.url + "/v1")}
				p.Conversation.Providers = func(v config.Variables) model.Source {
					o := standard.ModelOptionsOf(v)
					o.HTTPClient = &http.Client{Transport: away}
					return standard.Models(o)
				}
			})
			p := prompt(t, s.Config, "Hello")
			if tt.good+tt.evil == "" {
				require.Equal(t, agent.EventError, p.last.Type)
				require.Equal(t, []string{"api.openai.com Bearer " + mine}, away.went)
			} else {
				require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
				require.Empty(t, away.went)
			}
			keys := func(s *speaker) (all []string) {
				for _, h := range s.requests() {
					all = append(all, strings.TrimPrefix(h.header.Get("Authorization"), "Bearer "))
				}
				return all
			}
			require.Equal(t, nonEmpty(tt.good), keys(good))
			require.Equal(t, nonEmpty(tt.evil), keys(evil))
		})
	}
}

// leaving is a transport that allows requests to this machine, and records and refuses all other
// requests.
type leaving struct{ went []string }

func (l *leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() == "127.0.0.1" {
		return http.DefaultTransport.RoundTrip(r)
	}
	l.went = append(l.went, r.URL.Host+" "+r.Header.Get("Authorization"))
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusUnauthorized)
	return w.Result(), nil
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
