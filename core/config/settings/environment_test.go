package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// Variables in texts; undefined ones stay.
func TestVariablesInTexts(t *testing.T) {
	m := newMachine(t)
	m.Environ = []string{"A=a", "LATER=first", "LATER=$A", "EMPTY="}
	for text, want := range map[string]string{
		"$A":              "a",
		"x${A}y$A.$AB":    "xay" + "a.$AB",
		"$NONE ${NONE}":   "$NONE ${NONE}",
		"${NONE:-d e}":    "d e",
		"${NONE:-}":       "",
		"${A:-d}":         "a",
		"${EMPTY:-d}":     "d",
		"[$EMPTY]":        "[]",
		"$LATER":          "$A",
		"$ $1 ${} ${A $$": "$ $1 ${} ${A $$",
		"$$A":             "$a",
	} {
		m.user(`{"web": {"search": {"body": "` + text + `", "headers": {"$A": "` + text + `"}}}, "tools": {"exclude": ["` + text + `"]}}`)
		r := m.clean()
		require.Equal(t, want, r.Settings.Web.Search.Body, text)
		require.Equal(t, map[string]string{"$A": want}, r.Settings.Web.Search.Headers, text)
		require.Equal(t, []string{want}, r.Settings.Tools.Exclude, text)
		require.Equal(t, text, r.Origins("web.search.body")[0].Value, "as it is written")
	}
	m.Environ = []string{"N=7", "B=true"}
	m.user(`{"tools": {"shell": {"inactivityTimeout": "$N", "enableInteractiveShell": "${B}"}}}`)
	require.Equal(t, 7, m.clean().Settings.Tools.Shell.InactivityTimeout)
}

// Variables that are settings, under either layout.
func TestEnvironment(t *testing.T) {
	m := newMachine(t)
	m.user(`{"sandbox": {"command": "docker", "image": "i"}, "fileReadCacheDisabled": false}`)
	m.Environ = []string{"FETTLE_FILE_READ_CACHE_DISABLED=1", "FETTLE_SANDBOX=landlock", "FETTLE_APPROVAL_MODE=plan", "FETTLE_MODEL=", "GEMINI_MODEL=x"}
	s := m.clean().Settings
	require.True(t, s.Tools.FileReadCacheDisabled)
	require.Equal(t, settings.SandboxLandlock, s.Tools.Sandbox.Kind())
	require.Equal(t, "plan", s.General.DefaultApprovalMode)
	require.Equal(t, "auto", s.Model.Name, "an empty variable is none")

	m.Environ = []string{"FETTLE_SANDBOX=podman", "FETTLE_SANDBOX_IMAGE=j"}
	s = m.clean().Settings
	require.Equal(t, settings.SandboxContainer, s.Tools.Sandbox.Kind())
	require.Equal(t, "podman j", s.Tools.Sandbox.Command+" "+s.Tools.Sandbox.Image)
	m.Environ = []string{"FETTLE_SANDBOX=false"}
	require.Equal(t, settings.SandboxNone, m.clean().Settings.Tools.Sandbox.Kind())

	m.Environ = []string{"FETTLE_SANDBOX=none"}
	require.Equal(t, settings.SandboxNone, m.clean().Settings.Tools.Sandbox.Kind())
	m.Environ = []string{"FETTLE_SANDBOX=auto"}
	require.Equal(t, settings.SandboxAuto, m.clean().Settings.Tools.Sandbox.Kind())

	m.Environ = []string{"FETTLE_APPROVAL_MODE=fast"}
	p := only(t, m.load())
	require.Equal(t, "the variable FETTLE_APPROVAL_MODE", p.Path)
	require.Equal(t, settings.Error, p.Severity)

	// CR-27: the other layout has other names, for files too.
	system := m.Layout.SystemDir
	m.Layout = layout.Gemini()
	m.Layout.SystemDir = system
	m.write("home/.gemini/settings.json", `{"context": {"fileFiltering": {"respectGeminiIgnore": false}}}`)
	m.write("moved.json", `{"tools": {"exclude": ["edit"]}}`)
	m.Environ = []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=" + m.path("moved.json"), "GEMINI_MODEL=g", "FETTLE_MODEL=f"}
	s = m.clean().Settings
	require.Equal(t, "g", s.Model.Name)
	require.False(t, s.Context.FileFiltering.RespectFettleIgnore)
	require.Equal(t, []string{"edit"}, s.Tools.Exclude)
	require.Equal(t, settings.SandboxAuto, s.Tools.Sandbox.Kind(), "nothing of the other layout")
}

func TestSandboxKind(t *testing.T) {
	for text, want := range map[string]settings.SandboxKind{
		`null`:                                  settings.SandboxAuto,
		`"auto"`:                                settings.SandboxAuto,
		`"none"`:                                settings.SandboxNone,
		`{"command": "none"}`:                   settings.SandboxNone,
		`{"networkAccess": true}`:               settings.SandboxAuto,
		`{"enabled": false, "command": "auto"}`: settings.SandboxNone,
		`false`:                                 settings.SandboxNone,
		`true`:                                  settings.SandboxLandlock,
		`"landlock"`:                            settings.SandboxLandlock,
		`"docker"`:                              settings.SandboxContainer,
		`{}`:                                    settings.SandboxAuto,
		`{"command": "docker", "image": "i"}`:   settings.SandboxContainer,
		`{"image": "i"}`:                        settings.SandboxContainer,
		`{"enabled": false, "command": "landlock"}`: settings.SandboxNone,
		`{"command": "landlock", "image": "i"}`:     settings.SandboxLandlock,
	} {
		m := newMachine(t)
		if text != "null" {
			m.user(`{"sandbox": ` + text + `}`)
		}
		require.Equal(t, want, m.clean().Settings.Tools.Sandbox.Kind(), text)
	}
	require.Equal(t, settings.SandboxAuto, settings.Sandbox{}.Kind())
}

// Flat keys, and the nested ones that take precedence over them.
func TestOtherNames(t *testing.T) {
	m := newMachine(t)
	m.user(`{
  "model": "m", "approvalMode": "plan", "sandbox": {"command": "docker", "image": "gemini-sandbox"}, "telemetry": {"enabled": true},
  "fileFiltering": {"respectGitIgnore": false, "maxFileCount": 20000}, "coreTools": ["glob"], "allowedTools": ["edit"], "excludeTools": ["x"],
  "checkpointing": true, "enableHooks": false, "enableAgents": false, "skillsSupport": false, "mcpEnabled": false, "output": "json",
  "mcpServers": {"local-server": {"command": "node", "args": ["./server.js"]}},
}`)
	s := m.clean().Settings
	want := settings.Defaults()
	enabled := want.Tools.Sandbox.Enabled
	want.Model.Name, want.General.DefaultApprovalMode = "m", "plan"
	want.Tools.Sandbox = settings.Sandbox{Enabled: enabled, Command: "docker", Image: "gemini-sandbox", NetworkAccess: true}
	want.Telemetry.Enabled, want.Context.FileFiltering.RespectGitIgnore = true, false
	want.Tools.Core, want.Tools.Allowed, want.Tools.Exclude = []string{"glob"}, []string{"edit"}, []string{"x"}
	want.General.Checkpointing.Enabled, want.HooksConfig.Enabled, want.Agents.Enabled = true, false, false
	want.Skills.Enabled, want.MCP.Enabled, want.Output.Format = false, false, "json"
	want.MCPServers = map[string]settings.MCPServer{"local-server": {Command: "node", Args: []string{"./server.js"}}}
	require.Equal(t, want, s)

	for _, text := range []string{
		`{"approvalMode": "plan", "general": {"defaultApprovalMode": "auto_edit"}}`,
		`{"general": {"defaultApprovalMode": "auto_edit"}, "approvalMode": "plan"}`,
	} {
		m.user(text)
		r := m.load()
		require.Equal(t, "auto_edit", r.Settings.General.DefaultApprovalMode)
		p := only(t, r)
		require.Equal(t, settings.KindTwice, p.Kind)
		require.Equal(t, settings.Warning, p.Severity)
	}
}

// How layers are merged.
func TestMerge(t *testing.T) {
	m := newMachine(t)
	m.Trusted = true
	m.write("etc/system-defaults.json", `{"tools": {"exclude": ["s"], "core": ["a", "b"]}, "policyPaths": ["p"],
		"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "1"}]}]}}`)
	m.write("home/.fettle/mcp-settings.json", `{"mcpServers": {"One": {"command": "mcp"}, "two": {"command": "mcp"}}, "model": "no"}`) // CR-25
	m.user(`{"tools": {"exclude": ["u", "s"], "core": ["c"]}, "context": {"includeDirectories": ["x"]}, "policyPaths": ["q", "p"],
		"mcpServers": {"one": {"command": "user"}, "two": {"url": "u"}}}`)
	m.project(`{"context": {"includeDirectories": ["x", "y"]}, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "2"}]}], "AfterTool": []},
		"mcpServers": {"two": {"command": "project", "env": {"Path": "p"}}}, "web": {"search": {"headers": {"X": "1"}}}}`)
	m.Flags = map[string]any{"tools.exclude": []string{"f"}}
	r := m.load()
	s := r.Settings
	require.Equal(t, []string{"s", "u", "f"}, s.Tools.Exclude, "union")
	require.Equal(t, []string{"c"}, s.Tools.Core, "replace")
	require.Equal(t, []string{"p", "q"}, s.PolicyPaths, "union")
	require.Equal(t, []string{"x", "x", "y"}, s.Context.IncludeDirectories, "concat")
	require.Equal(t, []string{"DEBUG", "DEBUG_MODE"}, s.Advanced.ExcludedEnvVars)
	hook := func(command string) settings.HookGroup {
		return settings.HookGroup{Hooks: []settings.Hook{{Type: "command", Command: command}}}
	}
	require.Equal(t, map[string][]settings.HookGroup{"BeforeTool": {hook("1"), hook("2")}, "AfterTool": {}}, s.Hooks, "concat by event")
	require.Equal(t, map[string]settings.MCPServer{
		"One": {Command: "mcp"}, "one": {Command: "user"}, "two": {Command: "project", Env: map[string]string{"Path": "p"}},
	}, s.MCPServers, "whole servers, the case of their names kept") // CF-06, KH-25
	var foreign int
	for _, p := range r.Problems {
		if p.Severity != settings.Notice {
			foreign++
			require.Equal(t, m.path("home/.fettle/mcp-settings.json"), p.Path)
			require.Equal(t, "model.name", p.Key)
		}
	}
	require.Equal(t, 1, foreign)
}

// GO-04: two concurrent loads share nothing.
func TestSideBySide(t *testing.T) {
	for name, command := range map[string]string{"a": "x", "b": "y"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.user(`{"tools": {"callCommand": "` + command + `"}, "mcpServers": {"` + name + `": {}}}`)
			for range 20 {
				s := m.clean().Settings
				require.Equal(t, command, s.Tools.CallCommand)
				require.Len(t, s.MCPServers, 1)
				require.Contains(t, s.MCPServers, name)
				s.MCPServers["c"] = settings.MCPServer{} // the caller owns the result
			}
		})
	}
}
