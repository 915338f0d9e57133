package standard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/anthropic"
	"github.com/fettle-dev/fettle/core/model/gemini"
	"github.com/fettle-dev/fettle/core/model/openai"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/standard"
)

func env(pairs ...string) standard.ModelOptions {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return standard.ModelOptions{Getenv: func(name string) string { return values[name] }}
}

func TestResolve(t *testing.T) {
	tests := map[string]struct {
		o    standard.ModelOptions
		name string
		want string
	}{
		"said":             {env(), "gemini:gemini-2.5-flash", "gemini:gemini-2.5-flash"},
		"with a tag":       {env(), "openai:llama3:8b", "openai:llama3:8b"},
		"by prefix":        {env(), "claude-opus-5", "anthropic:claude-opus-5"},
		"prefix and tag":   {env(), "gpt-oss:20b", "openai:gpt-oss:20b"},
		"script":           {env(), "script:a/b.json", "script:a/b.json"},
		"auto: gemini":     {env("OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", "a", "GEMINI_API_KEY", "g"), "auto", "gemini:" + gemini.DefaultModel},
		"auto: google":     {env("GOOGLE_API_KEY", "g", "ANTHROPIC_API_KEY", "a"), "", "gemini:" + gemini.DefaultModel},
		"auto: anthropic":  {env("OPENAI_API_KEY", "o", "ANTHROPIC_API_KEY", "a"), "auto", "anthropic:" + anthropic.DefaultModel},
		"auto: openai":     {env("OPENAI_API_KEY", "o"), " auto ", "openai:" + openai.DefaultModel},
		"auto: local":      {env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), "", "openai:" + openai.DefaultModel},
		"blank is not set": {env("GEMINI_API_KEY", " ", "OPENAI_API_KEY", "o"), "", "openai:" + openai.DefaultModel},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.o.Resolve(tt.name)
			require.NoError(t, err)
			require.Equal(t, tt.want, got.String())
		})
	}
}

// Without a key no model is selected, in particular no scripted one.
func TestNoModel(t *testing.T) {
	for _, o := range []standard.ModelOptions{{}, env(), env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1", "GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")} {
		for _, name := range []string{"", "auto"} {
			g, err := standard.Models(o)(t.Context(), name)
			require.Nil(t, g)
			f := fault.As(err)
			require.NotNil(t, f)
			require.Equal(t, fault.InvalidConfig, f.Code)
			for _, variable := range []string{
				"GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
				"GOOGLE_GEMINI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL",
			} {
				require.Contains(t, f.Remedy, variable)
			}
		}
	}
	for name, variable := range map[string]string{
		"gemini:x": "GEMINI_API_KEY", "anthropic:x": "ANTHROPIC_API_KEY", "openai:x": "OPENAI_API_KEY",
		"script:" + filepath.Join(t.TempDir(), "none.json"): "none.json", "nobody:x": "script:NAME", "gemini:": "gemini:NAME",
	} {
		g, err := standard.Models(env())(t.Context(), name)
		require.Nil(t, g, name)
		f := fault.As(err)
		require.NotNil(t, f, name)
		require.Equal(t, fault.InvalidConfig, f.Code, name)
		require.Contains(t, f.Message+f.Remedy, variable, name)
	}
}

// provider starts a server that implements all three APIs.
func provider(t *testing.T, seen *sync.Map) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(r.URL.Path, r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("Authorization")+" "+string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			for _, data := range []string{
				`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
				`{"type":"message_stop"}`,
			} {
				kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
				_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			}
		case strings.HasSuffix(r.URL.Path, "/chat/completions"):
			_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		default:
			_, _ = io.WriteString(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}]}`+"\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Each provider is called at its address, with its key and the named model.
func TestProviders(t *testing.T) {
	var seen sync.Map
	base := provider(t, &seen)
	o := env("GOOGLE_API_KEY", "key-of-google", "ANTHROPIC_API_KEY", "key-of-anthropic", "OPENAI_API_KEY", "key-of-openai",
		"GOOGLE_GEMINI_BASE_URL", base, "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base+"/v1")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	o.HTTPClient = &http.Client{Transport: transport}
	source := standard.Models(o)
	for name, want := range map[string]struct{ path, key, inBody string }{
		"anthropic:the-model": {"/v1/messages", "key-of-anthropic ", `"the-model"`},
		"openai:the-model:8b": {"/v1/chat/completions", "Bearer key-of-openai ", `"the-model:8b"`},
		"gemini:the-model":    {"/v1beta/models/the-model:streamGenerateContent", "key-of-google ", "contents"},
		"auto":                {"/v1beta/models/" + gemini.DefaultModel + ":streamGenerateContent", "key-of-google ", "contents"},
	} {
		g, err := source(t.Context(), name)
		require.NoError(t, err, name)
		request := &model.Request{Model: "auto", Contents: []model.Content{model.UserText("hi")}}
		r, err := model.Collect(g.Stream(t.Context(), request))
		require.NoError(t, err, name)
		require.Equal(t, "hello", r.Content.Text(), name)
		require.Equal(t, "auto", request.Model, "a request is not changed")
		got, ok := seen.Load(want.path)
		require.True(t, ok, name)
		require.True(t, strings.HasPrefix(got.(string), want.key), name)
		require.Contains(t, got, want.inBody, name)
	}
	require.Equal(t, []string{"key-of-google", "key-of-anthropic", "key-of-openai"}, o.Secrets())
	require.Empty(t, standard.ModelOptions{}.Secrets())
}

func TestLocalServersNeedNoKey(t *testing.T) {
	var seen sync.Map
	base := provider(t, &seen)
	source := standard.Models(env("OPENAI_BASE_URL", base+"/v1", "ANTHROPIC_BASE_URL", base))
	for _, name := range []string{"", "openai:llama", "anthropic:local"} {
		g, err := source(t.Context(), name)
		require.NoError(t, err, name)
		_, err = model.Collect(g.Stream(t.Context(), &model.Request{Contents: []model.Content{model.UserText("hi")}}))
		require.NoError(t, err, name)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// A Generator reports its model and token limit, whatever name found it; also when it is recorded.
func TestDescribed(t *testing.T) {
	o := env("ANTHROPIC_API_KEY", "key-of-anthropic", "OPENAI_API_KEY", "key-of-openai")
	for _, source := range []model.Source{standard.Models(o), standard.Recording(standard.Models(o), replay.NewRecorder(io.Discard))} {
		for name, want := range map[string]string{
			"": "anthropic:" + anthropic.DefaultModel, "auto": "anthropic:" + anthropic.DefaultModel, "gpt-4o": "openai:gpt-4o", "openai:llama3:8b": "openai:llama3:8b",
		} {
			g, err := source(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, want, model.NameOf(g).String(), name)
			require.Equal(t, model.TokenLimit(model.NameOf(g).Model), model.LimitOf(g), name)
		}
		g, err := source(t.Context(), "auto")
		require.NoError(t, err)
		require.Equal(t, 200_000, model.LimitOf(g), "not the limit of an unknown model")
	}
	require.Zero(t, model.NameOf(nil))
	require.Zero(t, model.LimitOf(nil))
}

// A script continues where another client of the session left it.
func TestOneGeneratorForAName(t *testing.T) {
	source := standard.Models(env())
	name := "script:" + write(t, `{"turns":[{"text":"one"},{"text":"two"}]}`)
	for _, want := range []string{"one", "two"} {
		g, err := source(t.Context(), name)
		require.NoError(t, err)
		r, err := g.Generate(t.Context(), &model.Request{Contents: []model.Content{model.UserText("hi")}})
		require.NoError(t, err)
		require.Equal(t, want, r.Content.Text())
		n, err := g.CountTokens(t.Context(), &model.Request{System: strings.Repeat("word ", 40)})
		require.NoError(t, err)
		require.Positive(t, n)
	}
	other, err := standard.Models(env())(t.Context(), name)
	require.NoError(t, err)
	r, err := other.Generate(t.Context(), &model.Request{})
	require.NoError(t, err)
	require.Equal(t, "one", r.Content.Text(), "a new Source starts from the beginning")
}

func TestSourceAtOnce(t *testing.T) {
	source := standard.Models(env("GEMINI_API_KEY", "key"))
	var wg sync.WaitGroup
	found := make([]model.Generator, 20)
	for i := range found {
		wg.Go(func() { found[i], _ = source(context.Background(), "") })
	}
	wg.Wait()
	for _, g := range found {
		require.Equal(t, found[0], g)
	}
}

func TestRecording(t *testing.T) {
	var out bytes.Buffer
	recorder := replay.NewRecorder(&out, env("OPENAI_API_KEY", "my-secret-key").Secrets()...)
	source := standard.Recording(standard.Models(env()), recorder)
	request := &model.Request{Contents: []model.Content{model.UserText("my key is my-secret-key")}}
	g, err := source(t.Context(), "script:"+write(t, `{"turns":[{"text":"one"}]}`))
	require.NoError(t, err)
	want, err := g.Generate(t.Context(), request)
	require.NoError(t, err)
	require.NotContains(t, out.String(), "my-secret-key")
	p, err := replay.Replay("r", &out, replay.Strict)
	require.NoError(t, err)
	got, err := p.Generate(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = source(t.Context(), "")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

func TestNoKeyInErrors(t *testing.T) {
	const key, password = "sk-SECRETSECRET", "hunter2secret"
	for _, name := range []string{"gemini:x", "anthropic:x", "openai:x", "auto"} {
		for _, base := range []string{"http://u:" + password + "@127.0.0.1:1", "ftp://u:" + password + "@h", "http://u:" + password + "@h h/"} {
			o := env("GEMINI_API_KEY", key, "ANTHROPIC_API_KEY", key, "OPENAI_API_KEY", key,
				"GOOGLE_GEMINI_BASE_URL", base, "ANTHROPIC_BASE_URL", base, "OPENAI_BASE_URL", base)
			g, err := standard.Models(o)(t.Context(), name)
			if err == nil {
				_, err = g.Generate(t.Context(), &model.Request{Contents: []model.Content{model.UserText("hi")}})
			}
			require.Error(t, err)
			text := fmt.Sprintf("%v %+v %#v", err, err, err)
			require.NotContains(t, text, key, name)
			require.NotContains(t, text, password, name)
		}
	}
}
