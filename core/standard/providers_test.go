package standard_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/standard"
)

// sentTo is a transport that answers as the chat completions API does, and records where requests go.
type sentTo struct{ url, authorization string }

func (s *sentTo) RoundTrip(r *http.Request) (*http.Response, error) {
	s.url, s.authorization = r.URL.String(), r.Header.Get("Authorization")
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"data":[{"id":"one"},{"id":"vendor/two:8b"}]}`)
	return w.Result(), nil
}

func ask(name string) *model.Request {
	return &model.Request{Model: name, Contents: []model.Content{model.UserText("hi")}}
}

// UI-07: each service is reached at its own address with its own key, or at the address of its variable.
func TestServices(t *testing.T) {
	for name, tt := range map[string]struct {
		variables []string
		url       string
		key       string
	}{
		"openrouter:openai/gpt-5":    {[]string{"OPENROUTER_API_KEY", "k"}, "https://openrouter.ai/api/v1/chat/completions", "Bearer k"},
		"groq:m":                     {[]string{"GROQ_API_KEY", "k"}, "https://api.groq.com/openai/v1/chat/completions", "Bearer k"},
		"groq:at a proxy":            {[]string{"GROQ_API_KEY", "k", "GROQ_BASE_URL", "https://proxy.test"}, "https://proxy.test/openai/v1/chat/completions", "Bearer k"},
		"xai:m":                      {[]string{"XAI_API_KEY", "k"}, "https://api.x.ai/v1/chat/completions", "Bearer k"},
		"deepseek:m":                 {[]string{"DEEPSEEK_API_KEY", "k"}, "https://api.deepseek.com/v1/chat/completions", "Bearer k"},
		"mistral:m":                  {[]string{"MISTRAL_API_KEY", "k"}, "https://api.mistral.ai/v1/chat/completions", "Bearer k"},
		"together:m":                 {[]string{"TOGETHER_API_KEY", "k"}, "https://api.together.xyz/v1/chat/completions", "Bearer k"},
		"azure:deployment":           {[]string{"AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/"}, "https://mine.openai.azure.com/openai/v1/chat/completions", "Bearer k"},
		"ollama:qwen3:8b":            {nil, "http://127.0.0.1:11434/v1/chat/completions", ""},
		"ollama:by host":             {[]string{"OLLAMA_HOST", "gpu.test"}, "http://gpu.test:11434/v1/chat/completions", ""},
		"ollama:by host and port":    {[]string{"OLLAMA_HOST", "gpu.test:80"}, "http://gpu.test:80/v1/chat/completions", ""},
		"ollama:everywhere":          {[]string{"OLLAMA_HOST", "0.0.0.0:11435"}, "http://127.0.0.1:11435/v1/chat/completions", ""},
		"ollama:over TLS with a key": {[]string{"OLLAMA_HOST", "https://gpu.test", "OLLAMA_API_KEY", "k"}, "https://gpu.test/v1/chat/completions", "Bearer k"},
		"lmstudio:m":                 {nil, "http://127.0.0.1:1234/v1/chat/completions", ""},
		"vllm:m":                     {[]string{"VLLM_BASE_URL", "http://gpu.test:8000/proxy/v1"}, "http://gpu.test:8000/proxy/v1/chat/completions", ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &sentTo{}
			o := env(tt.variables...)
			o.HTTPClient = &http.Client{Transport: seen}
			g, err := standard.Models(o)(t.Context(), name)
			require.NoError(t, err)
			r, err := g.Generate(t.Context(), ask(""))
			require.NoError(t, err)
			require.Equal(t, "hello", r.Content.Text())
			require.Equal(t, tt.url, seen.url)
			if tt.key != "" {
				require.Equal(t, tt.key, seen.authorization)
			}
			names, err := g.(interface {
				ModelNames(context.Context) ([]string, error)
			}).ModelNames(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"one", "vendor/two:8b"}, names)
			require.Equal(t, strings.TrimSuffix(tt.url, "/chat/completions")+"/models", seen.url)
		})
	}
}

// A missing or invalid variable is named, and an error names the service rather than the API that it shares.
func TestServicesThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		variables []string
		remedy    string
	}{
		"openrouter:m": {nil, "OPENROUTER_API_KEY"},
		"groq:m":       {[]string{"GROQ_API_KEY", "k", "GROQ_BASE_URL", "ftp://x"}, "GROQ_BASE_URL"},
		"azure:m":      {[]string{"AZURE_OPENAI_API_KEY", "k"}, "AZURE_OPENAI_ENDPOINT"},
		"ollama:m":     {[]string{"OLLAMA_HOST", "http://"}, "OLLAMA_HOST"},
		"vertex:m":     {nil, "GOOGLE_CLOUD_PROJECT"},
	} {
		_, err := standard.Models(env(tt.variables...))(t.Context(), name)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
		require.Contains(t, fault.As(err).Remedy, tt.remedy)
	}
	o := env("GROQ_API_KEY", "k")
	o.HTTPClient = &http.Client{Transport: &reached{}}
	g, err := standard.Models(o)(t.Context(), "groq:m")
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask(""))
	var failure *model.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "groq", failure.Provider)
	require.Equal(t, model.Unauthenticated, failure.Kind)
}

// "auto" selects a service with a key and a default model, after the providers with an API of their own.
func TestAutoSelectsAService(t *testing.T) {
	for want, o := range map[string]standard.ModelOptions{
		"openrouter:openrouter/auto": env("OPENROUTER_API_KEY", "k", "AZURE_OPENAI_API_KEY", "k"),
		"openai:gpt-5":               env("OPENROUTER_API_KEY", "k", "OPENAI_API_KEY", "k"),
	} {
		name, err := o.Resolve("auto")
		require.NoError(t, err)
		require.Equal(t, want, name.String())
	}
	_, err := env("OLLAMA_HOST", "gpu.test", "VLLM_API_KEY", "k").Resolve("")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "a local server has no default model")
	name, err := env().Resolve("flash")
	require.NoError(t, err)
	require.Equal(t, "gemini:gemini-2.5-flash", name.String())
}

// Neither a key nor the machine's Google account reaches an address that a project's file sets.
func TestProjectsSetNoServices(t *testing.T) {
	seen := &sentTo{}
	o := env("GROQ_API_KEY", "k", "GROQ_BASE_URL", "https://evil.test")
	o.HTTPClient = &http.Client{Transport: seen}
	o.OfProject = func(name string) bool { return name == "GROQ_BASE_URL" }
	g, err := standard.Models(o)(t.Context(), "groq:m")
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask(""))
	require.NoError(t, err)
	require.Equal(t, "https://api.groq.com/openai/v1/chat/completions", seen.url)

	o = env("GOOGLE_CLOUD_PROJECT", "evil")
	o.OfProject = func(string) bool { return true }
	_, err = standard.Models(o)(t.Context(), "vertex:m")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// account writes the credentials of a service account whose tokens come from the address.
func account(t *testing.T, tokens string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "me@mine.test", "private_key_id": "1", "token_uri": tokens, "project_id": "mine", "quota_project_id": "charged",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// Requests to Vertex AI name project and location, and have a token of the machine's account.
func TestVertex(t *testing.T) {
	var paths []string
	refused := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Goog-User-Project"))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/token" && refused:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":"access_denied"}`)
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"access_token":"the-token","expires_in":3600,"token_type":"Bearer"}`)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"publisherModels":[{"name":"publishers/google/models/gemini-2.5-pro"}]}`)
		default:
			_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account(t, s.URL+"/token"))
	o := env("GOOGLE_CLOUD_PROJECT", "mine", "GOOGLE_CLOUD_LOCATION", "europe-west4", "GOOGLE_VERTEX_BASE_URL", s.URL)
	g, err := standard.Models(o)(t.Context(), "vertex:gemini-2.5-pro")
	require.NoError(t, err)
	r, err := g.Generate(t.Context(), ask(""))
	require.NoError(t, err)
	require.Equal(t, "hello", r.Content.Text())
	require.Equal(t, "/token ", paths[0])
	require.Equal(t, "/v1beta1/projects/mine/locations/europe-west4/publishers/google/models/gemini-2.5-pro:generateContent Bearer the-tokencharged", paths[1])
	names, err := g.(interface {
		ModelNames(context.Context) ([]string, error)
	}).ModelNames(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"gemini-2.5-pro"}, names)

	refused = true
	g, err = standard.Models(o)(t.Context(), "vertex:gemini-2.5-pro")
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask(""))
	var failure *model.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, model.Unauthenticated, failure.Kind)
	require.Contains(t, failure.Message, "gcloud auth application-default login")
	require.False(t, errors.Is(err, context.Canceled))

	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	g, err = standard.Models(o)(t.Context(), "vertex:gemini-2.5-pro")
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), ask(""))
	require.ErrorAs(t, err, &failure)
	require.Equal(t, model.Unauthenticated, failure.Kind)
}
