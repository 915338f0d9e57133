package settings_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// A project's files, which a confined command can write, do not disable the
// confinement of later sessions, even in a trusted directory.
func TestTrustedProjectKeepsTheWall(t *testing.T) {
	const docker = `{"sandbox": {"command": "docker", "image": "i", "networkAccess": false}}`
	for name, tt := range map[string]struct {
		user, project string
		key           string
		want          string // JSON of the value in force
		refused       bool
	}{
		"off":                          {docker, `{"sandbox": false}`, "tools.sandbox.enabled", `null`, true},
		"off, by its key":              {docker, `{"tools": {"sandbox": {"enabled": false}}}`, "tools.sandbox.enabled", `null`, true},
		"off, as a text":               {docker, `{"tools": {"sandbox": {"enabled": "false"}}}`, "tools.sandbox.enabled", `null`, true},
		"no command":                   {docker, `{"sandbox": {"command": ""}}`, "tools.sandbox.command", `"docker"`, true},
		"another kind":                 {docker, `{"sandbox": "landlock"}`, "tools.sandbox.command", `"docker"`, true},
		"a kind for an image":          {`{"sandbox": {"image": "i"}}`, `{"sandbox": "landlock"}`, "tools.sandbox.command", `""`, true},
		"a program":                    {`{"sandbox": "landlock"}`, `{"sandbox": "./evil"}`, "tools.sandbox.command", `"landlock"`, true},
		"a mistake":                    {docker, `{"sandbox": 7}`, "tools.sandbox.command", `"docker"`, true},
		"a first program":              {`{}`, `{"sandbox": {"command": "./evil", "image": "i"}}`, "tools.sandbox.command", `""`, true},
		"another image":                {docker, `{"sandbox": {"image": "evil"}}`, "tools.sandbox.image", `"i"`, true},
		"folders":                      {docker, `{"sandbox": {"allowedPaths": ["/"]}}`, "tools.sandbox.allowedPaths", `null`, true},
		"the proxy":                    {docker, `{"web": {"proxyDecides": true}}`, "web.proxyDecides", `false`, true},
		"the network":                  {docker, `{"sandbox": {"networkAccess": true}}`, "tools.sandbox.networkAccess", `false`, true},
		"on":                           {`{"sandbox": false}`, `{"sandbox": "landlock"}`, "tools.sandbox.enabled", `true`, false},
		"on, and by the kernel":        {`{}`, `{"sandbox": "landlock"}`, "tools.sandbox.command", `"landlock"`, false},
		"no network":                   {`{}`, `{"sandbox": {"networkAccess": false}}`, "tools.sandbox.networkAccess", `false`, false},
		"a program that finds tools":   {docker, `{"tools": {"discoveryCommand": "evil"}}`, "tools.discoveryCommand", `""`, true},
		"a program that runs tools":    {docker, `{"toolCallCommand": "evil"}`, "tools.callCommand", `""`, true},
		"servers":                      {docker, `{"mcpServers": {"x": {"command": "evil"}}}`, "mcpServers", `null`, true},
		"a server":                     {docker, `{"mcpServerCommand": "evil"}`, "mcp.serverCommand", `""`, true},
		"hooks":                        {docker, `{"hooks": {"E": [{"hooks": [{"type": "command", "command": "evil"}]}]}}`, "hooks", `null`, true},
		"an editor":                    {docker, `{"preferredEditor": "evil"}`, "general.preferredEditor", `""`, true},
		"directories of the workspace": {docker, `{"includeDirectories": ["/etc"]}`, "context.includeDirectories", `null`, true},
		"its own confinement":          {`{}`, `{"sandbox": true, "toolCallCommand": "x"}`, "tools.callCommand", `""`, true},
		"programs without one":         {`{}`, `{"toolCallCommand": "mine"}`, "tools.callCommand", `"mine"`, false},
		"directories without one":      {`{"sandbox": false}`, `{"includeDirectories": ["/etc"]}`, "context.includeDirectories", `["/etc"]`, false},
		"none":                         {docker, `{"sandbox": "none"}`, "tools.sandbox.enabled", `null`, true},
		"auto for every command":       {docker, `{"sandbox": "auto"}`, "tools.sandbox.command", `"docker"`, true},
		"auto for landlock":            {`{"sandbox": true}`, `{"sandbox": "auto"}`, "tools.sandbox.command", `""`, true},
		"auto for none":                {`{"sandbox": "none"}`, `{"sandbox": "auto"}`, "tools.sandbox.command", `"auto"`, false},
		"landlock for auto":            {`{"sandbox": "auto"}`, `{"sandbox": "landlock"}`, "tools.sandbox.command", `"landlock"`, false},
		"servers with auto":            {`{"sandbox": "auto"}`, `{"mcpServerCommand": "mine"}`, "mcp.serverCommand", `"mine"`, false},
		"what has nothing to do with":  {docker, `{"approvalMode": "auto_edit"}`, "general.defaultApprovalMode", `"auto_edit"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Trusted = true
			m.user(tt.user)
			path := m.project(tt.project)
			r := m.load()
			requireJSON(t, r, tt.key, tt.want)
			told := slices.ContainsFunc(r.Problems, func(p fault.Problem) bool {
				return p.Kind == settings.KindProject && p.Key == tt.key && p.Path == path && p.Line == 1 && p.Remedy == "Set it in your own settings."
			})
			require.Equal(t, tt.refused, told, "%v", r.Problems)
		})
	}
}

func requireJSON(t *testing.T, r *settings.Result, key, want string) {
	t.Helper()
	got, err := json.Marshal(r.Value(key))
	require.NoError(t, err)
	require.JSONEq(t, want, string(got), "%s: %v", key, r.Problems)
}

// A mistake in a trusted project's settings of the confinement lets no command
// run.
func TestTrustedProjectsMistakeShuts(t *testing.T) {
	m := newMachine(t)
	m.Trusted = true
	m.project(`{"sandbox": 7}`)
	r := m.load()
	require.Equal(t, settings.SandboxContainer, r.Settings.Tools.Sandbox.Kind())
	require.Empty(t, r.Settings.Tools.Sandbox.Image)
}

// Nor does a .env file of the project.
func TestProjectsVariablesKeepTheWall(t *testing.T) {
	for name, tt := range map[string]struct {
		user, home, project string
		environ             []string
		key, want           string
	}{
		"off, by a variable":            {`{"sandbox": "landlock"}`, "", "FETTLE_SANDBOX=false", nil, "tools.sandbox.enabled", `true`},
		"another program":               {`{"sandbox": "landlock"}`, "", "FETTLE_SANDBOX=./evil", nil, "tools.sandbox.command", `"landlock"`},
		"another command":               {`{"sandbox": "landlock"}`, "", "FETTLE_SANDBOX_COMMAND=./evil", nil, "tools.sandbox.command", `"landlock"`},
		"an image":                      {`{"sandbox": {"command": "docker", "image": "i"}}`, "", "FETTLE_SANDBOX_IMAGE=evil", nil, "tools.sandbox.image", `"i"`},
		"on":                            {`{}`, "", "FETTLE_SANDBOX=landlock", nil, "tools.sandbox.command", `"landlock"`},
		"beside one of the process":     {`{}`, "", "FETTLE_SANDBOX=landlock", []string{"FETTLE_SANDBOX_COMMAND=docker", "FETTLE_SANDBOX_IMAGE=i"}, "tools.sandbox.command", `"docker"`},
		"in the place of the user's":    {`{}`, "FETTLE_SANDBOX=landlock\nOTHER=1", "OTHER=2", nil, "tools.sandbox.command", `"landlock"`},
		"against the user's":            {`{}`, "FETTLE_SANDBOX=landlock", "FETTLE_SANDBOX=false", nil, "tools.sandbox.enabled", `true`},
		"a variable in the user's":      {`{"sandbox": {"command": "docker", "image": "${IMAGE:-i}"}}`, "", "IMAGE=evil", nil, "tools.sandbox.image", `""`},
		"a directory in the user's":     {`{"sandbox": {"command": "landlock", "allowedPaths": ["$MORE"]}}`, "", "MORE=/", nil, "tools.sandbox.allowedPaths", `null`},
		"a program in the user's":       {`{"sandbox": true, "toolCallCommand": "$BIN/call"}`, "", "BIN=/evil", nil, "tools.callCommand", `""`},
		"a program without confinement": {`{"toolCallCommand": "$BIN/call"}`, "", "BIN=/mine", nil, "tools.callCommand", `"/mine/call"`},
		"the user's own variable":       {`{"sandbox": true, "toolCallCommand": "$BIN/call"}`, "", "BIN=/evil", []string{"BIN=/mine"}, "tools.callCommand", `"/mine/call"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"project/.env", "project/.fettle/.env"} {
				m := newMachine(t)
				m.Trusted = true
				m.Environ = tt.environ
				m.user(tt.user)
				m.write("home/.fettle/.env", tt.home)
				m.write(file, tt.project)
				requireJSON(t, m.load(), tt.key, tt.want)
			}
		})
	}
	m := newMachine(t)
	m.Trusted = true
	m.user(`{"sandbox": "landlock"}`)
	path := m.write("project/.env", "FETTLE_SANDBOX=false\nX=1")
	m.write("home/.env", "FETTLE_SANDBOX_IMAGE=i\nX=2\nY=2")
	r := m.load()
	p := only(t, r)
	require.Equal(t, settings.KindProject, p.Kind)
	require.Equal(t, "the variable FETTLE_SANDBOX in "+path, p.Path)
	require.Equal(t, map[string]string{"FETTLE_SANDBOX": "false", "FETTLE_SANDBOX_IMAGE": "i", "X": "1"}, r.Env)
	require.True(t, r.OfProject("X"))
	require.False(t, r.OfProject("FETTLE_SANDBOX_IMAGE"))
	require.False(t, r.OfProject("Y"))
}

// CR-27: likewise with both names of a variable in the other layout.
func TestBothNamesOfAVariable(t *testing.T) {
	m := newMachine(t)
	m.Layout.Name, m.Layout.EnvPrefix, m.Layout.Dir = "gemini", "GEMINI_", ".gemini"
	m.Trusted = true
	m.Environ = []string{"GEMINI_CLI_SANDBOX=landlock"}
	m.write("project/.env", "GEMINI_SANDBOX=false")
	require.Equal(t, settings.SandboxLandlock, m.load().Settings.Tools.Sandbox.Kind())
}

// Each entry of a merged list has its own file and line.
func TestEntries(t *testing.T) {
	m := newMachine(t)
	user := m.user("{\n  \"tools\": {\n    \"exclude\": [\n      \"a\",\n      5, \"b\"],\n    \"core\": [\"x\",\n      \"y\"]}}")
	project := m.project("{\"tools\": {\n  \"exclude\": [\"b\", \"c\"],\n \"core\": [\"y\", \"z\"], \"confirmationRequired\": [\"q\"]}}")
	m.Flags = map[string]any{"tools.exclude": []string{"d", "a"}}
	r := m.load()
	at := func(key string) []string {
		var all []string
		for _, e := range r.Entries(key) {
			place := ""
			if e.Origin.Line > 0 {
				place = ":" + string(rune('0'+e.Origin.Line))
			}
			all = append(all, e.Text+" "+e.Origin.Source+place)
			require.Equal(t, e.Text, e.Origin.Value)
		}
		return all
	}
	require.Equal(t, []string{"a " + user + ":4", "b " + user + ":5", "c " + project + ":2", "d the command line"}, at("tools.exclude"))
	require.Equal(t, []string{"y " + project + ":3"}, at("tools.core"))
	require.Equal(t, []string{"q " + project + ":3"}, at("tools.confirmationRequired"))
	require.Equal(t, []string{"DEBUG ", "DEBUG_MODE "}, at("advanced.excludedEnvVars"))
	require.Empty(t, r.Entries("tools.allowed"))
	require.Empty(t, r.Entries("model.name"))
	require.Empty(t, r.Entries("no.key"))
	for _, k := range settings.Keys() {
		if list, ok := r.Value(k.Path).([]any); ok {
			var texts []any
			for _, e := range r.Entries(k.Path) {
				texts = append(texts, e.Text)
			}
			require.Equal(t, list, texts, k.Path)
		}
	}

	// A list to which an untrusted project adds, although lists replace each
	// other.
	m.user("{\"tools\": {\"confirmationRequired\": [\"p\"]}}")
	r = m.load()
	require.Equal(t, []string{"p " + user + ":1", "q " + project + ":3"}, at("tools.confirmationRequired"))
	m.user(`{"tools": {"exclude": "` + strings.Repeat("a", 3) + `"}}`)
	m.Flags = nil
	r = m.load()
	require.Equal(t, []string{"aaa " + user + ":1", "b " + project + ":2", "c " + project + ":2"}, at("tools.exclude"))
}
