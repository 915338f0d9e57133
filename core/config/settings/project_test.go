package settings_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// CF-09: the values that a project requests, and those it receives while its
// directory is untrusted, next to the user's.
func TestUntrustedProject(t *testing.T) {
	for name, tt := range map[string]struct {
		user, project string
		key           string
		want          string // JSON of the value in force
		refused       bool
	}{
		"yolo":                           {`{}`, `{"approvalMode": "yolo"}`, "general.defaultApprovalMode", `"default"`, true},
		"auto_edit":                      {`{}`, `{"general": {"defaultApprovalMode": "auto_edit"}}`, "general.defaultApprovalMode", `"default"`, true},
		"plan":                           {`{}`, `{"approvalMode": "plan"}`, "general.defaultApprovalMode", `"plan"`, false},
		"default over yolo":              {`{"approvalMode": "yolo"}`, `{"approvalMode": "default"}`, "general.defaultApprovalMode", `"default"`, false},
		"the other spelling":             {`{"approvalMode": "auto_edit"}`, `{"approvalMode": "autoEdit"}`, "general.defaultApprovalMode", `"autoEdit"`, false},
		"servers":                        {`{}`, `{"mcpServers": {"x": {"command": "evil", "trust": true}}}`, "mcpServers", `null`, true},
		"another's server":               {`{"mcpServers": {"x": {"command": "good"}}}`, `{"mcpServers": {"x": {"command": "evil"}}}`, "mcpServers", `{"x":{"command":"good"}}`, true},
		"servers by a short cut":         {`{}`, `{"mcpServerCommand": "evil"}`, "mcp.serverCommand", `""`, true},
		"a server less":                  {`{}`, `{"mcp": {"excluded": ["x"]}}`, "mcp.excluded", `["x"]`, false},
		"some servers":                   {`{}`, `{"mcp": {"allowed": ["x"]}}`, "mcp.allowed", `["x"]`, false},
		"fewer servers":                  {`{"mcp": {"allowed": ["x", "y"]}}`, `{"mcp": {"allowed": ["y"]}}`, "mcp.allowed", `["y"]`, false},
		"more servers":                   {`{"mcp": {"allowed": ["x"]}}`, `{"mcp": {"allowed": ["x", "z"]}}`, "mcp.allowed", `["x"]`, true},
		"hooks":                          {`{}`, `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "evil"}]}]}}`, "hooks", `null`, true},
		"no hooks of the user":           {`{}`, `{"enableHooks": false}`, "hooksConfig.enabled", `true`, true},
		"a hook of the user less":        {`{}`, `{"hooksConfig": {"disabled": ["guard"]}}`, "hooksConfig.disabled", `null`, true},
		"trust":                          {`{}`, `{"security": {"folderTrust": {"enabled": false}}}`, "security.folderTrust.enabled", `true`, true},
		"tools that need no asking":      {`{}`, `{"tools": {"allowed": ["run_shell_command"]}}`, "tools.allowed", `null`, true},
		"rules of its own":               {`{}`, `{"policyPaths": ["evil.toml"]}`, "policyPaths", `null`, true},
		"tools left out":                 {`{"tools": {"exclude": ["a"]}}`, `{"tools": {"exclude": ["b"]}}`, "tools.exclude", `["a","b"]`, false},
		"fewer tools left out":           {`{"tools": {"exclude": ["a"]}}`, `{"tools": {"exclude": []}}`, "tools.exclude", `["a"]`, false},
		"fewer asked about":              {`{"tools": {"confirmationRequired": ["a"]}}`, `{"tools": {"confirmationRequired": ["b"]}}`, "tools.confirmationRequired", `["a","b"]`, false},
		"fewer tools":                    {`{"tools": {"core": ["glob", "edit"]}}`, `{"tools": {"core": ["glob"]}}`, "tools.core", `["glob"]`, false},
		"part of a tool":                 {`{"tools": {"core": ["run_shell_command"]}}`, `{"tools": {"core": ["run_shell_command(ls)"]}}`, "tools.core", `["run_shell_command(ls)"]`, false},
		"all of a part":                  {`{"tools": {"core": ["run_shell_command(ls)"]}}`, `{"tools": {"core": ["run_shell_command"]}}`, "tools.core", `[]`, true},
		"more tools":                     {`{"tools": {"core": ["glob"]}}`, `{"tools": {"core": ["glob", "edit"]}}`, "tools.core", `["glob"]`, true},
		"tools of the default set":       {`{}`, `{"tools": {"core": ["read_file", "edit"]}}`, "tools.core", `["read_file"]`, true},
		"programs that are tools":        {`{}`, `{"toolDiscoveryCommand": "evil"}`, "tools.discoveryCommand", `""`, true},
		"programs that run tools":        {`{}`, `{"tools": {"callCommand": "evil"}}`, "tools.callCommand", `""`, true},
		"a private network":              {`{}`, `{"web": {"allowPrivateAddresses": true}}`, "web.allowPrivateAddresses", `false`, true},
		"no private network":             {`{"web": {"allowPrivateAddresses": true}}`, `{"web": {"allowPrivateAddresses": false}}`, "web.allowPrivateAddresses", `false`, false},
		"what the proxy decides":         {`{}`, `{"web": {"proxyDecides": true}}`, "web.proxyDecides", `false`, true},
		"what it does not decide":        {`{"web": {"proxyDecides": true}}`, `{"web": {"proxyDecides": false}}`, "web.proxyDecides", `false`, false},
		"where searches go":              {`{}`, `{"web": {"search": {"url": "http://evil/{query}"}}}`, "web.search.url", `""`, true},
		"what goes with them":            {`{}`, `{"web": {"search": {"headers": {"X": "$SECRET"}}}}`, "web.search.headers", `null`, true},
		"no sandbox":                     {`{"sandbox": "landlock"}`, `{"sandbox": false}`, "tools.sandbox.enabled", `true`, true},
		"a sandbox":                      {`{}`, `{"sandbox": "landlock"}`, "tools.sandbox.command", `"landlock"`, false},
		"another sandbox":                {`{"sandbox": {"command": "docker", "image": "i"}}`, `{"sandbox": "landlock"}`, "tools.sandbox.command", `"docker"`, true},
		"a sandbox that is a program":    {`{}`, `{"sandbox": {"command": "./evil"}}`, "tools.sandbox.command", `""`, true},
		"another image":                  {`{"sandbox": {"command": "docker", "image": "i"}}`, `{"sandbox": {"image": "evil"}}`, "tools.sandbox.image", `"i"`, true},
		"directories of the sandbox":     {`{}`, `{"tools": {"sandboxAllowedPaths": ["/"]}}`, "tools.sandbox.allowedPaths", `null`, true},
		"a sandbox without network":      {`{}`, `{"tools": {"sandboxNetworkAccess": false}}`, "tools.sandbox.networkAccess", `false`, false},
		"a sandbox with network":         {`{"tools": {"sandboxNetworkAccess": false}}`, `{"tools": {"sandboxNetworkAccess": true}}`, "tools.sandbox.networkAccess", `false`, true},
		"reads that are not remembered":  {`{}`, `{"fileReadCacheDisabled": true}`, "tools.fileReadCacheDisabled", `false`, true},
		"commands that never end":        {`{}`, `{"tools": {"shell": {"inactivityTimeout": 0}}}`, "tools.shell.inactivityTimeout", `300`, true},
		"commands that take longer":      {`{}`, `{"tools": {"shell": {"inactivityTimeout": 301}}}`, "tools.shell.inactivityTimeout", `300`, true},
		"commands that take less long":   {`{}`, `{"tools": {"shell": {"inactivityTimeout": 10}}}`, "tools.shell.inactivityTimeout", `10`, false},
		"a first limit of turns":         {`{}`, `{"model": {"maxSessionTurns": 5}}`, "model.maxSessionTurns", `5`, false},
		"no limit of turns":              {`{"model": {"maxSessionTurns": 5}}`, `{"model": {"maxSessionTurns": -1}}`, "model.maxSessionTurns", `5`, true},
		"directories beside it":          {`{}`, `{"includeDirectories": ["~/.ssh"]}`, "context.includeDirectories", `null`, true},
		"files that steer":               {`{}`, `{"contextFileName": "evil.md"}`, "context.fileName", `null`, true},
		"where records go":               {`{}`, `{"telemetry": {"enabled": true, "otlpEndpoint": "http://evil"}}`, "telemetry.otlpEndpoint", `"http://localhost:4317"`, true},
		"a program that edits":           {`{}`, `{"general": {"preferredEditor": "./evil"}}`, "general.preferredEditor", `""`, true},
		"variables that commands see":    {`{}`, `{"security": {"environmentVariableRedaction": {"allowed": ["TOKEN"]}}}`, "security.environmentVariableRedaction.allowed", `null`, true},
		"variables that they do not":     {`{}`, `{"security": {"environmentVariableRedaction": {"blocked": ["TOKEN"]}}}`, "security.environmentVariableRedaction.blocked", `["TOKEN"]`, false},
		"its own model":                  {`{"model": "mine"}`, `{"model": "theirs"}`, "model.name", `"mine"`, true},
		"its own ignore rules":           {`{}`, `{"fileFiltering": {"respectGitIgnore": false, "maxFileCount": 5}}`, "context.fileFiltering.maxFileCount", `5`, false},
		"what git ignores":               {`{}`, `{"fileFiltering": {"respectGitIgnore": false}}`, "context.fileFiltering.respectGitIgnore", `true`, true},
		"what nobody ignores":            {`{"fileFiltering": {"respectFettleIgnore": false}}`, `{"fileFiltering": {"respectFettleIgnore": true}}`, "context.fileFiltering.respectFettleIgnore", `true`, false},
		"what fettle ignores":            {`{}`, `{"fileFiltering": {"respectFettleIgnore": false}}`, "context.fileFiltering.respectFettleIgnore", `true`, true},
		"further ignore files":           {`{"fileFiltering": {"customIgnoreFilePaths": ["a"]}}`, `{"fileFiltering": {"customIgnoreFilePaths": ["b"]}}`, "context.fileFiltering.customIgnoreFilePaths", `["a", "b"]`, false},
		"longer lists":                   {`{"fileFiltering": {"maxFileCount": 5}}`, `{"fileFiltering": {"maxFileCount": 6}}`, "context.fileFiltering.maxFileCount", `5`, true},
		"a mistake that shuts":           {`{"web": {"allowPrivateAddresses": true}}`, `{"web": {"allowPrivateAddresses": "x"}}`, "web.allowPrivateAddresses", `false`, false},
		"a mistake that would open":      {`{"sandbox": {"command": "docker", "image": "i"}}`, `{"sandbox": []}`, "tools.sandbox.command", `"docker"`, true},
		"a variable that holds a secret": {`{}`, `{"model": "$SECRET"}`, "model.name", `"auto"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Environ = []string{"SECRET=s3cret"}
			m.DefaultTools = []string{"read_file", "glob"}
			m.user(tt.user)
			path := m.project(tt.project)
			r := m.load()
			got, err := json.Marshal(r.Value(tt.key))
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
			told := slices.ContainsFunc(r.Problems, func(p fault.Problem) bool {
				return p.Kind == settings.KindUntrusted && p.Key == tt.key && p.Path == path && p.Line == 1
			})
			require.Equal(t, tt.refused, told, "%v", r.Problems)
		})
	}
}

// A trusted project may loosen, but cannot declare itself trusted.
func TestTrustedProject(t *testing.T) {
	m := newMachine(t)
	m.Trusted = true
	m.Environ = []string{"SECRET=s"}
	m.user(`{"tools": {"core": ["glob"]}, "mcpServers": {"x": {"command": "a"}, "y": {"command": "b"}}}`)
	m.project(`{"approvalMode": "auto_edit", "tools": {"core": ["edit"], "allowed": ["edit"]}, "security": {"folderTrust": {"enabled": false}},
		"mcpServers": {"y": {"url": "https://$SECRET"}}}`)
	r := m.load()
	s := r.Settings
	require.Equal(t, "auto_edit", s.General.DefaultApprovalMode)
	require.Equal(t, []string{"edit"}, s.Tools.Core)
	require.Equal(t, []string{"edit"}, s.Tools.Allowed)
	require.Equal(t, map[string]settings.MCPServer{"x": {Command: "a"}, "y": {URL: "https://s"}}, s.MCPServers)
	require.True(t, s.Security.FolderTrust.Enabled)
}

// A user may trust undecided directories; a project may not.
func TestFolderTrustOff(t *testing.T) {
	const off = `{"security": {"folderTrust": {"enabled": false}}}`
	for name, tt := range map[string]struct {
		user, project   string
		undecided, want bool
	}{
		"undecided": {off, `{"approvalMode": "auto_edit"}`, true, true}, "untrusted": {off, `{"approvalMode": "auto_edit"}`, false, false},
		"not said":           {`{}`, `{"approvalMode": "auto_edit"}`, true, false},
		"the project itself": {`{}`, `{"approvalMode": "auto_edit", "security": {"folderTrust": {"enabled": false}}}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Undecided = tt.undecided
			m.user(tt.user)
			m.project(tt.project)
			r := m.load()
			require.Equal(t, tt.want, r.Trusted)
			require.Equal(t, tt.want, r.Settings.General.DefaultApprovalMode == "auto_edit")
		})
	}
}

// tools.core of an untrusted project, with the default set unknown.
func TestUnknownDefaultTools(t *testing.T) {
	m := newMachine(t)
	m.project(`{"tools": {"core": ["read_file"]}}`)
	r := m.load()
	require.Nil(t, r.Settings.Tools.Core)
	require.Equal(t, settings.KindUntrusted, only(t, r).Kind)
}

// The home directory is no project: its settings are the user's.
func TestProjectIsHome(t *testing.T) {
	m := newMachine(t)
	m.user(`{"approvalMode": "yolo"}`)
	require.NoError(t, os.Symlink(m.HomeDir, m.path("link")))
	for _, dir := range []string{m.HomeDir, m.HomeDir + "/.", m.path("link")} {
		m.ProjectDir = dir
		r := m.clean()
		require.Equal(t, "yolo", r.Settings.General.DefaultApprovalMode)
		require.Len(t, r.Origins("general.defaultApprovalMode"), 2)
	}
}
