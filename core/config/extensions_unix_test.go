//go:build unix

package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	mcpclient "github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// stdioServer is an MCP server in bash. It writes its process ID into its
// directory.
const stdioServer = `#!/usr/bin/env bash
echo $$ > "$(dirname "$0")/pid"
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"lend","description":"d","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"lent '"$LEVEL"'"}]}' ;;
    *) result='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// library writes the extension "library", with one of each part, into the home
// directory.
func library(t *testing.T, home string) string {
	t.Helper()
	dir := filepath.Join(home, ".fettle", "extensions", "library")
	for name, text := range map[string]string{
		"gemini-extension.json": `{"name": "library", "version": "1.0.0", "contextFileName": "LIBRARY.md", "excludeTools": ["glob", "run_shell_command(rm -rf)"],
			"settings": [{"name": "Level", "envVar": "LEVEL"}], "plan": {"directory": "plans"},
			"mcpServers": {"shelf": {"command": "${extensionPath}/server", "trust": true}}}`,
		".env":                 "LEVEL=7\n",
		"LIBRARY.md":           "Mind the LIBRARIAN.",
		"server":               stdioServer,
		"policies/p.toml":      "[[rule]]\ntoolName = \"write_todos\"\ndecision = \"deny\"\npriority = 10\n[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\npriority = 999\n",
		"agents/reader.md":     "---\nname: reader\ndescription: reads\n---\nRead ${extensionPath}.\n",
		"skills/lend/SKILL.md": "---\nname: lend\ndescription: lends books\n---\nLend.\n",
		"hooks/hooks.json":     `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true ${extensionPath}"}]}]}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	return dir
}

func realServers(env config.MCPEnvironment) mcp.Dialer {
	return mcpclient.New(mcpclient.Options{Dir: env.Dir, Logger: env.Logger})
}

// contributes checks that all parts of the library are present, or none.
func contributes(t *testing.T, s *configtest.Session, wanted bool) {
	t.Helper()
	m, err := s.MCP().Manager()
	require.NoError(t, err)
	if wanted {
		require.True(t, m.Settled(t.Context(), "shelf"))
	}
	require.Equal(t, wanted, m != nil && m.Has("shelf"), "server")
	require.Equal(t, wanted, hasTool(t, s, "mcp_shelf_lend"), "tool of a server")
	require.Equal(t, wanted, hasTool(t, s, "reader"), "agent")
	require.Equal(t, !wanted, hasTool(t, s, "glob"), "excluded tool")
	deny := map[bool]policy.Verdict{true: policy.Deny, false: policy.AskUser}
	decide := func(tool, args string) policy.Verdict {
		call, _ := policy.WellKnown(tool)
		call.Params, call.Mode = json.RawMessage(args), policy.ModeDefault
		d, err := s.Policy().Decide(call)
		require.NoError(t, err)
		return d.Decision
	}
	require.Equal(t, deny[wanted], decide("run_shell_command", `{"command": "rm -rf x"}`), "excluded command")
	require.Equal(t, policy.AskUser, decide("write_file", `{"file_path": "`+s.Dir+`/a", "content": ""}`), "no extension allows")
	require.Equal(t, wanted, decide("write_todos", `{"todos": []}`) == policy.Deny, "rule")
	prompt, err := s.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Equal(t, wanted, strings.Contains(prompt, "LIBRARIAN"), "context file")
	skills, err := s.Skills().Manager()
	require.NoError(t, err)
	_, known := skills.Get("lend")
	require.Equal(t, wanted, known, "skill")
	hooks, err := s.Hooks().List(t.Context())
	require.NoError(t, err)
	require.Equal(t, wanted, len(hooks) > 0, "hook")
}

// ended waits for the end of the server's process.
func ended(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.True(t, errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), "the server's process has ended")
}

// AR-32: on a live Config all contributions of an extension appear and disappear,
// with the process of its server.
func TestExtensionLives(t *testing.T) {
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir, p.MCP.Dial, p.Conversation.Models = home, realServers, model.Always(nil)
	})
	m, err := s.MCP().Manager()
	require.NoError(t, err)
	require.Nil(t, m, "there is no server yet")
	contributes(t, s, false)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.Extensions().Enable(t.Context(), "library")))

	dir := library(t, home)
	require.NoError(t, s.Extensions().Reload(t.Context()))
	contributes(t, s, true)
	agents, err := s.Agents().List()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(agents, func(d *subagent.Definition) bool { return d.Name == "reader" && d.Prompt == "Read "+dir+"." }))
	answer := s.Call("mcp_shelf_lend", json.RawMessage(`{}`))
	require.Contains(t, fmt.Sprint(answer), "lent 7", "settings reach its servers")

	require.NoError(t, s.Extensions().Disable(t.Context(), "LIBRARY"))
	ended(t, dir)
	contributes(t, s, false)
	all, err := s.Extensions().List()
	require.NoError(t, err)
	require.Equal(t, []any{"library", false, "It is disabled for this session."}, []any{all[0].Name, all[0].Active, all[0].Inactive})
	require.NoError(t, s.Extensions().Reload(t.Context()))
	contributes(t, s, false)

	require.NoError(t, s.Extensions().Enable(t.Context(), "library"))
	contributes(t, s, true)
	require.NoError(t, s.Extensions().Reload(t.Context()))
	contributes(t, s, true)
	child, err := s.Derive(config.DeriveParameters{Subagent: "x"})
	require.NoError(t, err)
	defer child.Close() //nolint:errcheck // it has nothing of its own
	require.NoError(t, os.RemoveAll(dir+"/agents"))
	require.NoError(t, child.Extensions().Reload(t.Context()))
	require.False(t, hasTool(t, s, "reader"))
	require.True(t, hasTool(t, s, "mcp_shelf_lend"), "what has not changed is not begun anew")

	require.NoError(t, s.Close())
	ended(t, dir)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(s.Extensions().Reload(t.Context())))
}

// Concurrent reloads, switches and calls.
func TestExtensionsAtOnce(t *testing.T) {
	home := t.TempDir()
	library(t, home)
	require.NoError(t, os.Remove(filepath.Join(home, ".fettle", "extensions", "library", "server")))
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir, p.MCP.Dial, p.Conversation.Models = home, realServers, model.Always(nil)
	})
	done := make(chan error)
	for _, do := range []func(context.Context) error{
		s.Extensions().Reload,
		func(ctx context.Context) error { return s.Extensions().Enable(ctx, "library") },
		func(ctx context.Context) error { return s.Extensions().Disable(ctx, "library") },
		func(ctx context.Context) error { _, err := s.SystemPrompt(ctx); return err },
		func(context.Context) error { _, err := s.Extensions().List(); return err },
		func(context.Context) error { _, err := s.Agents().List(); return err },
	} {
		go func() {
			for range 5 {
				if err := do(t.Context()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 6 {
		require.NoError(t, <-done)
	}
}

// Extensions belong to the user: they load in directories that are not trusted.
func TestExtensionsAndTrust(t *testing.T) {
	for _, state := range []trust.State{trust.Undecided, trust.Untrusted, trust.Trusted} {
		home := t.TempDir()
		library(t, home)
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.Trust = home, state })
		all, err := s.Extensions().List()
		require.NoError(t, err)
		require.True(t, all[0].Active)
		prompt, err := s.SystemPrompt(t.Context())
		require.NoError(t, err)
		require.Contains(t, prompt, "LIBRARIAN")
		hooks, err := s.Hooks().List(t.Context())
		require.NoError(t, err)
		require.Len(t, hooks, 1)
		require.False(t, hasTool(t, s, "glob"))
	}
}

// The conflict rules of servers: settings take precedence and are merged, of two
// extensions the first one counts, and no extension trusts itself.
func TestServersOfExtensions(t *testing.T) {
	home, target := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(home, ".fettle", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	put("extensions/a/gemini-extension.json", `{"name": "a", "version": "1", "settings": [{"name": "K", "envVar": "A_KEY", "sensitive": true}], "mcpServers": {
		"added": {"command": "x", "args": ["--old"], "env": {"ONE": "1", "TWO": "2"}, "includeTools": ["p", "q"], "excludeTools": ["r"], "timeout": 5, "trust": true},
		"moved": {"command": "x", "env": {"ONE": "1"}, "headers": {"Authorization": "$A_KEY"}},
		"same": {"command": "first"}, "bad": {"command": 7}, "late": {"command": "x", "timeout": -1}}}`)
	put("extensions/a/.env", "A_KEY=secret-of-a\n")
	put("extensions/b/gemini-extension.json", `{"name": "b", "version": "1", "mcpServers": {"same": {"command": "second"}, "own": {"command": "x"}}}`)
	put("settings.json", `{"mcpServers": {
		"added": {"args": ["--new"], "env": {"TWO": "22"}, "includeTools": ["q", "s"], "excludeTools": ["t"], "timeout": 7, "trust": true},
		"moved": {"httpUrl": "https://example.org/mcp"}}}`)
	c, err := config.New(config.Parameters{
		TargetDir: target, Environment: config.Environment{HomeDir: home}, Settings: &settings.Options{Environ: []string{"HOME=" + home}},
		MCP: config.MCP{Later: true, Dial: realServers, Servers: []mcp.ServerSpec{{Name: "own", Command: "mine"}}},
	})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer c.Close() //nolint:errcheck // nothing was started
	server := func(name string) mcp.ServerSpec {
		spec, _, err := c.MCP().Server(name)
		require.NoError(t, err, name)
		return spec
	}
	added := server("added")
	require.Equal(t, []any{"x", []string{"--new"}, []string{"q"}, []string{"r", "t"}, "7ms", true},
		[]any{added.Command, added.Args, added.IncludeTools, added.ExcludeTools, added.Timeout.String(), added.Trusted})
	require.Equal(t, map[string]string{"ONE": "1", "TWO": "22", "A_KEY": "secret-of-a"}, added.Env)
	moved := server("moved")
	require.Equal(t, []any{"", "https://example.org/mcp", 0, 0}, []any{moved.Command, moved.URL, len(moved.Env), len(moved.Headers)}, "nothing of the extension's goes elsewhere")
	require.Equal(t, []string{"first", "mine"}, []string{server("same").Command, server("own").Command})
	require.False(t, server("same").Trusted)
	problems, err := c.Extensions().Problems()
	require.NoError(t, err)
	var told strings.Builder
	for _, p := range problems {
		told.WriteString(p.String() + "\n")
	}
	require.Contains(t, told.String(), `The server "same" of the extension b is not used: the extension a has a server with that name`)
	require.Contains(t, told.String(), `The server "own" of the extension b is not used`)
	require.Contains(t, told.String(), `The server "bad" of the extension a is not used`)
	require.NotContains(t, told.String(), "secret-of-a")
	m, err := c.MCP().Manager()
	require.NoError(t, err)
	var names []string
	for _, s := range m.Status() {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"added", "late", "moved", "own", "same"}, names)
}

// Plans are written below the target, whatever an extension states.
func TestPlansOfExtensions(t *testing.T) {
	for dir, want := range map[string]string{"plans": "plans", "../plans": "", ".": "", "/etc": "", "a/../../b": ""} {
		home := t.TempDir()
		path := filepath.Join(home, ".fettle", "extensions", "a", "gemini-extension.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"name": "a", "version": "1", "plan": {"directory": %q}}`, dir), 0o644))
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModePlan })
		prompt, err := s.SystemPrompt(t.Context())
		require.NoError(t, err)
		problems, err := s.Extensions().Problems()
		require.NoError(t, err)
		if want == "" {
			require.Len(t, problems, 1)
			require.Contains(t, prompt, filepath.Join(s.Dir, ".fettle", "plans"))
			continue
		}
		require.Empty(t, problems)
		require.Contains(t, prompt, filepath.Join(s.Dir, want))
	}
}

// Plan mode writes without approval, so it has a directory of its own: none that
// is read for another purpose, and none that contained files before it was
// reserved.
func TestPlansOfExtensionsHaveTheirOwnDirectory(t *testing.T) {
	home, target := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	// goes returns where plans go in a session whose extension wants them in dir,
	// and the decision on writing one there.
	goes := func(dir string) (own bool, verdict policy.Verdict) {
		put(filepath.Join(home, ".fettle", "extensions", "a", "gemini-extension.json"), fmt.Sprintf(`{"name": "a", "version": "1", "plan": {"directory": %q}}`, dir))
		s := configtest.New(t, func(p *config.Parameters) {
			p.Environment.HomeDir, p.TargetDir, p.Policy.ApprovalMode = home, target, policy.ModePlan
		})
		prompt, err := s.SystemPrompt(t.Context())
		require.NoError(t, err)
		problems, err := s.Extensions().Problems()
		require.NoError(t, err)
		own = strings.Contains(prompt, "into "+filepath.Join(target, dir)+".\n")
		require.Equal(t, own, len(problems) == 0, "%s: %v", dir, problems)
		call, _ := policy.WellKnown("write_file")
		call.Params, call.Mode = json.RawMessage(fmt.Sprintf(`{"file_path": %q, "content": ""}`, filepath.Join(target, dir, "a.md"))), policy.ModePlan
		d, err := s.Policy().Decide(call)
		require.NoError(t, err)
		return own, d.Decision
	}
	put(filepath.Join(target, "docs", "index.md"), "x")
	put(filepath.Join(target, ".fettle", "plans", "old", "a.md"), "x")
	for dir, want := range map[string]bool{
		".fettle/agents": false, ".fettle/skills": false, ".git/hooks": false, ".gemini/agents": false, "docs": false, "src/.git": false,
		"notes": true, ".fettle/plans": true, ".fettle/plans/old": true, ".gemini/plans": true,
	} {
		own, verdict := goes(dir)
		require.Equal(t, want, own, dir)
		require.Equal(t, want, verdict == policy.Allow, dir)
	}

	put(filepath.Join(target, "notes", "plan.md"), "x")
	own, verdict := goes("notes")
	require.True(t, own, "it was empty when it became plan mode's own")
	require.Equal(t, policy.Allow, verdict)
	put(filepath.Join(target, "notes", "main.go"), "x")
	own, _ = goes("notes")
	require.False(t, own, "it holds more than plans")
}

// The hooks that the user approves are those that run.
func TestHooksOfPartsAreThoseOfSessions(t *testing.T) {
	home := t.TempDir()
	dir := library(t, home)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hooks", "hooks.json"), []byte(`{"hooks": {
		"SessionStart": {"hooks": [{"command": "one", "env": {"B": "1", "A": "2"}, "COMMAND": "x"}]},
		"BeforeTool": [{"matcher": "glob", "hooks": [{"command": "sh ${extensionPath}/two", "type": "command"}, {"Command": "none"}]}]}, "HOOKS": null}`), 0o600))
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir = home })
	store, err := s.Extensions().Store()
	require.NoError(t, err)
	all, err := s.Extensions().List()
	require.NoError(t, err)
	parts, err := store.PartsOf(t.Context(), all[0])
	require.NoError(t, err)
	require.Equal(t, []extensionstore.HookPart{
		{Event: "BeforeTool", Matcher: "glob", Command: "sh ${extensionPath}/two"},
		{Event: "SessionStart", Command: "one", Env: []string{"A", "B"}, Values: []string{"A=2", "B=1"}},
	}, parts.Hooks)
	running, err := s.Hooks().List(t.Context())
	require.NoError(t, err)
	require.Len(t, running, len(parts.Hooks))
}

// EX-01: an invalid exclusion is reported and excludes the whole tool.
func TestExcludedWithoutCommands(t *testing.T) {
	home := t.TempDir()
	dir := library(t, home)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gemini-extension.json"), []byte(`{"name": "library", "version": "1", "excludeTools": ["run_shell_command()", "glob"]}`), 0o600))
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir = home })
	require.False(t, hasTool(t, s, "run_shell_command"))
	require.False(t, hasTool(t, s, "glob"))
	problems, err := s.Extensions().Problems()
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(problems), "its parentheses are empty")
}

// EX-01: wildcards and other programs' names in excludeTools are denied in every
// mode.
func TestExcludedWildcards(t *testing.T) {
	for _, entry := range []string{"run_shell_command(sudo *)", "run_shell_command(sudo:*)", "ShellTool(sudo *, doas *)", "Bash(sudo:*)", "run_shell_command(sudo * -i)"} {
		home := t.TempDir()
		dir := library(t, home)
		manifest := fmt.Sprintf(`{"name": "library", "version": "1", "excludeTools": [%q]}`, entry)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "gemini-extension.json"), []byte(manifest), 0o600))
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModeYolo })
		require.True(t, hasTool(t, s, "run_shell_command"), entry)
		require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command("cd . && sudo ls")).Decision, entry)
		require.Equal(t, policy.Allow, explained(t, s.Config, "run_shell_command", command("ls")).Decision, entry)
	}
}

// Parameters take precedence for embedders.
func TestExtensionParameters(t *testing.T) {
	home := t.TempDir()
	library(t, home)
	active := func(change func(p *config.Parameters)) []string {
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir = home; change(p) })
		all, err := s.Extensions().List()
		require.NoError(t, err)
		all = slices.DeleteFunc(all, func(e extensions.Extension) bool { return !e.Active })
		var list []string
		for _, e := range all {
			list = append(list, e.Name)
		}
		return list
	}
	require.Equal(t, []string{"library"}, active(func(*config.Parameters) {}))
	require.Empty(t, active(func(p *config.Parameters) { p.Extensions.Disabled = true }))
	require.Empty(t, active(func(p *config.Parameters) { p.Extensions.Only = []string{"none"} }))
	own := library(t, t.TempDir())
	require.Equal(t, []string{"library"}, active(func(p *config.Parameters) { p.Environment.HomeDir, p.Extensions.Dirs = t.TempDir(), []string{own} }))
}
