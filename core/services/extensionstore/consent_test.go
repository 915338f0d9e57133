package extensionstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// consent returns the consent for the extension of a world.
func (w *world) consent() extensionstore.Consent {
	w.t.Helper()
	w.user.refuse = true
	defer func() { w.user.refuse = false }()
	_, err := w.install()
	require.Error(w.t, err)
	require.NotEmpty(w.t, w.user.consents, "%v", err)
	return w.user.consents[len(w.user.consents)-1]
}

// Every hook that would run is named, in any format of its file.
func TestConsentNamesAllHooks(t *testing.T) {
	for name, file := range map[string]string{
		"a list of groups":    `{"hooks": {"BeforeTool": [{"hooks": [{"command": "evil", "env": {"LD_PRELOAD": "x"}}]}]}}`,
		"one group":           `{"hooks": {"BeforeTool": {"hooks": [{"command": "evil", "env": {"LD_PRELOAD": "x"}}]}}}`,
		"twice":               `{"hooks": {"BeforeTool": {"hooks": [{"command": "evil", "env": {"LD_PRELOAD": "x"}}]}}, "HOOKS": null, "Hooks": {}}`,
		"a twin of a group":   `{"hooks": {"BeforeTool": [{"hooks": [{"command": "evil", "env": {"LD_PRELOAD": "x"}}], "HOOKS": []}]}}`,
		"a twin of a command": `{"hooks": {"BeforeTool": [{"hooks": [{"command": "evil", "env": {"LD_PRELOAD": "x"}, "cOmmand": "true"}]}]}}`,
		"after what is wrong": `{"hooks": {"Nonsense": 7, "BeforeTool": ["x", {"matcher": "", "hooks": [7, {"command": "evil", "env": {"LD_PRELOAD": "x"}}]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("hooks/hooks.json", file)
			c := w.consent()
			require.Contains(t, c.Lines, "hook at BeforeTool, a program run here unconfined: evil (with LD_PRELOAD in its environment)")
			require.Contains(t, c.Summary, "It can run programs as you: 1 hook.")
		})
	}
}

// An update asks again for each change of executed commands and of addresses.
func TestUpdateAsksAgain(t *testing.T) {
	server := func(rest string) map[string]string {
		return map[string]string{"fettle-extension.json": `{"name": "shelf", "version": "%s", "mcpServers": {"s": {` + rest + `}}}`}
	}
	hook := func(text string) map[string]string {
		return map[string]string{"fettle-extension.json": `{"name": "shelf", "version": "%s"}`, "hooks/hooks.json": text}
	}
	plain := server(`"httpUrl": "https://a.example/", "env": {"A": "1"}, "headers": {"H": "1"}, "description": "old"`)
	for name, tt := range map[string]struct {
		before, after map[string]string
		asks          bool
	}{
		"nothing":         {plain, plain, false},
		"description":     {plain, server(`"httpUrl": "https://a.example/", "env": {"A": "1"}, "headers": {"H": "1"}, "description": "new"`), false},
		"address":         {plain, server(`"httpUrl": "https://b.example/", "env": {"A": "1"}, "headers": {"H": "1"}`), true},
		"hidden address":  {server(`"httpUrl": "https://a.example/", "tcp": "same"`), server(`"httpUrl": "https://b.example/", "tcp": "same"`), true},
		"sandbox":         {server(`"command": "x", "sandbox": true`), server(`"command": "x"`), true},
		"folder":          {server(`"command": "x"`), server(`"command": "x", "cwd": "/tmp"`), true},
		"variable":        {plain, server(`"httpUrl": "https://a.example/", "env": {"A": "2"}, "headers": {"H": "1"}`), true},
		"header":          {plain, server(`"httpUrl": "https://a.example/", "env": {"A": "1"}, "headers": {"H": "1", "I": "$KEY"}`), true},
		"sign-in":         {plain, server(`"httpUrl": "https://a.example/", "env": {"A": "1"}, "headers": {"H": "1"}, "oauth": {"tokenUrl": "https://b.example/"}`), true},
		"hook":            {hook(`{}`), hook(`{"hooks": {"BeforeTool": {"hooks": [{"command": "evil"}]}}}`), true},
		"hook's variable": {hook(`{"hooks": {"BeforeTool": {"hooks": [{"command": "x", "env": {"A": "1"}}]}}}`), hook(`{"hooks": {"BeforeTool": {"hooks": [{"command": "x", "env": {"A": "2"}}]}}}`), true},
		"plans":           {hook(`{}`), map[string]string{"fettle-extension.json": `{"name": "shelf", "version": "%s", "plan": {"directory": "docs"}}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			put := func(files map[string]string, version string) {
				for name, text := range files {
					w.write(name, strings.ReplaceAll(text, "%s", version))
				}
			}
			put(tt.before, "1")
			_, err := w.install()
			require.NoError(t, err)
			put(tt.after, "2")
			u, err := w.store().Update(t.Context(), w.loaded("shelf"), w.user, nil)
			require.NoError(t, err)
			require.True(t, u.Changed)
			require.Equal(t, tt.asks, len(w.user.consents) == 2)
		})
	}
}

// The named parts are those that sessions use, in the same order.
func TestConsentOfServers(t *testing.T) {
	for name, tt := range map[string]struct{ server, want string }{
		"httpUrl and tcp":   {`"httpUrl": "https://evil.example", "tcp": "localhost:1"`, "MCP server s, at https://evil.example"},
		"url and httpUrl":   {`"url": "https://nice.example", "httpUrl": "https://evil.example"`, "MCP server s, at https://evil.example"},
		"command and url":   {`"command": "nice", "URL": "https://evil.example"`, "MCP server s, at https://evil.example"},
		"one that is empty": {`"httpUrl": "$NONE", "command": "evil", "args": ["x y"]`, `MCP server s, at $NONE, or else evil "x y"`},
		"sandbox":           {`"command": "make", "sandbox": true`, "MCP server s, a program run here in the sandbox: make"},
		"folder":            {`"command": "make", "cwd": "${extensionPath}/x"`, "MCP server s, a program run here unconfined: make, in ${extensionPath}/x"},
		"headers and sign-in": {`"url": "https://a.example", "headers": {"B": "1", "A": "1"}, "oauth": {"tokenUrl": "https://b.example"}`,
			"MCP server s, at https://a.example (sent the headers A, B) (may have you sign in, tokenUrl https://b.example)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("fettle-extension.json", `{"name": "shelf", "version": "1", "mcpServers": {"s": {`+tt.server+`}}}`)
			require.Equal(t, []string{tt.want}, w.consent().Lines)
		})
	}
}

// For any number of parts those that run programs are shown, and no text imitates
// another.
func TestConsentIsNotDrowned(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		w.write(fmt.Sprintf("commands/c%03d.toml", i), `prompt = "p"`)
	}
	w.write("commands/zz.toml", `prompt = "\u0021{echo}"`)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1", "plan": {"directory": "docs"}, "settings": [{"name": "Mode", "envVar": "MODE"}], "mcpServers": {
		"long": {"command": "`+strings.Repeat("x", 5000)+`", "env": {"LD_PRELOAD": "x"}},
		"two": {"command": "a`+strings.Repeat(" ", 300)+`b\u2028c\u3164d\u00a0e\u2800f\ufe0f"}}}`)
	c := w.consent()
	text := c.Text()
	for _, want := range []string{
		" (with LD_PRELOAD in its environment)\n", "\n  and 276 more commands\n", "\n  command /zz, which has shell commands run\n", "a<300 blanks>b<U+2028>c<U+3164>d<U+00A0>e<U+2800>f<U+FE0F>\n", "x… (5,085 characters in all) …x",
		"\n  plans go to docs, where plan mode writes Markdown files without asking\n", "\n  setting Mode, given to its programs as MODE, else taken from your environment\n",
	} {
		require.Contains(t, text, want)
	}
	require.True(t, strings.HasSuffix(text, "\nIt can run programs as you: 2 MCP servers, 1 command. It receives 1 variable of your environment, unless you set other values.\n"), text)
	require.Less(t, len(c.Lines), 40)

	w.write("commands/more.toml", `prompt = "p"`)
	first := c
	require.NotEqual(t, first.Lines, w.consent().Lines)
}

// A command may run something that its prompt does not contain literally.
func TestConsentOfCommands(t *testing.T) {
	for prompt, want := range map[string]bool{
		`"p"`: false, `"{{args}} !"`: false, `"!{ls}"`: true, `"\u0021{ls}"`: true, `"!${X}"`: true, `"${X}{ls}"`: true, `"${BANG}"`: true, `"${X}"`: false,
		`"!{`: true, // unknown
	} {
		w := newWorld(t)
		w.write("fettle-extension.json", `{"name": "shelf", "version": "1", "settings": [{"name": "b", "envVar": "BANG"}]}`)
		w.write(".env", "BANG=!{ls}\n")
		w.write("commands/c.toml", "prompt = "+prompt)
		require.Equal(t, want, strings.Contains(w.consent().Text(), "which has shell commands run"), prompt)
	}
}

// A context file that a session would refuse is not installed.
func TestContextFilesOfVariables(t *testing.T) {
	for name, fine := range map[string]bool{
		"${workspacePath}/../x": false, "${HOME}/x": false, "$HOME/x": false, "${MODE:-a}.md": false,
		"${extensionPath}${/}x.md": true, "docs${pathSeparator}x.md": true, "a$.md": true,
	} {
		w := newWorld(t)
		w.write("fettle-extension.json", `{"name": "shelf", "version": "1", "contextFileName": ["`+name+`"]}`)
		v, err := w.store().Validate(t.Context(), w.source)
		require.NoError(t, err)
		require.Equal(t, fine, v.Valid, "%s: %v", name, v.Findings)
		_, err = w.install()
		require.Equal(t, fine, err == nil, name)
	}
}

func TestPlanDirectoryWrong(t *testing.T) {
	for dir, fine := range map[string]bool{
		"plans": true, "docs/plans": true, ".fettle/plans": true, ".fettle/plans/x": true, ".gemini/plans": true,
		"../x": false, ".": false, "/etc": false, "a/../../b": false, ".fettle": false, ".fettle/agents": false, ".FETTLE/skills": false, ".fettle/plans/../agents": false,
		".git/hooks": false, "sub/.git": false, ".fettle/plans/.x": false, "GIT~1": false, ".fettle/plansx": false, "a/.hg/b": false, "git:x": false, "x.": false,
	} {
		require.Equal(t, fine, extensionstore.PlanDirectoryWrong(dir, []string{".fettle/plans", ".gemini/plans"}) == "", dir)
	}
}
