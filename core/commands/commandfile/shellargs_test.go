package commandfile

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// nasty are arguments with a meaning in a shell.
var nasty = []string{
	"a b", "it's", `say "hi"`, "$(touch harm)", "`touch harm`", `back\slash`, `\`, "$HOME", "; touch harm", "x' ; touch harm ; '", "a\nb", "*", "!!", "-n", "\\\"", `'"'"'`, "~", "{a,b}", "# c",
}

// A value for {{args}} is text for bash in any position, and does not change the command
// around it. Each line prints its last word.
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
		`export x={{args}}; printf %s "$x"`,
		`read -r -d '' x <<<{{args}}; printf %s "$x"`,
		`set -- {{args}}; printf %s "$1"`,
		`declare -i n=1; printf -- %s {{args}}`,
		`[ {{args}} = x ]; test -n {{args}} && printf %s {{args}}`,
		`command printf %s {{args}}`,
		`trap 'printf %s "$x"' EXIT; x={{args}}`,
	}
	for _, command := range commands {
		for _, args := range nasty {
			line, err := commandLine(command, args, nil)
			require.NoError(t, err, command)
			run := exec.CommandContext(t.Context(), bash, "-c", line)
			run.Dir = t.TempDir()
			var out, complaints bytes.Buffer
			run.Stdout, run.Stderr = &out, &complaints
			require.NoError(t, run.Run(), "%s\n%s", line, &complaints)
			require.Equal(t, args, out.String(), line)
			left, err := os.ReadDir(run.Dir)
			require.NoError(t, err)
			require.Empty(t, left, line)
		}
	}
}

// Several marks, also if bash reads them in another order.
func TestCommandLineInOrder(t *testing.T) {
	line, err := commandLine(`>{{args}} cat "{{args}}" '{{args}}' {{args}}{{args}}`, "a'b", nil)
	require.NoError(t, err)
	require.Equal(t, `>'a'\''b' cat "a'b" 'a'\''b' 'a'\''b''a'\''b'`, line)
}

// If bash could run the arguments, the command is refused.
func TestCommandLineUnsafe(t *testing.T) {
	for _, command := range []string{
		"cat <<EOF\n{{args}}\nEOF", "cat <<'EOF'\n{{args}}\nEOF", "echo `echo {{args}}`", "echo $(( {{args}} ))", "echo ${x:-{{args}}}", "echo $'{{args}}'",
		"echo x # {{args}}", `echo \{{args}}`, `echo "\{{args}}"`, "[[ {{args}} -eq 1 ]]", "a[{{args}}]=1", "a=([{{args}}]=1)", "echo ${{args}}", "{{args}}() { :; }",
		"echo \"{{args}}", "let x={{args}}", "echo @({{args}}|b)", "for ((i={{args}};;)); do :; done",
	} {
		line, err := commandLine(command, "x", nil)
		require.Error(t, err, "%s → %s", command, line)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "could run")
	}
	_, err := commandLine("echo {{args}}", "a\x00b", nil)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	line, err := commandLine("git log {{args}}", "", nil)
	require.NoError(t, err)
	require.Equal(t, "git log", line)
	line, err = commandLine("git log", "ignored", nil)
	require.NoError(t, err)
	require.Equal(t, "git log", line)
	line, err = commandLine("fettleargs {{args}}", "x", nil)
	require.NoError(t, err)
	require.Equal(t, "fettleargs 'x'", line)
}

// A command that is not parsed because of its length or brackets is refused.
func TestCommandLineBeyondBounds(t *testing.T) {
	for because, fill := range map[string]string{
		"it is longer than 65536 bytes": strings.Repeat("x", 64<<10), "it has more than 200 opening brackets": strings.Repeat("(", 201),
	} {
		_, err := commandLine("echo {{args}} # "+fill, "x", nil)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "cannot be parsed ("+because)
		require.NotContains(t, fault.As(err).Message, "could run")
		require.Less(t, len(fault.As(err).Message), 400)
		line, err := commandLine("echo {{args}} # "+fill, "", nil)
		require.NoError(t, err)
		require.Equal(t, "echo  # "+fill, line)
	}
}

// If bash runs the content of an argument in spite of quotes, the command is refused:
// each of these would run the touch, or the file.
func TestCommandLineEvaluated(t *testing.T) {
	tests := []struct{ command, args string }{
		{`declare -i n={{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`declare -i n; n={{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`typeset -ir n={{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`f() { local -i n={{args}}; }; f`, "BASH_VERSINFO[$(touch harm)]"},
		{`declare -i n; for n in {{args}}; do :; done`, "BASH_VERSINFO[$(touch harm)]"},
		{`declare {{args}}`, "a[$(touch harm)]=1"},
		{`a=(1); declare a={{args}}`, "($(touch harm))"},
		{`declare -n r={{args}}; echo "$r"`, "a[$(touch harm)]"},
		{`command declare -i n={{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`RANDOM={{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`PS4={{args}}; set -x; :`, "$(touch harm)"},
		{`BASH_ENV={{args}} bash -c :`, "$(touch harm)"},
		{`printf -v {{args}} x`, "a[$(touch harm)]"},
		{`printf "-v" {{args}} x`, "a[$(touch harm)]"},
		{`printf {{args}} x`, "-va[$(touch harm)]"},
		{`printf "{{args}}" x`, "-va[$(touch harm)]"},
		{`[ -v {{args}} ]`, "BASH_VERSINFO[$(touch harm)]"},
		{`test x = x -a -v {{args}}`, "BASH_VERSINFO[$(touch harm)]"},
		{`read {{args}} <<< 1`, "a[$(touch harm)]"},
		{`\read "{{args}}" <<< 1`, "a[$(touch harm)]"},
		{`builtin read '{{args}}' <<< 1`, "a[$(touch harm)]"},
		{`command -p read {{args}} <<< 1`, "a[$(touch harm)]"},
		{`mapfile -C {{args}} -c 1 x <<< 1`, "touch harm;"},
		{`eval {{args}}`, "touch harm"},
		{`"eval" "x={{args}}"`, "$(touch harm)"},
		{`e''val {{args}}`, "touch harm"},
		{`$'\x65val' {{args}}`, "touch harm"},
		{`{eval,:} {{args}}`, "touch harm"},
		{`eval "$(printf %s {{args}})"`, "touch harm"},
		{`trap {{args}} EXIT`, "touch harm"},
		{`unset {{args}}`, "BASH_ALIASES[$(touch harm)]"},
		{`builtin let {{args}}`, "a[$(touch harm)]=1"},
		{`compgen -W {{args}}`, "$(touch harm)"},
		{`source {{args}}`, "prog.sh"},
		{`. {{args}}`, "./prog.sh"},
	}
	for _, tt := range tests {
		line, err := commandLine(tt.command, tt.args, nil)
		require.Error(t, err, "%s → %s", tt.command, line)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.As(err).Message, "the value of {{args}}")
	}
}

// The pieces of a template make up its text, and adding args fails only with a code.
func FuzzTemplate(f *testing.F) {
	fuzzseed.Add(f)
	for _, text := range []string{
		"", "plain", "{{args}}", "@{a}", "!{b}", "a !{echo {{args}}} b @{x/{y}} {{args}}", "!{", "@{", "!{{args}}", "@{ {{args}} }", "!{ } {", "!{echo \"{{args}}\"}", "${v} @{${v}} !{echo ${v} \"${v}\" ${w}", "é!{\x00}\xff",
	} {
		f.Add(text, "it's `$(x)`")
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		template, err := parseTemplate(text, map[string]string{"v": "!{echo {{args}}}"})
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidConfig {
				t.Errorf("parseTemplate(%q) = %v", text, err)
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
			t.Errorf("parseTemplate(%q) holds %q", text, b.String())
		}
		if _, err := template.commandLines(args); err != nil && fault.CodeOf(err) != fault.InvalidConfig && fault.CodeOf(err) != fault.InvalidToolParams {
			t.Errorf("commandLines(%q) of %q = %v", args, text, err)
		}
	})
}
