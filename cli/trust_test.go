package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/commands/settings"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// trustPlace creates a home directory with projects; p1 is the current directory.
func trustPlace(t *testing.T) (home string, run func(args ...string) (code int, stdout, stderr string)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("HOME does not name the home directory")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"p1/sub", "p1/list", "p2"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	t.Setenv("HOME", home)
	t.Setenv("FETTLE_TRUST_WORKSPACE", "")
	t.Setenv("GEMINI_TRUST_WORKSPACE", "")
	t.Setenv("GEMINI_CLI_TRUST_WORKSPACE", "")
	t.Chdir(filepath.Join(home, "p1"))
	return home, func(args ...string) (int, string, string) {
		t.Helper()
		code, stdout, stderr := fettle(t, &fakeSession{}, strings.NewReader(""), args...)
		return code, strings.ReplaceAll(stdout, home, "~"), strings.ReplaceAll(stderr, home, "~")
	}
}

func trustText(t *testing.T, home, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, dir, "trustedFolders.json"))
	require.NoError(t, err)
	return strings.ReplaceAll(string(data), home, "~")
}

// CF-09: the recorded entry, the deciding entry and its effect.
func TestTrustRecords(t *testing.T) {
	home, run := trustPlace(t)
	const file = "~/.fettle/trustedFolders.json"

	code, stdout, stderr := run("trust")
	require.Zero(t, code, stderr)
	require.Equal(t, "~/p1 is trusted, by entry ~/p1 of "+file+", line 2.\n"+
		"Its policies, hooks and servers apply, its settings and .env files are used, and approval mode yolo is available.\n", stdout)
	require.Empty(t, stderr)
	require.Equal(t, "{\n  \"~/p1\": \"TRUST_FOLDER\"\n}\n", trustText(t, home, ".fettle"))

	code, stdout, _ = run("untrust", "sub")
	require.Zero(t, code)
	require.Contains(t, stdout, "~/p1/sub is untrusted, by entry ~/p1/sub of "+file+", line 3.")
	require.Contains(t, stdout, "yolo is refused")
	require.Contains(t, stdout, "instruction files are not given") // FT-20
	require.Contains(t, stdout, "git commands need approval")

	code, stdout, _ = run("trust", "list")
	require.Zero(t, code)
	require.Equal(t, "* trusted    ~/p1\n  untrusted  ~/p1/sub\n~/p1 is trusted, by entry ~/p1 of "+file+", line 2.\n", stdout)
	_, stdout, _ = run("--cwd", "sub", "trust", "list")
	require.Contains(t, stdout, "* untrusted  ~/p1/sub\n")
	require.Contains(t, stdout, "  trusted    ~/p1\n")

	// Removing an entry makes the entry of the parent directory apply.
	code, stdout, _ = run("trust", "--forget", "./sub")
	require.Zero(t, code)
	require.Contains(t, stdout, "~/p1/sub is trusted, by entry ~/p1 of")
	code, stdout, _ = run("trust", "--forget")
	require.Zero(t, code)
	require.Contains(t, stdout, "~/p1 is undecided: no entry in "+file+".")
	require.Contains(t, stdout, "not allow")
	_, stdout, _ = run("trust", "list")
	require.Equal(t, "~/p1 is undecided: no entry in "+file+".\n", stdout)
}

func TestTrustPaths(t *testing.T) {
	home, run := trustPlace(t)
	for args, want := range map[string]string{
		"trust ./list":             "~/p1/list",
		"trust ../p2":              "~/p2",
		"trust " + home + "/p2":    "~/p2",
		"--cwd ../p2 trust":        "~/p2",
		"--cwd ../p2 trust .":      "~/p2",
		"--cwd .. untrust p1/new/": "~/p1/new",
	} {
		code, stdout, stderr := run(append(strings.Fields(args), "--json")...)
		require.Zero(t, code, stderr)
		var answer settings.TrustAnswer
		require.NoError(t, json.Unmarshal([]byte(stdout), &answer))
		require.Equal(t, want, answer.Dir, args)
		require.Equal(t, want, answer.Entry.Path, args)
		require.Equal(t, "~/.fettle/trustedFolders.json", answer.File)
		state := trust.Trusted
		if strings.Contains(args, "untrust") {
			state = trust.Untrusted
		}
		require.Equal(t, state, answer.State, args)
	}
}

func TestTrustListJSON(t *testing.T) {
	home, run := trustPlace(t)
	_, stdout, _ := run("trust", "list", "--json")
	require.Equal(t, "[]\n", stdout)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o700))
	text := strings.ReplaceAll("{\n  // mine\n  \"~/p1/sub\": \"TRUST_PARENT\",\n  \"~\": \"DO_NOT_TRUST\",\n}", "~", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "trustedFolders.json"), []byte(text), 0o600))
	code, stdout, _ := run("trust", "list", "--json")
	require.Zero(t, code)
	require.JSONEq(t, `[{"path":"~/p1/sub","folder":"~/p1","value":"TRUST_PARENT","state":"trusted","line":3,"decides":true},
		{"path":"~","folder":"~","value":"DO_NOT_TRUST","state":"untrusted","line":4,"decides":false}]`, stdout)
	_, stdout, _ = run("trust", "list")
	require.Contains(t, stdout, "* trusted    ~/p1  (recorded as TRUST_PARENT of ~/p1/sub)\n")
}

// CR-27: --layout gemini keeps the record in the directory of gemini-cli.
func TestTrustLayout(t *testing.T) {
	home, run := trustPlace(t)
	code, _, stderr := run("--layout", "gemini", "trust")
	require.Zero(t, code, stderr)
	require.Contains(t, trustText(t, home, ".gemini"), `"~/p1": "TRUST_FOLDER"`)
	require.NoDirExists(t, filepath.Join(home, ".fettle"))
}

// Trusting the whole home directory prints a warning.
func TestTrustHomeWarns(t *testing.T) {
	home, run := trustPlace(t)
	for _, dir := range []string{home, filepath.Dir(home), "/"} {
		code, _, stderr := run("trust", dir)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "Everything below", dir)
		_, _, stderr = run("untrust", dir)
		require.Empty(t, stderr)
	}
	_, _, stderr := run("trust", "../p2")
	require.Empty(t, stderr)
}

func TestTrustVariableIsTold(t *testing.T) {
	_, run := trustPlace(t)
	t.Setenv("FETTLE_TRUST_WORKSPACE", "false")
	for _, args := range [][]string{{"trust"}, {"trust", "list"}} {
		code, _, stderr := run(args...)
		require.Zero(t, code)
		require.Contains(t, stderr, "FETTLE_TRUST_WORKSPACE overrides the recorded trust: the target directory is untrusted.")
	}
	t.Setenv("FETTLE_TRUST_WORKSPACE", " ")
	_, _, stderr := run("trust")
	require.Empty(t, stderr)
	t.Setenv("FETTLE_TRUST_WORKSPACE", "no")
	_, _, stderr = run("trust")
	require.Contains(t, stderr, `The variable FETTLE_TRUST_WORKSPACE is invalid: The value "no"`)

	// CR-27: each layout has its own variable; the first that is set wins.
	_, _, stderr = run("--layout", "gemini", "trust")
	require.Empty(t, stderr)
	t.Setenv("GEMINI_CLI_TRUST_WORKSPACE", "true")
	_, _, stderr = run("--layout", "gemini", "trust", "list")
	require.Contains(t, stderr, "The variable GEMINI_CLI_TRUST_WORKSPACE overrides the recorded trust: the target directory is trusted.")
	t.Setenv("GEMINI_TRUST_WORKSPACE", "false")
	_, _, stderr = run("--layout", "gemini", "trust", "list")
	require.Contains(t, stderr, "The variable GEMINI_TRUST_WORKSPACE overrides the recorded trust: the target directory is untrusted.")
	require.Equal(t, 1, strings.Count(stderr, "\n"))
}

func TestTrustFails(t *testing.T) {
	home, run := trustPlace(t)
	require.NoError(t, os.WriteFile("file", nil, 0o600))
	for args, want := range map[string]string{
		"trust nosuch":        "does not exist",
		"trust file":          "not a directory",
		"untrust file":        "not a directory",
		"trust a b":           "",
		"untrust a b":         "",
		"trust list x":        "",
		"trust --nosuch":      "nosuch",
		"--cwd nosuch trust":  "does not exist",
		"untrust --forget p1": "forget",
	} {
		code, stdout, stderr := run(strings.Fields(args)...)
		require.Equal(t, 2, code, "%s: %s", args, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
	}
	code, _, _ := run("trust", "")
	require.Equal(t, 2, code)
	require.NoDirExists(t, filepath.Join(home, ".fettle"))

	// An invalid file is a configuration error and is not changed.
	const broken = "{\n  \"~/p1\": \"MAYBE\"\n}"
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "trustedFolders.json"), []byte(strings.ReplaceAll(broken, "~", home)), 0o600))
	for _, args := range [][]string{{"trust"}, {"untrust"}, {"trust", "list"}, {"trust", "list", "--json"}} {
		code, stdout, stderr := run(args...)
		require.Equal(t, 4, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "~/.fettle/trustedFolders.json")
		require.Contains(t, stderr, "line 2")
		require.Contains(t, stderr, "TRUST_PARENT")
		require.Equal(t, 1, strings.Count(stderr, "\n"), "one line")
	}
	require.Equal(t, broken, trustText(t, home, ".fettle"))
}
