package hookrun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// EX-06: the name of a directory is never run, in any position of a command, and the
// command finds the directory.
func TestNamesOfDirectoriesAreNoCommands(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, directory := range []string{"plain", "a b", "a;touch INJ;b", "$(touch INJ)", "`touch INJ`", `q"; touch INJ; "`, "q'; touch INJ; '", "$HOME", "a*\\", "é\n&touch INJ&"} {
		for name, tt := range map[string]struct {
			command string
			finds   bool // the file, for any name of the directory
		}{
			"bare":                   {`cat ${workspacePath}/x`, true},
			"in double quotes":       {`cat "${workspacePath}/x"`, true},
			"in part":                {`cat "${workspacePath}"/x`, true},
			"in a substitution":      {`printf %s "$(cat ${workspacePath}/x)"`, true},
			"in backquotes":          {"printf %s `cat ${workspacePath}/x`", true},
			"in a brace":             {`cat ${workspacePath}/{x,x}`, true},
			"assigned":               {`D=${workspacePath}/x; cat "$D"`, true},
			"redirected":             {`cat < ${workspacePath}/x`, true},
			"here":                   {"cat $(cat <<E | grep -q . && echo ${workspacePath}/x\n${workspacePath}\nE\n)", false},
			"in single quotes":       {`echo '${workspacePath}/x'`, false},
			"by another shell":       {`bash -c 'cat "${workspacePath}/x"'`, true},
			"by another shell, bare": {`bash -c 'cat ${workspacePath}/x'`, false},
			"no command":             {`if cat ${workspacePath}/x`, false},
		} {
			t.Run(name+" "+directory, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), directory)
				require.NoError(t, os.Mkdir(dir, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("found"), 0o600))
				events := map[string]any{"BeforeTool": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": tt.command, "env": map[string]any{"RAW": "${workspacePath}"}}}}}}
				list, problems := OfValue(events, Origin{Variables: map[string]string{"workspacePath": dir, "/": "/"}}, nil)
				require.Empty(t, problems)
				require.Equal(t, dir, list[0].Env["RAW"])
				run := exec.Command(bash, "-c", list[0].Command)
				run.Dir = t.TempDir()
				run.Env = append(os.Environ(), "HOME=/nowhere")
				for name, value := range list[0].Env {
					run.Env = append(run.Env, name+"="+value)
				}
				out, _ := run.Output() // some lines are invalid
				for _, at := range []string{run.Dir, dir} {
					require.NoFileExists(t, filepath.Join(at, "INJ"), list[0].Command)
				}
				if tt.finds {
					require.True(t, strings.HasPrefix(string(out), "found"), "%s: %s", list[0].Command, out)
				}
			})
		}
	}
	line, _, err := shell.PutVariables(`echo '{"at": "${extensionPath}"}'`, map[string]string{"extensionPath": "/a b"})
	require.NoError(t, err)
	require.Equal(t, `echo '{"at": "/a b"}'`, line)
}

// A command that is too long or has too many brackets is not parsed, so that its
// references are not quoted. This is reported if a value needs quotes.
func TestExpandBeyondBounds(t *testing.T) {
	for _, tt := range []struct{ fill, because string }{
		{strings.Repeat("x", 64<<10), "it is longer than 65536 bytes"}, {strings.Repeat("(", 201), "it has more than 200 opening brackets"}, {"", ""},
	} {
		for _, dir := range []string{"/a b", "/ab"} {
			command := "cat ${workspacePath}/x # " + tt.fill
			events := map[string]any{"BeforeTool": []any{map[string]any{"hooks": []any{map[string]any{"command": command}}}}}
			list, problems := OfValue(events, Origin{Variables: map[string]string{"workspacePath": dir}}, nil)
			require.Len(t, list, 1)
			if tt.because == "" || dir == "/ab" {
				require.Empty(t, problems)
				continue
			}
			require.Equal(t, command, list[0].Command)
			require.Len(t, problems, 1)
			require.Contains(t, problems[0].Message, tt.because+": workspacePath is not quoted")
		}
	}
}

// A command does not show the secrets in its variables.
func TestLabelHidesSecrets(t *testing.T) {
	h := hooks.Hook{Command: "check s3cret", Shown: "check [hidden]"}
	require.Equal(t, "check [hidden]", h.Label())
	h.Name = "check"
	require.Equal(t, "check", h.Label())
}
