//go:build unix

package extensionstore_test

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// All problems are reported, with file and line, and nothing is changed.
func TestValidate(t *testing.T) {
	w := newWorld(t)
	w.write("fettle-extension.json", "{\n  \"name\": \"shelf\",\n  \"version\": \"\",\n  \"oops\": 1,\n  \"contextFileName\": [\"A.md\", \"../B.md\"]\n}\n")
	w.link("/etc/passwd", "absolute")
	w.link("../out", "out")
	w.link("fettle-extension.json", "fine")
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.source, "pipe"), 0o644))
	v, err := w.store().Validate(t.Context(), w.source, func(context.Context, extensions.Extension) ([]fault.Problem, error) {
		return []fault.Problem{{Severity: fault.SeverityWarning, Path: filepath.Join(w.source, "skills", "x"), Line: 3, Message: "It is odd."}}, nil
	})
	require.NoError(t, err)
	require.False(t, v.Valid)
	var all []string
	for _, f := range v.Findings {
		all = append(all, string(f.Severity)+" "+f.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"error fettle-extension.json:3: The manifest has no version.", `warning fettle-extension.json:4: The manifest has the key "oops"`,
		`error fettle-extension.json:5: The context file "../B.md" is not in the extension.`, "error absolute: It is a link", "error out: It is a link",
		"error pipe: It is a pipe.", "warning skills/x:3: It is odd.", `warning fettle-extension.json: The context file "A.md" does not exist.`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "fine")
	require.NoDirExists(t, w.options.Dir)

	_, err = w.store().Validate(t.Context(), w.source+"x")
	require.Equal(t, fault.FileNotFound, fault.CodeOf(err))
}

// The parts of an extension are listed, and control characters in texts are escaped in
// the approval.
func TestConsent(t *testing.T) {
	w := newWorld(t)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.0\u001b[2J", "excludeTools": ["web_fetch"],
		"mcpServers": {"books": {"command": "node", "args": ["${extensionPath}${/}server.js", "a b"], "env": {"MODE": "x"}}, "far": {"httpUrl": "https://example.org/\u202emcp"}},
		"settings": [{"name": "Key", "envVar": "SHELF_KEY", "sensitive": true}]}`)
	w.write("hooks/hooks.json", `{"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [{"type": "command", "command": "sh ${extensionPath}/check.sh\nrm x"}]}]}}`)
	w.write("commands/git/tidy.toml", `prompt = "!{git status}"`)
	w.write("commands/say.toml", `prompt = "Say {{args}}"`)
	w.write("skills/notes/SKILL.md", "---\nname: notes\ndescription: d\n---\nb")
	w.write("agents/critic.md", "---\nname: critic\ndescription: d\n---\nb")
	w.write("policies/p.toml", "")
	w.write("FETTLE.md", "x")
	_, err := w.install()
	require.NoError(t, err)
	text := w.user.consents[0].Text()
	for _, want := range []string{
		"Installing the extension shelf 1.0<U+001B>[2J from " + w.source + ".",
		`MCP server books, a program run here unconfined: node ${extensionPath}/server.js "a b" (with MODE in its environment)`,
		"MCP server far, at https://example.org/<U+202E>mcp",
		`hook at BeforeTool on "write_file", a program run here unconfined: sh ${extensionPath}/check.sh\nrm x`,
		"command /git:tidy, which has shell commands run\n", "command /say\n", "skill notes", "agent critic", "rules in policies/p.toml", "context file FETTLE.md",
		"excludes the tools web_fetch", "setting Key, given to its programs as SHELF_KEY, kept secret",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "\x1b")
}
