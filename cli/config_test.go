package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/commands/settings"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// configPlace creates a home directory that contains a project and makes the project
// the current directory. The output of run shows the home directory as ~.
func configPlace(t *testing.T) (home string, run func(args ...string) (code program.ExitCode, stdout, stderr string)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("HOME does not name the home directory")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, "p"), 0o755))
	for name, value := range map[string]string{
		"HOME": home, "FETTLE_TRUST_WORKSPACE": "", "FETTLE_MODEL": "", "FETTLE_SANDBOX": "", "FETTLE_APPROVAL_MODE": "",
		"FETTLE_SYSTEM_SETTINGS_PATH": filepath.Join(home, "system.json"), "FETTLE_SYSTEM_DEFAULTS_PATH": filepath.Join(home, "defaults.json"),
	} {
		t.Setenv(name, value)
	}
	t.Chdir(filepath.Join(home, "p"))
	return home, func(args ...string) (program.ExitCode, string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		p := &program.Program{Out: &out, Err: &errs}
		var g program.Flags
		root := &cobra.Command{Use: "fettle", SilenceErrors: true, SilenceUsage: true}
		g.Register(root)
		root.AddCommand(settings.Command(p, &g))
		root.SetArgs(settings.NegativeValues(append([]string{"config"}, args...)))
		err := root.ExecuteContext(t.Context())
		failed := &program.ExitError{}
		if err != nil && !errors.As(err, &failed) {
			failed = &program.ExitError{Code: program.ExitToolError, Err: err}
		}
		if failed.Err != nil {
			p.PrintError(failed.Err)
		}
		return failed.Code, strings.ReplaceAll(out.String(), home, "~"), strings.ReplaceAll(errs.String(), home, "~")
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// CF-01: the origins of a key that every layer sets.
func TestConfigShow(t *testing.T) {
	home, run := configPlace(t)
	for file, name := range map[string]string{
		"defaults.json": "a", ".fettle/settings.json": "b", "p/.fettle/settings.json": "c", "system.json": "d",
	} {
		writeFile(t, filepath.Join(home, file), "{\n  \"model\": \""+name+"\"\n}\n")
	}
	t.Setenv("FETTLE_MODEL", "e")
	t.Setenv("FETTLE_TRUST_WORKSPACE", "true")
	code, stdout, stderr := run("show", "model.name")
	require.Zero(t, code, stderr)
	require.Equal(t, "\"e\"\n", stdout)
	_, stdout, _ = run("show", "model.name", "--origin")
	require.Equal(t, `model.name         "e"     environment
  environment      "e"     the variable FETTLE_MODEL
  system           "d"     ~/system.json:2
  project          "c"     ~/p/.fettle/settings.json:2
  user             "b"     ~/.fettle/settings.json:2
  system-defaults  "a"     ~/defaults.json:2
  default          "auto"  
`, stdout)
	code, stdout, _ = run("show", "model.name", "--json")
	require.Zero(t, code)
	require.Contains(t, stdout, `{"key":"model.name","value":"e","origins":[{"layer":"environment","source":"the variable FETTLE_MODEL","value":"e"},{"layer":"system"`)
	_, stdout, _ = run("show", "tools.shell")
	require.Contains(t, stdout, "tools.shell.inactivityTimeout")
	require.NotContains(t, stdout, "tools.core")
	_, stdout, _ = run("show")
	require.Contains(t, stdout, "context.fileFiltering.maxFileCount")

	code, _, stderr = run("show", "tools.cor")
	require.Equal(t, program.ExitUsage, code)
	require.Equal(t, "fettle: Unknown setting tools.cor. Did you mean tools.core?\n", stderr)
}

// CF-08: no secret is printed.
func TestConfigShowHidesSecrets(t *testing.T) {
	home, run := configPlace(t)
	t.Setenv("TOKEN", "s3cret")
	writeFile(t, filepath.Join(home, ".fettle/settings.json"), `{"web": {"search": {"url": "https://x/?k=$TOKEN", "headers": {"A": "s3cret", "B": "$TOKEN"}}},
		"mcpServers": {"X": {"command": "c", "env": {"K": "s3cret", "L": "${TOKEN}"}}}}`)
	for _, args := range [][]string{{"show"}, {"show", "--origin"}, {"show", "--json"}, {"show", "web.search.url"}, {"show", "web.search.headers"}, {"show", "mcpServers", "--origin"}} {
		code, stdout, stderr := run(args...)
		require.Zero(t, code)
		require.NotContains(t, stdout+stderr, "s3cret")
	}
	_, stdout, _ := run("show", "web.search.url")
	require.Equal(t, "\"https://x/?k=***\"\n", stdout, "it is filled in, and secret by the variable's name")
}

func TestConfigSet(t *testing.T) {
	home, run := configPlace(t)
	user, project := filepath.Join(home, ".fettle/settings.json"), filepath.Join(home, "p/.fettle/settings.json")
	writeFile(t, user, "{\n  // mine\n  \"useWriteTodos\": false\n}\n")
	code, stdout, stderr := run("set", "tools.shell.inactivityTimeout", "60")
	require.Zero(t, code, stderr)
	require.Equal(t, "tools.shell.inactivityTimeout is set in ~/.fettle/settings.json.\n", stdout)
	require.Empty(t, stderr)
	require.Equal(t, "{\n  // mine\n  \"useWriteTodos\": false,\n  \"tools\": {\n    \"shell\": {\n      \"inactivityTimeout\": 60\n    }\n  }\n}\n", readText(t, user))

	code, stdout, stderr = run("set", "--scope", "project", "tools.exclude", `["edit"]`, "--json")
	require.Zero(t, code, stderr)
	require.JSONEq(t, `{"key": "tools.exclude", "path": "~/p/.fettle/settings.json", "value": ["edit"]}`, stdout)
	require.Equal(t, "{\n  \"tools\": {\n    \"exclude\": [\"edit\"]\n  }\n}\n", readText(t, project))

	// The command warns of a setting without effect: the directory is untrusted, or
	// another layer takes precedence.
	_, _, stderr = run("set", "--scope", "project", "tools.allowed", `["edit"]`)
	require.Contains(t, stderr, "Because the directory is not trusted")
	_, _, stderr = run("set", "--scope", "project", "tools.allowed", "--unset")
	require.Empty(t, stderr)
	t.Setenv("FETTLE_APPROVAL_MODE", "plan")
	_, _, stderr = run("set", "general.defaultApprovalMode", "auto_edit")
	require.Equal(t, "fettle: The value of general.defaultApprovalMode is set by the variable FETTLE_APPROVAL_MODE, which takes precedence: \"plan\".\n", stderr)

	for _, tt := range []struct {
		args []string
		code program.ExitCode
		says string
	}{
		{[]string{"set", "tools.shell.inactivityTimeout"}, program.ExitUsage, "A key and a value are required"},
		{[]string{"set", "a", "--unset", "b"}, program.ExitUsage, "A key and a value are required"},
		{[]string{"set", "tools.shell.inactivityTimeout", "soon"}, program.ExitConfig, "is not a whole number"},
		{[]string{"set", "toolz.core", "x"}, program.ExitUsage, "Did you mean tools.core?"},
		{[]string{"set", "tools.shel", "x"}, program.ExitUsage, "Did you mean tools.shell?"},
		{[]string{"show", "tools.shel"}, program.ExitUsage, "Did you mean tools.shell?"},
	} {
		code, stdout, stderr := run(tt.args...)
		require.Equal(t, tt.code, code, tt.args)
		require.Empty(t, stdout)
		require.Contains(t, stderr, tt.says)
	}
	t.Chdir(home)
	code, _, stderr = run("set", "useWriteTodos", "true", "--scope", "project")
	require.Equal(t, program.ExitUsage, code)
	require.Contains(t, stderr, "There is no project settings file here.")
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// The examples of the help text work.
func TestConfigSetExamples(t *testing.T) {
	home, run := configPlace(t)
	writeFile(t, filepath.Join(home, ".fettle/settings.json"), `{"model": "m"}`)
	examples := 0
	for line := range strings.Lines(settings.ConfigSetCommand((&program.Program{}), &program.Flags{}).Example) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "fettle config ")
		require.True(t, ok, line)
		examples++
		code, stdout, stderr := run(strings.Fields(strings.ReplaceAll(args, "'", ""))...)
		require.Zero(t, code, "%s: %s", line, stderr)
		require.NotEmpty(t, stdout)
	}
	require.Greater(t, examples, 3)
	text := readText(t, filepath.Join(home, ".fettle/settings.json"))
	require.NotContains(t, text, "model")
	require.Contains(t, text, `"inactivityTimeout": 60`)
	require.Contains(t, readText(t, filepath.Join(home, "p/.fettle/settings.json")), `"write_file"`)
}

// CF-05: problems with their positions; exit code 4 if one is an error.
func TestConfigValidate(t *testing.T) {
	home, run := configPlace(t)
	code, stdout, _ := run("validate")
	require.Zero(t, code)
	require.Equal(t, "No problems in 0 settings files.\n", stdout)
	user := filepath.Join(home, ".fettle/settings.json")
	writeFile(t, user, `{"tools": {}}`)
	_, stdout, _ = run("validate")
	require.Equal(t, "No problems in 1 settings file.\n", stdout)

	writeFile(t, user, "{\n  \"toolz\": 1\n}")
	code, stdout, _ = run("validate")
	require.Zero(t, code, "a warning")
	require.Equal(t, "warning: ~/.fettle/settings.json:2:3: toolz: The key is unknown; it has no effect. If tools was meant, its protection is missing. Did you mean tools?\n", stdout)

	writeFile(t, user, "{\n  \"tools\": {\"core\": 5}\n}")
	code, stdout, stderr := run("validate")
	require.Equal(t, program.ExitConfig, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "error: ~/.fettle/settings.json:2:21: tools.core: The value 5 is not a list of texts")
	code, stdout, _ = run("validate", "--json")
	require.Equal(t, program.ExitConfig, code)
	require.Contains(t, stdout, `"line":2,"column":21,"key":"tools.core","kind":"wrong_value","severity":"error","expected":"a list of texts"`)
	_, _, stderr = run("show", "tools.exclude")
	require.Contains(t, stderr, "settings.json:2:21: tools.core")

	writeFile(t, user, "{")
	code, stdout, _ = run("validate")
	require.Equal(t, program.ExitConfig, code)
	require.Contains(t, stdout, "It is not a valid settings file")
}

// CF-02: every file in its place, under both layouts.
func TestConfigPath(t *testing.T) {
	home, run := configPlace(t)
	writeFile(t, filepath.Join(home, ".fettle/settings.json"), "{}")
	_, stdout, _ := run("path")
	require.Equal(t, `system-defaults  ~/defaults.json  (absent)
mcp-settings     ~/.fettle/mcp-settings.json  (absent)
user             ~/.fettle/settings.json
project          ~/p/.fettle/settings.json  (absent)
system           ~/system.json  (absent)
`, stdout)
	_, stdout, _ = run("path", "--json")
	require.Contains(t, stdout, `{"layer":"user","path":"~/.fettle/settings.json","exists":true}`)
	_, stdout, _ = run("path", "--layout", "gemini")
	require.Contains(t, stdout, "~/p/.gemini/settings.json")
	require.Contains(t, stdout, "/etc/gemini-cli/settings.json")
}

// The settings file of a project may be a symbolic link to any file: its target is
// not written.
func TestConfigSetKeepsToTheProject(t *testing.T) {
	home, run := configPlace(t)
	user := filepath.Join(home, ".fettle/settings.json")
	writeFile(t, user, "{}")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "p/.fettle"), 0o755))
	require.NoError(t, os.Symlink("../../.fettle/settings.json", filepath.Join(home, "p/.fettle/settings.json")))
	code, _, stderr := run("set", "--scope", "project", "tools.exclude", `["edit"]`)
	require.Equal(t, program.ExitConfig, code)
	require.Contains(t, stderr, "is a link out of the project, to ~/.fettle/settings.json")
	require.Equal(t, "{}", readText(t, user))
}

// The printed values are the effective ones: variables are expanded, and the layer is
// named.
func TestConfigShowIsWhatHolds(t *testing.T) {
	home, run := configPlace(t)
	t.Setenv("PLACE", "here")
	t.Setenv("TURNS", "7")
	writeFile(t, filepath.Join(home, ".fettle/settings.json"), `{"web": {"search": {"titlePath": "$PLACE.title"}}, "maxSessionTurns": "$TURNS", "tools": {"exclude": ["glob"]}}`)
	writeFile(t, filepath.Join(home, "p/.fettle/settings.json"), `{"approvalMode": "yolo", "tools": {"exclude": ["$PLACE"], "allowed": ["edit"]}}`)
	for key, want := range map[string]string{
		"web.search.titlePath": `"here.title"`, "model.maxSessionTurns": "7", "tools.exclude": `["glob","$PLACE"]`, "general.defaultApprovalMode": `"default"`,
	} {
		_, stdout, _ := run("show", key)
		require.Equal(t, want+"\n", stdout)
	}
	_, stdout, _ := run("show", "general")
	require.Regexp(t, `defaultApprovalMode +"default" +default\n`, stdout, "what an untrusted project says is refused")
	_, stdout, _ = run("show", "tools")
	require.Regexp(t, `tools.exclude .* project\n`, stdout)
	require.Regexp(t, `tools.allowed .* not given\n`, stdout)
	_, stdout, _ = run("show", "tools.core", "--json")
	require.Contains(t, stdout, `"origins":[]`)
}

// show and set accept the same names: flat names of older files, parts of maps, and
// names of the other layout.
func TestConfigNames(t *testing.T) {
	home, run := configPlace(t)
	user := filepath.Join(home, ".fettle/settings.json")
	writeFile(t, user, "{\n  // mine\n  \"mcpServers\": {\n    \"Srv\": {\"args\": [\"a\"]}, // kept\n  }\n}\n")
	for _, set := range [][]string{
		{"approvalMode", "plan"}, {"fileFiltering.maxFileCount", "7"}, {"sandbox.networkAccess", "false"}, {"model.maxSessionTurns", "-1"},
		{"mcpServers.Srv.command", "d"}, {"mcpServers.Srv.env.A.b", "5"}, {"mcpServers.New.timeout", "5"}, {"web.search.headers.X-Z", "2"},
	} {
		code, _, stderr := run("set", set[0], set[1])
		require.Zero(t, code, stderr)
		_, stdout, _ := run("show", set[0])
		require.Contains(t, []string{set[1] + "\n", `"` + set[1] + "\"\n", "\"***\"\n"}, stdout, set)
	}
	text := readText(t, user)
	require.Contains(t, text, `"Srv": {"args": ["a"], "command": "d", "env": {"A.b": "5"}}`)
	require.Contains(t, text, "// kept")
	require.Contains(t, text, `"maxSessionTurns": -1`)
	_, stdout, _ := run("show", "sandbox")
	require.Contains(t, stdout, "tools.sandbox.networkAccess")
	_, stdout, _ = run("show", "mcpServers.Srv", "--json")
	require.Contains(t, stdout, `{"key":"mcpServers.Srv","value":{"args":["a"],"command":"d","env":{"A.b":"***"}},"origins":[{"layer":"user"`)
	code, _, stderr := run("set", "mcpServers.Srv.args", "--unset")
	require.Zero(t, code, stderr)
	require.Contains(t, readText(t, user), `"Srv": { "command": "d"`)
	_, _, stderr = run("set", "mcpServers.Srv.comand", "x")
	require.Contains(t, stderr, "Did you mean command?")
	_, _, stderr = run("set", "mcpServers.Srv.timeout", "x")
	require.Contains(t, stderr, "mcpServers.Srv.timeout")
	code, _, stderr = run("show", "")
	require.Zero(t, code, stderr)

	var errs bytes.Buffer
	require.Zero(t, execute(t.Context(), &program.Program{Out: &errs, Err: &errs}, []string{"config", "set", "tools.shell.timeout", "-1"}), errs.String())
	require.Contains(t, readText(t, user), `"timeout": -1`)

	const own = "context.fileFiltering.respectFettleIgnore"
	other := filepath.Join(home, ".gemini/settings.json")
	for _, name := range []string{own, "context.fileFiltering.respectGeminiIgnore"} {
		writeFile(t, other, "{}")
		code, _, stderr := run("set", name, "false", "--layout", "gemini")
		require.Zero(t, code, stderr)
		require.Contains(t, readText(t, other), "respectGeminiIgnore")
		_, stdout, stderr := run("show", name, "--origin", "--layout", "gemini")
		require.Contains(t, stdout, "context.fileFiltering.respectGeminiIgnore", stderr)
	}
}

// Setting a value that prevents every session is reported.
func TestConfigSetTellsOfNoSession(t *testing.T) {
	_, run := configPlace(t)
	code, _, stderr := run("set", "sandbox", "docker")
	require.Zero(t, code)
	require.Contains(t, stderr, "no session is started")
	_, _, stderr = run("set", "sandbox", "--unset")
	require.Empty(t, stderr)
	_, _, stderr = run("set", "policyPaths", `["none.toml"]`)
	require.Contains(t, stderr, "no session is started")
}
