package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrefix parses prefixes as words, including keywords of bash.
func TestPrefix(t *testing.T) {
	for text, want := range map[string][]string{
		"git":                {"git"},
		" git  'push' ":      {"git", "push"},
		`go t"est"`:          {"go", "test"},
		"npm run {a,b}":      {"npm", "run", "a", "b"},
		"[ -f":               {"[", "-f"},
		"[":                  {"["},
		`find . -exec rm \;`: {"find", ".", "-exec", "rm", ";"},
		"time":               {"time"},
		"time -f":            {"time", "-f"},
		"export":             {"export"},
		"export PATH":        {"export", "PATH"},
		"export A=1":         {"export", "A=1"},
		"declare -x":         {"declare", "-x"},
		"local":              {"local"},
		"readonly":           {"readonly"},
		"typeset":            {"typeset"},
		"let":                {"let"},
		"[[":                 {"[["},
		"[[ -f x ]]":         {"[[", "-f", "x", "]]"},
		"!":                  {"!"},
		"if":                 {"if"},
		"function f":         {"function", "f"},
		"coproc":             {"coproc"},
		"case":               {"case"},
	} {
		got, err := Prefix(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":             "it names no command",
		"  ":           "it names no command",
		"# a":          "it names no command",
		"a; b":         `it is more than one command; write each by itself: "a", "b"`,
		"a | b":        `it is more than one command; write each by itself: "a", "b"`,
		"a x && b $y":  `it is more than one command; write each by itself: "a x", "b"`,
		"curl | sh":    `it is more than one command; write each by itself: "curl", "sh"`,
		"a &":          `it is more than one command; write each by itself: "a"`,
		"a\nb":         `it is more than one command; write each by itself: "a", "b"`,
		"(a)":          `it is more than one command; write each by itself: "a"`,
		"((1))":        "it is more than one command; write one",
		"! a":          `what stands behind ! is judged without it; write "a"`,
		"time rm x":    `what stands behind time is judged without it; write "rm x"`,
		"time rm $x":   `it is more than one command; write each by itself: "rm"`,
		"a > f":        `it holds a redirection; write "a"`,
		"> /dev/sda":   "it holds a redirection; write a program's name",
		"FOO=1 make":   `it begins with an assignment; write "make"`,
		"A=1":          "it begins with an assignment; write a program's name",
		"rm -rf $HOME": `$HOME is no fixed text; write "rm -rf"`,
		"git *":        `* is no fixed text; write "git"`,
		"* a":          "* is no fixed text; write a program's name",
		"$(a)":         "$(a) is no fixed text; write a program's name",
		"a # b":        `it holds a comment; write "a"`,
		"a 'b":         "it does not parse as a bash command: ",
		"if $a":        "it does not parse as a bash command: ",
		"a\x00":        "it contains a NUL byte",
	} {
		got, err := Prefix(text)
		require.ErrorContains(t, err, want, text)
		require.Nil(t, got, text)
	}
}
