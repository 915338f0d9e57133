package shell

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile are words with a meaning in bash.
var hostile = []string{
	"plain", "a b", "it's", `say "hi"`, "$(touch harm)", "`touch harm`", `back\slash`, `\`, "$HOME", "${x}", "; touch harm", "x' ; touch harm ; '", "a\nb", "*", "[a-z]", "?", "!!",
	"-n", "--", "\\\"", `'"'"'`, "~", "~/x", "~root", "{a,b}", "{1..3}", "# c", "", " ", "\t", "a=b", "&", "|", "<(x)", ">f", "é", "\u202e", "\x01", "\x7f", "if", "function", "$'x'", "a\\\nb",
}

// The functions that quote and those that parse words agree with each other, and
// with bash.
func TestHostileWords(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	all := []string{"printf", `%s\0`}
	all = append(all, hostile...)
	line := Quote(all)
	out, err := exec.CommandContext(t.Context(), bash, "-c", line).Output()
	require.NoError(t, err)
	require.Equal(t, hostile, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))

	parsed := Parse(line)
	require.Empty(t, parsed.Problem)
	script, err := Read(line, nil)
	require.NoError(t, err)
	require.Len(t, script.Calls, 1)
	for _, words := range [][]Word{parsed.Parts[0].Words, script.Calls[0].Words} {
		require.Len(t, words, len(all))
		for i, w := range words {
			require.True(t, w.Static, "%q", all[i])
			require.Equal(t, all[i], w.Text)
		}
	}
	for _, word := range hostile {
		single := "a " + singleQuoted(word)
		if strings.Contains(word, "\n") {
			_, err := Words(single)
			require.Error(t, err)
			continue
		}
		got, err := Words(single)
		require.NoError(t, err, single)
		require.Equal(t, []string{"a", word}, got)
		got, err = Words(`a "` + inDoubleQuotes(word) + `"`)
		require.NoError(t, err, word)
		require.Equal(t, []string{"a", word}, got)
	}
}

// Each function that parses words sees the words of bash: the line is run with
// echoing programs in place of its own.
func TestWordsAreThoseOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, line := range []string{
		`a b\ c 'd e'"f g"`, `a \*\? [ ] { } {} x{ y}`, `a foo[ bar]`, `a x~y b=c --x='1 2'`, `a "\$x \q \\ \"" 'x\'y`, `a it\'s "it's"`, `a # no`, `a x#y`, `a ''`, `a -exec rm {} +`, `a {x`, `a {x}`,
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", `a() { printf '%s\0' a "$@"; }; `+line).Output()
		require.NoError(t, err)
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		got, err := Words(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
		script, err := Read(line, nil)
		require.NoError(t, err)
		require.Len(t, script.Calls, 1)
		got = nil
		for _, w := range script.Calls[0].Words {
			require.True(t, w.Static, line)
			got = append(got, w.Text)
		}
		require.Equal(t, want, got, line)
	}
}

// Read knows given variables, unless the text sets them, and no others.
func TestRead(t *testing.T) {
	given := map[string]string{"P": "/a b", "E": "", "HOME": "/home/u", "Q": `x"$(y)`}
	for text, want := range map[string]string{ // "?" stands for an unknown word
		`x $P/y`: "x /a b/y", `x "${P}/y"`: "x /a b/y", `x ${P:-z}`: "x /a b", `x "${E:-z}"`: "x ?", `x ${P#/}`: "x ?", `x ~/y`: "x /home/u/y", `x "~/y"`: "x ~/y", `x ~root/y`: "x ?",
		`x "$Q"`: `x x"$(y)`, `x $U`: "x ?", `P=1 x $P`: "x ?", `x {a,b}.sh`: "x a.sh b.sh", `x $'a\x62'`: "x ab", `x "a$(y)"`: "x ? y", `x *.sh`: "x ?",
	} {
		script, err := Read(text, given)
		require.NoError(t, err)
		var got []string
		for _, call := range script.Calls {
			for _, w := range call.Words {
				if !w.Static {
					w.Text = "?"
				}
				got = append(got, w.Text)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	script, err := Read(`for i in a b; do x=(c "d e"); done > f 2>> $P <<< "$U"`, given)
	require.NoError(t, err)
	require.Len(t, script.Values, 4)
	require.Equal(t, map[string]bool{"i": true, "x": true}, script.Sets)
	require.Len(t, script.Calls, 1)
	require.Equal(t, []Redirect{{">", Word{Text: "f", Static: true}}, {">>", Word{Text: "/a b", Static: true, Candidates: []string{"/a", "b"}}}}, script.Calls[0].Redirects[:2])
	require.Equal(t, "<<<", script.Calls[0].Redirects[2].Op)
	for _, text := range []string{"a 'b", "if", strings.Repeat("(", MaxBrackets+1), strings.Repeat("x", maxScript+1), "a\x00", "echo a # \\\nb"} {
		_, err := Read(text, nil)
		require.Error(t, err)
		_, ok := Places(text, "x")
		require.False(t, ok)
	}
}
