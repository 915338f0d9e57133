package config_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// No secret that settings inserted into a hook's command reaches the model or the
// user, whatever happens to the hook.
func TestHooksTellNoSecret(t *testing.T) {
	for event, command := range map[hooks.Event]string{
		hooks.BeforeTool: "true $MY_TOKEN; echo x >&2; exit 2", hooks.AfterTool: "true $MY_TOKEN; echo y >&2; exit 2", hooks.BeforeModel: "true $MY_TOKEN; exit 3",
	} {
		home := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "settings.json"),
			[]byte(`{"hooks": {"`+string(event)+`": [{"hooks": [{"type": "command", "command": "`+command+`"}]}]}}`), 0o600))
		s := configtest.New(t, func(p *config.Parameters) {
			p.Environment.HomeDir, p.Settings = home, &settings.Options{Environ: []string{"MY_TOKEN=s3cr3tvalue"}}
		})
		var told []bus.HookMessage
		heard := bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, m bus.HookMessage) { told = append(told, m) })
		runner, err := s.Scheduler()
		require.NoError(t, err)
		resp := runner.Run(t.Context(), scheduler.Request{Tool: "glob", Args: []byte(`{"pattern":"x"}`)})
		effect, err := s.Hooks().Try(t.Context(), hooks.Input{Event: event, ToolName: "glob"})
		require.NoError(t, err)
		heard.Flush(t.Context())
		require.Len(t, effect.Ran, 1)
		said := []string{resp.Decision.Rule, resp.Decision.Source, resp.Decision.Reason, effect.By, effect.Ran[0].Hook.Label()}
		if resp.Result.Error != nil {
			said = append(said, resp.Result.Error.Error(), resp.Result.Error.Remedy)
		}
		for _, m := range told {
			said = append(said, m.Hook, m.Text)
		}
		require.NotContains(t, strings.Join(said, "\n"), "s3cr3tvalue")
		require.Contains(t, strings.Join(said, "\n"), "true ")
	}
}

// EX-06: BeforeToolSelection may name a tool by any of its names, AfterModel
// receives the request as sent, and a hook's repeated message for the pieces of
// an answer is shown once.
func TestHooksOfRequests(t *testing.T) {
	var f firing
	s := configtest.New(t, withFunctions(
		f.hook(hooks.BeforeToolSelection, "", func(hooks.Input) (hooks.Output, error) {
			return hooks.Output{Specific: hooks.Specific{ToolConfig: &hooks.ToolConfig{Mode: hookrun.ToolsAny, AllowedFunctionNames: []string{"grep_search", "replace"}}}}, nil
		}),
		f.hook(hooks.AfterModel, "", func(hooks.Input) (hooks.Output, error) { return hooks.Output{SystemMessage: "again"}, nil })),
		playing(t, `{"text":"One two three four five six seven eight nine ten."}`, script.Options{}))
	told := make(chan bus.HookMessage, 100)
	heard := bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, m bus.HookMessage) { told <- m })
	client, err := s.Client()
	require.NoError(t, err)
	for range client.Run(t.Context(), model.TextPart("hi")) {
	}
	heard.Flush(t.Context())
	close(told)
	pieces := f.of(hooks.AfterModel)
	require.NotEmpty(t, pieces)
	allowed := pieces[0].LLMRequest.ToolConfig.AllowedFunctionNames
	require.Equal(t, hookrun.ToolsAny, pieces[0].LLMRequest.ToolConfig.Mode)
	slices.Sort(allowed)
	require.Subset(t, []string{"edit", "replace", "safe_patch", "search_file_content"}, allowed)
	require.Contains(t, allowed, "search_file_content")
	said := 0
	for m := range told {
		if m.Text == "again" {
			said++
		}
	}
	require.Equal(t, 1, said)
}

// Messages of hooks in a conversation with a bus of its own are sent only there.
func TestHooksTellTheirOwnBus(t *testing.T) {
	var f firing
	s := configtest.New(t, withFunctions(f.hook(hooks.BeforeTool, "", func(hooks.Input) (hooks.Output, error) {
		return hooks.Output{SystemMessage: "seen"}, nil
	})))
	child, err := s.Derive(config.DeriveParameters{OwnBus: true})
	require.NoError(t, err)
	defer child.Close() //nolint:errcheck // the test is over
	heard := func(b *bus.MessageBus) func() []string {
		var texts []string
		subscription := bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.HookMessage) {
			if m.Level == bus.HookInfo {
				texts = append(texts, m.Text)
			}
		})
		return func() []string {
			require.True(t, subscription.Flush(t.Context()))
			return texts
		}
	}
	atParent, atChild := heard(s.MessageBus()), heard(child.MessageBus())
	runner, err := child.Scheduler()
	require.NoError(t, err)
	runner.Run(t.Context(), scheduler.Request{Tool: "glob", Args: []byte(`{"pattern":"x"}`)})
	require.Equal(t, []string{"seen"}, atChild())
	require.Empty(t, atParent())
}
