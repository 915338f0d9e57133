package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// run is the result of one run of the program.
type run struct {
	code           int
	stdout, stderr string
}

// runIn runs the program in a directory, with a home directory and PATH only.
func runIn(t *testing.T, home, dir string, args ...string) run {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fettle", args...)
	return runCommand(t, cmd, home, dir)
}

func runCommand(t *testing.T, cmd *exec.Cmd, home, dir string) run {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, brief...)
	err := cmd.Run()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("the program cannot be run by another user")
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return run{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// settingsMistake is the text of a settings file with its expected problem.
type settingsMistake struct {
	text string
	code int    // of fettle config validate
	at   string // line and column of the first problem; "": none
}

// fileMistakes returns the files that are rejected as a whole. They are many
// megabytes: as a variable they would be created at every start of the program, which
// is this binary.
func fileMistakes() map[string]settingsMistake {
	return map[string]settingsMistake{
		"a brace alone":             {"{", 4, ""},
		"a closing brace":           {"}", 4, "1:1"},
		"brackets crossed":          {"{\"tools\": {]}", 4, "1:12"},
		"a list":                    {"[]", 4, "1:1"},
		"null":                      {"null", 4, "1:1"},
		"a number":                  {" 42", 4, "1:2"},
		"a text":                    {"\n\"tools\"", 4, "2:1"},
		"no colon":                  {"{\"tools\" {}}", 4, "1:10"},
		"no value":                  {"{\"tools\": }", 4, "1:11"},
		"no comma":                  {"{\n  \"tools\": {}\n  \"web\": {}\n}", 4, "3:3"},
		"two commas":                {"{\"tools\": {},, \"web\": {}}", 4, "1:14"},
		"a comma alone":             {"{,}", 4, "1:2"},
		"a bare key":                {"{tools: {}}", 4, "1:2"},
		"single quotes":             {"{'tools': {}}", 4, "1:2"},
		"a misspelt truth":          {"{\"useWriteTodos\": tru}", 4, "1:19"},
		"a capital truth":           {"{\"useWriteTodos\": True}", 4, "1:19"},
		"a number that begins in 0": {"{\"x\": 01}", 4, "1:7"},
		"a number without its end":  {"{\"x\": 1e}", 4, "1:7"},
		"a sign alone":              {"{\"x\": -}", 4, "1:7"},
		"not a number":              {"{\"x\": NaN}", 4, "1:7"},
		"a text without its end":    {"{\"model\": \"x}", 4, ""},
		"a line feed in a text":     {"{\"model\": \"a\nb\"}", 4, "1:11"},
		"an unknown escape":         {"{\"model\": \"\\x\"}", 4, "1:11"},
		"half an escape":            {"{\"model\": \"\\u12\"}", 4, "1:11"},
		"two objects":               {"{} {}", 4, "1:4"},
		"something behind":          {"{\"x\": 1}\nx", 4, "2:1"},
		"a comment without its end": {"{} /* so", 4, "1:4"},
		"a hash as a comment":       {"# so\n{}", 4, "1:1"},
		"not UTF-8":                 {"{\"model\": \"\xff\"}", 4, "1:12"},
		"UTF-16":                    {"\xff\xfe{\x00}\x00", 4, "1:1"},
		"a NUL":                     {"{\x00}", 4, "1:2"},
		"many brackets":             {"{\"x\": " + strings.Repeat("[", 500_000), 4, ""},
		"many braces":               {strings.Repeat("{\"x\":", 180_000), 4, ""},
		"5 MB":                      {"{\"tools\": {\"exclude\": [\"glob\"]}" + strings.Repeat(" ", 5_000_000) + "}", 4, ""},
		"5 MB of entries":           {"{\"tools\": {\"exclude\": [" + strings.Repeat("\"glob\", ", 625_000) + "\"glob\"]}}", 4, ""},
		"a conflict of git":         {"{\n<<<<<<< HEAD\n  \"model\": \"a\"\n=======\n  \"model\": \"b\"\n>>>>>>> other\n}", 4, "2:1"},
	}
}

// valueMistakes are files in which at most one value is rejected.
var valueMistakes = map[string]settingsMistake{
	"nothing":                 {"", 0, ""},
	"blanks":                  {" \r\n\t", 0, ""},
	"a comment alone":         {"// so", 0, ""},
	"comments and commas":     {"{/* a */ \"web\": {\"allowedHosts\": [\"a\",],}, // b\n}", 0, ""},
	"a byte order mark":       {"\ufeff{\"web\": {}}", 0, ""},
	"CRLF":                    {"{\r\n  \"web\": {}\r\n}\r\n", 0, ""},
	"a group that is a list":  {"{\n  \"tools\": []\n}", 4, "2:12"},
	"a group that is null":    {"{\"tools\": null}", 4, "1:11"},
	"a list that is a map":    {"{\"tools\": {\"allowed\": {\"a\": 1}}}", 4, "1:23"},
	"a list of numbers":       {"{\"tools\": {\"exclude\": [1]}}", 4, "1:24"},
	"a truth that is a list":  {"{\"useWriteTodos\": []}", 4, "1:19"},
	"a number as a text":      {"{\"tools\": {\"shell\": {\"timeout\": \"60\"}}}", 0, "1:33"},
	"a number beyond numbers": {"{\"tools\": {\"shell\": {\"timeout\": 1e999}}}", 4, "1:33"},
	"half a number":           {"{\"tools\": {\"shell\": {\"timeout\": 1.5}}}", 4, "1:33"},
	"a choice that is none":   {"{\"general\": {\"defaultApprovalMode\": \"never\"}}", 4, "1:37"},
	"a key twice":             {"{\"useWriteTodos\": true, \"useWriteTodos\": false}", 0, "1:42"},
	"a key nearly right":      {"{\"tool\": {}}", 0, "1:2"},
	"a key in capitals":       {"{\"Tools\": {}}", 0, "1:2"},
	"half a surrogate":        {"{\"model\": \"\\ud800\"}", 0, ""}, // valid JSON
	"a variable in brackets":  {"{\"policyPaths\": [], \"tools\": {\"allowed\": [\"${NOWHERE\"]}}", 0, ""},
}

// CF-05: each problem of a settings file is reported with its file and position,
// makes config validate exit with 4 if a value is ignored, and does not prevent a
// session.
func TestSettingsMistakes(t *testing.T) {
	t.Parallel()
	for where, mistakes := range map[string]map[string]settingsMistake{"file": fileMistakes(), "value": valueMistakes} {
		for name, m := range mistakes {
			t.Run(where+"/"+name, func(t *testing.T) {
				t.Parallel()
				top := realTemp(t)
				home, project := filepath.Join(top, "home"), filepath.Join(top, "project")
				user := writeSettings(t, home, m.text)
				writeSettings(t, project, `{"tools": {"exclude": ["write_file"]}}`)

				checked := runIn(t, home, project, "config", "validate")
				require.Equal(t, m.code, checked.code, "%+v", checked)
				require.Empty(t, checked.stderr)
				if m.at != "" {
					require.Contains(t, checked.stdout, user+":"+m.at+": ")
				} else if m.code != 0 {
					require.Contains(t, checked.stdout, user+":")
				}
				require.LessOrEqual(t, len(checked.stdout), 4000, "the report is short")

				listed := runIn(t, home, project, "call", "list_directory", `{"dir_path":"."}`)
				require.Zero(t, listed.code, "%+v", listed)
				require.True(t, json.Valid([]byte(listed.stdout)), listed.stdout)
				require.Equal(t, m.code == 4 || strings.Contains(checked.stdout, "warning: "), strings.Contains(listed.stderr, user), "only mistakes are reported: %s", listed.stderr)
			})
		}
	}
}

// CF-05: an invalid project file does not affect the user's settings.
func TestSettingsOfABrokenProject(t *testing.T) {
	t.Parallel()
	top := realTemp(t)
	home, project := filepath.Join(top, "home"), filepath.Join(top, "project")
	writeSettings(t, home, `{"tools": {"exclude": ["glob"]}}`)
	mistakes := fileMistakes()
	for _, name := range []string{"brackets crossed", "a list", "not UTF-8", "5 MB"} {
		file := writeSettings(t, project, mistakes[name].text)
		r := runIn(t, home, project, "tools")
		require.Zero(t, r.code, "%+v", r)
		require.NotContains(t, r.stdout, "\nglob ")
		require.Contains(t, r.stdout, "\nwrite_file ")
		require.Contains(t, r.stderr, file)
	}
}

// A file given with --settings must be readable, or the program does not start.
func TestSettingsOfAFlagMustBeReadable(t *testing.T) {
	t.Parallel()
	top := realTemp(t)
	for name, text := range map[string]string{"broken": "{", "large": strings.Repeat(" ", 5_000_000), "list": "[]"} {
		file := filepath.Join(top, name+".json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		r := runIn(t, top, top, "--settings", file, "call", "list_directory", `{"dir_path":"."}`)
		require.Equal(t, 4, r.code, "%+v", r)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, file)
		require.Equal(t, 1, strings.Count(r.stderr, "\n"))
	}
	r := runIn(t, top, top, "--settings", top, "tools")
	require.Equal(t, 4, r.code, "%+v", r)
}

func writeSettings(t *testing.T, top, text string) string {
	t.Helper()
	file := filepath.Join(top, ".fettle", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// CF-05: a large file within the limits applies to its last entry.
func TestSettingsOfManyEntries(t *testing.T) {
	t.Parallel()
	top := realTemp(t)
	var entries []string
	for i := range 20_000 {
		entries = append(entries, fmt.Sprintf("\n    \"tool_%d\"", i))
	}
	writeSettings(t, top, "{\"tools\": {\"exclude\": ["+strings.Join(entries, ",")+", \"glob\"]}}")
	work := filepath.Join(top, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	r := runIn(t, top, work, "tools")
	require.Zero(t, r.code, "%+v", r)
	require.NotContains(t, r.stdout, "\nglob ")
	require.Contains(t, r.stdout, "\nread_many_files ")
}
