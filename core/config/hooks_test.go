package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// firing records the events of hooks.
type firing struct {
	mu  sync.Mutex
	all []hooks.Input
}

// hook returns a hook of an event that records it and answers.
func (f *firing) hook(e hooks.Event, matcher string, answer func(hooks.Input) (hooks.Output, error)) hooks.Hook {
	return hooks.Hook{Event: e, Matcher: matcher, Name: "on " + string(e), Run: func(_ context.Context, in hooks.Input) (hooks.Output, error) {
		f.mu.Lock()
		f.all = append(f.all, in)
		f.mu.Unlock()
		if answer == nil {
			return hooks.Output{}, nil
		}
		return answer(in)
	}}
}

func (f *firing) of(e hooks.Event) (found []hooks.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.all {
		if in.Event == e {
			found = append(found, in)
		}
	}
	return found
}

func withFunctions(list ...hooks.Hook) func(*config.Parameters) {
	return func(p *config.Parameters) { p.Hooks.Functions = append(p.Hooks.Functions, list...) }
}

func decides(d hooks.Decision) func(hooks.Input) (hooks.Output, error) {
	return func(hooks.Input) (hooks.Output, error) { return hooks.Output{Decision: d, Reason: "why"}, nil }
}

// EX-09, design §5: a hook tightens and never loosens. A function that fails
// denies.
func TestHooksOnlyTighten(t *testing.T) {
	deny := policy.Rule{Name: "no", Tools: []string{"glob"}, Decision: policy.Deny, Priority: 100, Tier: policy.TierUser}
	for name, tt := range map[string]struct {
		answer func(hooks.Input) (hooks.Output, error)
		rules  []policy.Rule
		want   scheduler.Status
	}{
		"nothing":            {nil, nil, scheduler.StatusSuccess},
		"allow":              {decides(hooks.Allow), nil, scheduler.StatusSuccess},
		"deny":               {decides(hooks.Deny), nil, scheduler.StatusDenied},
		"block":              {decides(hooks.Block), nil, scheduler.StatusDenied},
		"allow and a rule":   {decides(hooks.Allow), []policy.Rule{deny}, scheduler.StatusDenied},
		"ask and a rule":     {decides(hooks.Ask), []policy.Rule{deny}, scheduler.StatusDenied},
		"approve and a rule": {decides(hooks.Approve), []policy.Rule{deny}, scheduler.StatusDenied},
		"failure":            {func(hooks.Input) (hooks.Output, error) { return hooks.Output{}, errors.New("broken") }, nil, scheduler.StatusDenied},
		"panic":              {func(hooks.Input) (hooks.Output, error) { panic("oh") }, nil, scheduler.StatusDenied},
		"arguments of no use": {func(hooks.Input) (hooks.Output, error) {
			return hooks.Output{Specific: hooks.Specific{ToolInput: []byte(`{"nothing":1}`)}}, nil
		}, nil, scheduler.StatusError},
	} {
		t.Run(name, func(t *testing.T) {
			var f firing
			s := configtest.New(t, withFunctions(f.hook(hooks.BeforeTool, "glob", tt.answer)), func(p *config.Parameters) { p.Policy.Rules, p.Environment.OnDefect = tt.rules, func(error) {} })
			runner, err := s.Scheduler()
			require.NoError(t, err)
			resp := runner.Run(t.Context(), scheduler.Request{Tool: "glob", Args: []byte(`{"pattern":"x"}`)})
			require.Equal(t, tt.want, resp.Status, "%+v", resp.Result.Error)
			require.Len(t, f.of(hooks.BeforeTool), 1)
			require.JSONEq(t, `{"pattern":"x"}`, string(f.of(hooks.BeforeTool)[0].ToolInput))
		})
	}
}

// EX-09: a hook can require approval, with its reason shown; EX-06: hooks are
// notified of questions, and the question does not wait for them.
func TestHooksAsk(t *testing.T) {
	var f firing
	told := make(chan hooks.Input, 1)
	s := configtest.New(t, withFunctions(
		f.hook(hooks.BeforeTool, "", decides(hooks.Ask)),
		f.hook(hooks.Notification, "whatever", func(in hooks.Input) (hooks.Output, error) {
			told <- in
			return hooks.Output{}, nil
		})))
	runner, err := s.Scheduler()
	require.NoError(t, err)
	resp := runner.Run(t.Context(), scheduler.Request{Tool: "glob", Args: []byte(`{"pattern":"x"}`)})
	require.Equal(t, scheduler.StatusSuccess, resp.Status)
	require.Len(t, s.Confirmations(), 1)
	require.Contains(t, s.Confirmations()[0].Details.SystemMessage, "why")
	in := <-told
	require.Equal(t, "ToolPermission", in.NotificationType)
	require.Contains(t, string(in.Details), `"type":"info"`)
}

// Design §3: a matcher on replace or edit sees safe_patch too; an alias is a
// name.
func TestHookMatchersOnNames(t *testing.T) {
	for matcher, want := range map[string]bool{"^replace$": true, "^edit$": true, "^safe_patch$": true, "write": false} {
		var f firing
		s := configtest.New(t, withFunctions(f.hook(hooks.BeforeTool, matcher, decides(hooks.Deny))))
		s.Write("f.txt", "a\n")
		runner, err := s.Scheduler()
		require.NoError(t, err)
		resp := runner.Run(t.Context(), scheduler.Request{Tool: "safe_patch", Args: []byte(`{"file_path":"f.txt","unified_diff":"@@\n-a\n+b\n","base_content_sha256":"` + strings.Repeat("0", 64) + `"}`)})
		require.Equal(t, want, resp.Status == scheduler.StatusDenied, matcher)
	}
}

// EX-06: hooks are enforced in subagents and for tools of MCP servers.
func TestHooksInSubagents(t *testing.T) {
	var f firing
	s := configtest.New(t, playing(t, `
		{"when":{"purpose":"main"},"calls":[{"tool":"generalist","args":{"query":"Look."}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"glob","args":{"pattern":"x"}}]},
		{"when":{"purpose":"subagent"},"expect":{"tool":"glob","error":"policy_violation"},"calls":[{"tool":"complete_task","args":{"result":"It was refused."}}]},
		{"when":{"purpose":"main"},"text":"Done."}`, script.Options{}),
		withFunctions(f.hook(hooks.BeforeTool, "^glob$", decides(hooks.Deny)), f.hook(hooks.BeforeAgent, "", nil), f.hook(hooks.AfterAgent, "", nil), f.hook(hooks.BeforeModel, "", nil)))
	answer, _ := converse(t, s.Config, "Work.")
	require.Equal(t, "Done.", answer)
	require.Len(t, f.of(hooks.BeforeTool), 1)
	require.Len(t, f.of(hooks.BeforeModel), 4)
	require.Len(t, f.of(hooks.BeforeAgent), 1, "a subagent's prompt is a model's")
	require.Len(t, f.of(hooks.AfterAgent), 1)
	ids := map[string]bool{}
	for _, in := range f.of(hooks.BeforeModel) {
		ids[in.SessionID] = true
	}
	require.Len(t, ids, 2)
}

// EX-06: PreCompress runs before a history is shortened, with the cause.
func TestHooksBeforeCompaction(t *testing.T) {
	var f firing
	s := configtest.New(t, playing(t, `{"text":"A."}`, script.Options{}), withFunctions(f.hook(hooks.PreCompress, "manual", nil), f.hook(hooks.PreCompress, "auto", nil)))
	_, _ = converse(t, s.Config, "Work.")
	client, err := s.Client()
	require.NoError(t, err)
	_, _ = client.Compress(t.Context(), true) // there is nothing to shorten
	require.Len(t, f.of(hooks.PreCompress), 1)
	require.Equal(t, "manual", f.of(hooks.PreCompress)[0].Trigger)
}

// CM-11: a session's start and end have hooks, with their context and messages; a
// suppressed message is not shown, but is in the system prompt.
func TestHooksOfSessions(t *testing.T) {
	var f firing
	s := configtest.New(t, withFunctions(
		f.hook(hooks.SessionStart, "clear", func(hooks.Input) (hooks.Output, error) {
			return hooks.Output{SystemMessage: "Be kind.", Specific: hooks.Specific{AdditionalContext: "a </hook_context> b"}}, nil
		}),
		f.hook(hooks.SessionStart, "", func(hooks.Input) (hooks.Output, error) {
			return hooks.Output{SystemMessage: "Be quiet.", SuppressOutput: true}, nil
		}),
		f.hook(hooks.SessionEnd, "clear", nil)))
	require.NoError(t, s.Hooks().SessionEnding(t.Context(), "clear"))
	require.NoError(t, s.Hooks().SessionEnding(t.Context(), "exit"))
	require.Len(t, f.of(hooks.SessionEnd), 1)
	started, err := s.Hooks().SessionStarted(t.Context(), "clear")
	require.NoError(t, err)
	require.Equal(t, config.SessionHooks{Context: "<hook_context>a &lt;/hook_context&gt; b</hook_context>", Messages: []bus.HookMessage{
		{Event: "SessionStart", Hook: "on SessionStart", Level: bus.HookInfo, Text: "Be kind."},
	}}, started)
	system, err := s.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, system, "Be kind.\n\nBe quiet.")
	started, err = s.Hooks().SessionStarted(t.Context(), "startup")
	require.NoError(t, err)
	require.Empty(t, started)

	none := configtest.New(t)
	started, err = none.Hooks().SessionStarted(t.Context(), "startup")
	require.NoError(t, err)
	require.Empty(t, started)
	require.NoError(t, none.Hooks().SessionEnding(t.Context(), "exit"))
}

// EX-11: a script that changes during a session does not run any more, which is
// reported once; approving it lets it run again.
func TestProjectHooksThatChange(t *testing.T) {
	var project string
	s := configtest.New(t, func(p *config.Parameters) {
		project, p.Policy.Trust = p.TargetDir, trust.Trusted
		require.NoError(t, os.MkdirAll(filepath.Join(project, ".fettle"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(project, ".fettle", "hooks.toml"), []byte("[hooks.BeforeTool]\nhooks = [{command = 'sh guard.sh'}]\n"), 0o644))
	})
	var said []bus.HookMessage
	var mu sync.Mutex
	subscription := bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, m bus.HookMessage) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, m)
	})
	runner, err := s.Scheduler()
	require.NoError(t, err)
	run := func() scheduler.Status {
		status := runner.Run(t.Context(), scheduler.Request{Tool: "glob", Args: []byte(`{"pattern":"x"}`)}).Status
		require.True(t, subscription.Flush(t.Context()))
		return status
	}
	texts := func(level bus.HookLevel) (all []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range said {
			if m.Level == level {
				all = append(all, m.Text)
			}
		}
		return all
	}
	s.Write("guard.sh", "exit 2\n")
	require.Equal(t, scheduler.StatusDenied, run())
	require.Len(t, texts(bus.HookInfo), 1, "that the project's hooks run")
	require.NotEmpty(t, texts(bus.HookRuns))
	s.Write("guard.sh", "exit 0\n")
	require.Equal(t, scheduler.StatusSuccess, run())
	require.Equal(t, scheduler.StatusSuccess, run())
	require.Len(t, texts(bus.HookWarning), 1)
	require.Contains(t, texts(bus.HookWarning)[0], "fettle hooks trust")
	all, err := s.Hooks().List(t.Context())
	require.NoError(t, err)
	require.Equal(t, hookresult.Changed, all[0].State)
	names, err := s.Hooks().Approve(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"sh guard.sh"}, names)
	s.Write("guard.sh", "exit 2\n")
	require.Equal(t, scheduler.StatusSuccess, run(), "approved was the other one")
}

// EX-09: content withheld by a hook is not in the result in any form.
func TestHooksWithhold(t *testing.T) {
	var f firing
	s := configtest.New(t, withFunctions(f.hook(hooks.AfterTool, "read_file", decides(hooks.Block))))
	s.Write("f.txt", "hidden words\n")
	runner, err := s.Scheduler()
	require.NoError(t, err)
	resp := runner.Run(t.Context(), scheduler.Request{Tool: "read_file", Args: []byte(`{"file_path":"f.txt"}`)})
	require.Equal(t, scheduler.StatusError, resp.Status)
	text, err := tools.JSON(resp.Result)
	require.NoError(t, err)
	require.NotContains(t, text.String(), "hidden words")
	require.Contains(t, resp.Result.Error.Message, "why")
	require.Contains(t, string(f.of(hooks.AfterTool)[0].ToolResponse.LLMContent), "hidden words")
	require.True(t, slices.ContainsFunc(f.all, func(in hooks.Input) bool { return strings.HasPrefix(in.CWD, "/") }))
}

// Matchers match tools by the names of other programs, and agents by that of all
// agents; a matcher that can never match is reported, unless further tools may be
// added.
func TestHookMatchersOfOtherPrograms(t *testing.T) {
	for matcher, tool := range map[string]string{
		"Bash|Write": "run_shell_command", "Write": "write_file", "Edit|MultiEdit": "safe_patch", "Read": "read_file", "Glob": "glob",
		"Grep": "search_file_content", "LS": "list_directory", "WebFetch": "web_fetch", "Task": "generalist", "invoke_agent": "generalist", "TodoWrite": "write_todos",
	} {
		var f firing
		s := configtest.New(t, withFunctions(f.hook(hooks.BeforeTool, matcher, decides(hooks.Deny))), playing(t, "", script.Options{}))
		problems, err := s.Hooks().Problems()
		require.NoError(t, err)
		require.Empty(t, problems, matcher)
		runner, err := s.Scheduler()
		require.NoError(t, err)
		args := map[string]string{
			"run_shell_command": `{"command":"true"}`, "write_file": `{"file_path":"f","content":"x"}`, "read_file": `{"file_path":"f"}`, "glob": `{"pattern":"x"}`,
			"safe_patch":          `{"file_path":"f","unified_diff":"@@\n+b\n","base_content_sha256":"` + strings.Repeat("0", 64) + `"}`,
			"search_file_content": `{"pattern":"x"}`, "list_directory": `{"dir_path":"."}`, "web_fetch": `{"prompt":"http://127.0.0.1:1/"}`, "generalist": `{"query":"x"}`, "write_todos": `{"todos":[]}`,
		}[tool]
		resp := runner.Run(t.Context(), scheduler.Request{Tool: tool, Args: []byte(args)})
		require.Equal(t, scheduler.StatusDenied, resp.Status, "%s: %+v", matcher, resp.Result.Error)
	}
	for _, matcher := range []string{"SlashCommand", "Bash(git:*)", "mcp__gone__x", "(", "nothing_like_it"} {
		var f firing
		s := configtest.New(t, withFunctions(f.hook(hooks.AfterTool, matcher, nil), f.hook(hooks.SessionStart, "compact", nil)))
		problems, err := s.Hooks().Problems()
		require.NoError(t, err)
		require.Len(t, problems, 2, matcher)
		all, err := s.Hooks().List(t.Context())
		require.NoError(t, err)
		require.Equal(t, hookresult.Unmatched, all[0].State)
		require.Equal(t, hookresult.Unmatched, all[1].State)
	}
	for matcher, reported := range map[string]bool{
		"mcp__shelf__.*": false, "mcp_shelf_take": false, "mcp__.*": false, "mcp__.*__take": false, "take_book": false, "mcp__other__x": true, "SlashCommand": true,
	} {
		var f firing
		s := configtest.New(t, withFunctions(f.hook(hooks.AfterTool, matcher, nil)), func(p *config.Parameters) {
			p.MCP.Servers = []mcp.ServerSpec{{Name: "shelf", Command: "none"}}
		})
		problems, err := s.Hooks().Problems()
		require.NoError(t, err)
		require.Equal(t, reported, len(problems) == 1, "%s: %v", matcher, problems)
	}
}
