package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/standard"
)

// variable is an environment variable that fettle reads or sets and that is not a
// setting.
type variable struct{ name, meaning string }

// variables returns the variables that the program or a session reads, those of
// providers first.
func variables() []variable {
	var all []variable
	for _, p := range standard.Providers() {
		for _, v := range slices.Concat(p.Keys, p.Others, []standard.Variable{p.Address}) {
			all = append(all, variable{v.Name, v.About})
		}
	}
	return append(all, otherVariables...)
}

var otherVariables = []variable{
	{"FETTLE_TRUST_WORKSPACE", "`true` or `false`: whether the directory is trusted; takes precedence over the recorded decision"},
	{"FETTLE_SANDBOX", "confines commands: `auto`, `none`, `true`, `false`, `landlock` or a program"},
	{"FETTLE_SYSTEM_SETTINGS_PATH", "the machine's settings file, instead of `/etc/fettle/settings.json`"},
	{"FETTLE_SYSTEM_DEFAULTS_PATH", "the machine's defaults, instead of `/etc/fettle/system-defaults.json`"},
	{"VISUAL", "the editor for the answer `e` to a question"},
	{"EDITOR", "the same, if `VISUAL` is not set"},
	{"PATH", "where programs are found; confined commands may read its directories in the home directory"},
	{"NO_COLOR", "any value: no colours"},
	{"TERM", "`dumb`, `unknown` or empty: a session of plain lines"},
	{"LC_ALL", "a character set other than UTF-8 makes the frames of a session consist of ASCII characters"},
	{"LC_CTYPE", "the same, if `LC_ALL` is not set"},
	{"LANG", "the same, if neither is set"},
	{"COLORFGBG", "whether the terminal is light or dark, if it does not report that"},
	{"GOGC", "how much garbage the program lets grow, in percent of the memory in use; if it is not set, 400 until the first collection and 50 after it"},
	{"DBUS_SESSION_BUS_ADDRESS", "the session bus on Linux, for the keychain of the system; empty: no keychain is used"},
	{"DISPLAY", "with `WAYLAND_DISPLAY`: whether a browser can be opened to sign in"},
	{"WAYLAND_DISPLAY", "see `DISPLAY`"},
}

// given are the variables that fettle sets for the programs that it starts.
var given = []variable{
	{"FETTLE", "set in commands that the model runs, so that scripts can detect it"},
	{"FETTLE_MCP_SERVER", "set in MCP servers that fettle starts, so that a fettle in one of them starts no servers"},
	{"CLAUDE_PROJECT_DIR", "in hooks: the project's directory, with the name that existing hooks use"},
}

// environmentReference returns the page of environment variables.
func environmentReference(t *testing.T) string {
	b := referencePage("Environment variables", "For users and administrators: every environment variable that fettle reads or sets. One minute a lookup.\n\n"+
		"[configuration.md](../configuration.md) has their place among the layers of settings, and the variables that a `.env` file may set. With\n"+
		"`--layout gemini` the prefix is `GEMINI_` or `GEMINI_CLI_` instead of `FETTLE_`.\n\n## Variables that fettle reads\n\n| variable | effect |\n|---|---|")
	for _, v := range variables() {
		fmt.Fprintf(b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	b.WriteString("\n## Variables that set a setting\n\n| variable | setting | value |\n|---|---|---|\n")
	for _, k := range settings.Keys() {
		if k.Variable != "" {
			fmt.Fprintf(b, "| `FETTLE_%s` | `%s` | %s |\n", k.Variable, k.Path, inCell(k.Expected))
		}
	}
	b.WriteString("\n## Variables that fettle sets for programs\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range given {
		fmt.Fprintf(b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	return b.String()
}

// Each variable of the page is used in the code, and each variable that the code
// looks up by name is on the page.
func TestReferenceOfVariables(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	looked := regexp.MustCompile(`(?:[gG]etenv|LookupEnv|env)\("([A-Z][A-Z0-9_]+)"\)`)
	for _, dir := range []string{"core", "cli"} {
		for _, pkg := range packagesBelow(t, dir) {
			for name, text := range filesOf(t, pkg) {
				all.WriteString(text)
				for _, m := range looked.FindAllStringSubmatch(text, -1) {
					onPage := slices.ContainsFunc(variables(), func(v variable) bool { return v.name == m[1] })
					if !onPage && !strings.Contains(name, "unprivileged") {
						t.Errorf("%s looks up %s, which is neither in standard.Providers nor in a table of reference_environment_test.go", name, m[1])
					}
				}
			}
		}
	}
	for _, v := range slices.Concat(variables(), given) {
		text := all.String() // with the layout's prefix, or without it
		require.True(t, strings.Contains(text, `"`+v.name+`"`) || strings.Contains(text, `"`+strings.TrimPrefix(v.name, "FETTLE_")), v.name)
	}
}

// The table of providers in docs/configuration.md equals that of the code.
func TestReferenceOfProviders(t *testing.T) {
	const begin, end = "<!-- generated: go test ./integration -run TestReferenceOfProviders -update -->\n\n", "\n\n"
	var want strings.Builder
	want.WriteString("| model | key | address | default model |\n|---|---|---|---|")
	for _, p := range standard.Providers() {
		var variables []string
		for _, v := range slices.Concat(p.Keys, p.Others) {
			variables = append(variables, "`"+v.Name+"`")
		}
		name, word, initial := "`"+p.Name+":NAME`", ", else ", ""
		if len(p.Keys) == 0 {
			word = ", "
		}
		if p.Default != "" {
			initial = "`" + p.Default + "`"
		}
		fmt.Fprintf(&want, "\n| %s | %s | `%s` | %s |", name, strings.Join(variables, word), p.Address.Name, initial)
	}
	const page = "docs/configuration.md"
	before, rest, found := strings.Cut(textOf(t, page), begin)
	require.True(t, found, "%s does not have the comment before its table of providers", page)
	have, after, _ := strings.Cut(rest, end)
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join("..", page), []byte(before+begin+want.String()+end+after), 0o644))
		return
	}
	require.Equal(t, want.String(), have, "rewrite it: go test ./integration -run TestReferenceOfProviders -update")
}
