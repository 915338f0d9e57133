package commands

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// nasty are arguments that mean something to a shell.
var nasty = []string{
	"a b", "it's", `say "hi"`, "$(touch harm)", "`touch harm`", `back\slash`, `\`, "$HOME", "; touch harm", "x' ; touch harm ; '", "a\nb", "*", "!!", "-n", "\\\"", `'"'"'`, "~", "{a,b}", "# c",
}

// What stands in {{args}} is text to bash wherever it is put in, and the command
// around it stays what it was. Each line prints its last word.
func TestCommandLineIsText(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	commands := []string{
		`printf %s {{args}}`,
		`printf %s "{{args}}"`,
		`printf %s '{{args}}'`,
		`printf %s "$(printf %s {{args}})"`,
		`printf %s "$(printf %s "{{args}}")"`,
		`x={{args}}; printf %s "$x"`,
		`>/dev/stdout printf %s "{{args}}"`,
		`f() { printf %s "$1"; }; if true; then f {{args}}; fi`,
		`for x in {{args}}; do printf %s "$x"; done`,
		`printf %s '{'{{args}}'}' | sed -z 's/^.//; s/.$//'`,
		"printf %s \\\n {{args}}",
		`a=(x {{args}}); printf %s "${a[1]}"`,
		`cat >/dev/null <<<"{{args}}" ; printf %s {{args}}`,
	}
	for _, command := range commands {
		for _, args := range nasty {
			line, err := commandLine(command, args)
			require.NoError(t, err, command)
			run := exec.CommandContext(t.Context(), bash, "-c", line)
			run.Dir = t.TempDir()
			var out, complaints bytes.Buffer
			run.Stdout, run.Stderr = &out, &complaints
			require.NoError(t, run.Run(), "%s\n%s", line, &complaints)
			require.Equal(t, args, out.String(), line)
			left, err := exec.CommandContext(t.Context(), "ls", "-A", run.Dir).Output()
			require.NoError(t, err)
			require.Empty(t, string(left), line)
		}
	}
}

// Several places, also where bash reads them in another order than they stand in.
func TestCommandLineInOrder(t *testing.T) {
	line, err := commandLine(`>{{args}} cat "{{args}}" '{{args}}' {{args}}{{args}}`, "a'b")
	require.NoError(t, err)
	require.Equal(t, `>'a'\''b' cat "a'b" 'a'\''b' 'a'\''b''a'\''b'`, line)
}

// Where bash could run what is in the arguments, the command is refused.
func TestCommandLineUnsafe(t *testing.T) {
	for _, command := range []string{
		"cat <<EOF\n{{args}}\nEOF", "cat <<'EOF'\n{{args}}\nEOF", "echo `echo {{args}}`", "echo $(( {{args}} ))", "echo ${x:-{{args}}}", "echo $'{{args}}'",
		"echo x # {{args}}", `echo \{{args}}`, `echo "\{{args}}"`, "[[ {{args}} -eq 1 ]]", "a[{{args}}]=1", "a=([{{args}}]=1)", "echo ${{args}}", "{{args}}() { :; }",
		"echo \"{{args}}", "let x={{args}}", "echo @({{args}}|b)", "for ((i={{args}};;)); do :; done",
	} {
		line, err := commandLine(command, "x")
		require.Error(t, err, "%s → %s", command, line)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "could run")
	}
	_, err := commandLine("echo {{args}}", "a\x00b")
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	line, err := commandLine("git log {{args}}", "")
	require.NoError(t, err)
	require.Equal(t, "git log", line)
	line, err = commandLine("git log", "ignored")
	require.NoError(t, err)
	require.Equal(t, "git log", line)
	line, err = commandLine("fettleargs {{args}}", "x")
	require.NoError(t, err)
	require.Equal(t, "fettleargs 'x'", line)
}

// Whatever a template is, its pieces are all of it, and putting args in never fails
// but with a code.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"", "plain", "{{args}}", "@{a}", "!{b}", "a !{echo {{args}}} b @{x/{y}} {{args}}", "!{", "@{", "!{{args}}", "@{ {{args}} }", "!{ } {", "!{echo \"{{args}}\"}", "é!{\x00}\xff",
	} {
		f.Add(text, "it's `$(x)`")
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		template, err := ParseTemplate(text)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidConfig {
				t.Errorf("ParseTemplate(%q) = %v", text, err)
			}
			return
		}
		var b strings.Builder
		for _, p := range template.pieces {
			switch p.kind {
			case pieceText:
				b.WriteString(p.text)
			default:
				b.WriteString(p.raw)
			}
		}
		if b.String() != text {
			t.Errorf("ParseTemplate(%q) holds %q", text, b.String())
		}
		if _, err := template.commandLines(args); err != nil && fault.CodeOf(err) != fault.InvalidConfig && fault.CodeOf(err) != fault.InvalidToolParams {
			t.Errorf("commandLines(%q) of %q = %v", args, text, err)
		}
	})
}
