package importer

import (
	"encoding/json"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// verdict returns the decision of imported rules about a call.
func verdict(t *testing.T, r *Result, tool string, args map[string]any) policy.Verdict {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{Rules: r.Rules})
	require.NoError(t, err)
	c, _ := policy.WellKnown(tool)
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, name, _ := strings.Cut(rest, "__")
		c = policy.Call{Tool: "mcp_" + server + "_" + name, Server: server, ServerTool: name, Kind: "other"}
	}
	c.Params, err = json.Marshal(args)
	require.NoError(t, err)
	c.Dir, c.Roots = "/p", []string{"/p"}
	return e.Decide(c).Decision
}

// source is a plain reading of a permission of Claude Code: whether it matches a call.
func source(entry, tool string, args map[string]any) bool {
	name, rest, _ := strings.Cut(entry, "(")
	spec := strings.TrimSuffix(rest, ")")
	text := func(key string) string { s, _ := args[key].(string); return s }
	switch name {
	case "Bash":
		command := text("command")
		if prefix, ok := strings.CutSuffix(spec, ":*"); ok {
			return command == prefix || strings.HasPrefix(command, prefix+" ")
		}
		if prefix, ok := strings.CutSuffix(spec, " *"); ok && !strings.Contains(prefix, "*") {
			return command == prefix || strings.HasPrefix(command, prefix+" ")
		}
		return tool == "run_shell_command" && (spec == "" || wild(spec, command))
	case "Read", "Edit":
		if name == "Read" && tool != "read_file" || name == "Edit" && tool != "edit" && tool != "write_file" {
			return false
		}
		return spec == "" || ignored(spec, text("file_path"))
	case "WebFetch":
		host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text("url"), "https://"), "http://"), "/")
		return tool == "web_fetch" && (spec == "" || strings.TrimPrefix(spec, "domain:") == host)
	}
	server, one, named := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	s, o, _ := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__")
	return strings.HasPrefix(tool, "mcp__") && s == server && (!named || one == "*" || one == o)
}

// wild matches a text against a pattern with *.
func wild(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(text, first) {
		return false
	}
	if text = text[len(first):]; !more {
		return text == ""
	}
	for i := range len(text) + 1 {
		if wild(rest, text[i:]) {
			return true
		}
	}
	return false
}

// ignored matches a path in the project /p against a pattern as in .gitignore.
func ignored(pattern, file string) bool {
	rel, inside := strings.CutPrefix(file, "/p/")
	if abs, ok := strings.CutPrefix(pattern, "//"); ok {
		pattern, rel, inside = abs, strings.TrimPrefix(file, "/"), true
	}
	if !inside {
		return false
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !strings.Contains(pattern, "/") {
		for part := range strings.SplitSeq(rel, "/") {
			if ok, _ := path.Match(pattern, part); ok {
				return true
			}
		}
		return false
	}
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		return strings.HasPrefix(rel, dir+"/")
	}
	for ; rel != "."; rel = path.Dir(rel) {
		if ok, _ := path.Match(pattern, rel); ok {
			return true
		}
	}
	return false
}

var strictness = map[policy.Verdict]int{policy.Allow: 0, policy.AskUser: 1, policy.Deny: 2}

// FD-03: for random permissions and calls, the imported rules are never looser than
// Claude Code, which applies deny, then ask, then allow, and else asks.
func TestClaudeIsNeverLooser(t *testing.T) {
	entries := []string{
		"Bash", "Bash(make)", "Bash(make test)", "Bash(make:*)", "Bash(make test:*)", "Bash(make *)", "Bash(make * fast)", "Bash(* test)", "Bash(ma*)", `Bash(make "a b")`,
		"Read", "Read(a.txt)", "Read(./.env)", "Read(docs/**)", "Read(*.txt)", "Read(//etc/**)", "Read(docs/*.md)", "Read(**)", "Edit", "Edit(docs/**)", "Edit(*.md)", "Edit(src/a.txt)", "Edit(/docs/**)",
		"WebFetch", "WebFetch(domain:go.dev)", "WebFetch(domain:example.com)", "mcp__hub", "mcp__hub__get", "mcp__hub__*", "mcp__other__get",
	}
	type call struct {
		tool string
		args map[string]any
	}
	var calls []call
	for _, c := range []string{"make", "make test", "make test fast", "make fast", "makefile", "make testing", "mend test", `make "a b"`} {
		calls = append(calls, call{"run_shell_command", map[string]any{"command": c}})
	}
	for _, f := range []string{"/p/a.txt", "/p/.env", "/p/docs/a.md", "/p/docs/sub/b.txt", "/p/src/a.txt", "/p/x/.env", "/etc/passwd", "/q/a.txt", "/q/docs/a.md"} {
		for _, tool := range []string{"read_file", "edit", "write_file"} {
			calls = append(calls, call{tool, map[string]any{"file_path": f}})
		}
	}
	for _, u := range []string{"https://go.dev/x", "https://go.dev", "https://go.dev.evil.org", "https://go.dev:x@evil.org/", "https://example.com/go.dev", "http://sub.go.dev/"} {
		calls = append(calls, call{"web_fetch", map[string]any{"url": u}})
	}
	calls = append(calls, call{"mcp__hub__get", nil}, call{"mcp__hub__set", nil}, call{"mcp__other__get", nil})

	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		lists := map[string][]string{}
		for _, list := range []string{"allow", "ask", "deny"} {
			for range random.IntN(4) {
				lists[list] = append(lists[list], entries[random.IntN(len(entries))])
			}
		}
		data, err := json.Marshal(map[string]any{"permissions": lists})
		require.NoError(t, err)
		r, err := Claude(data)
		require.NoError(t, err)
		_, err = r.Text()
		require.NoError(t, err)
		for _, c := range calls {
			want := policy.AskUser
			switch matches := func(list string) bool {
				for _, e := range lists[list] {
					if source(e, c.tool, c.args) {
						return true
					}
				}
				return false
			}; {
			case matches("deny"):
				want = policy.Deny
			case matches("ask"):
			case matches("allow"), c.tool == "read_file":
				want = policy.Allow
			}
			got := verdict(t, r, c.tool, c.args)
			require.GreaterOrEqual(t, strictness[got], strictness[want], "%s: %v about %s %v", data, got, c.tool, c.args)
		}
	}
}

// FD-03: permissions that have an equal rule keep their effect.
func TestClaudeKeeps(t *testing.T) {
	r, err := Claude([]byte(`{ // a comment
	  "permissions": {"allow": ["Bash(npm run test:*)", "Edit(docs/**)", "WebFetch(domain:go.dev)", "mcp__hub__get"], "ask": ["Bash(npm run test:*)"], "deny": ["Bash(curl:*)", "Read(./.env)"],
	    "additionalDirectories": ["../x"], "defaultMode": "acceptEdits"},
	}`))
	require.NoError(t, err)
	for command, want := range map[string]policy.Verdict{"npm run test -- x": policy.AskUser, "curl x": policy.Deny, "cat .env": policy.Deny, "npm i": policy.AskUser} {
		require.Equal(t, want, verdict(t, r, "run_shell_command", map[string]any{"command": command}), command)
	}
	require.Equal(t, policy.Allow, verdict(t, r, "edit", map[string]any{"file_path": "/p/docs/a.md"}))
	require.Equal(t, policy.Allow, verdict(t, r, "web_fetch", map[string]any{"url": "https://go.dev/doc"}))
	require.Equal(t, policy.Allow, verdict(t, r, "mcp__hub__get", nil))
	require.Equal(t, policy.Deny, verdict(t, r, "search_file_content", map[string]any{"pattern": "x", "include_pattern": ".env"}))
	require.Len(t, r.Notes, 3)

	for _, bad := range []string{"", "[1]", `{"permissions": {"deny": "Bash"}}`} {
		_, err := Claude([]byte(bad))
		require.Error(t, err, bad)
	}
	r, err = Claude([]byte(`{"permissions": {"allow": ["Bash(git *)"], "defaultMode": "dontAsk"}}`))
	require.NoError(t, err)
	require.Equal(t, policy.Deny, verdict(t, r, "run_shell_command", map[string]any{"command": "make"}))
	require.Equal(t, policy.Allow, verdict(t, r, "run_shell_command", map[string]any{"command": "git log"}))
}

// FD-03: of a Gemini rule that cannot be expressed, one that allows is left out, and
// another denies more.
func TestGemini(t *testing.T) {
	r, err := Gemini([]byte(`
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git diff"]
decision = "allow"
priority = 100
modes = ["default", "autoEdit"]

[[rule]]
toolName = "run_shell_command"
argsPattern = '(?!x)make'
decision = "allow"
priority = 200

[[rule]]
toolName = "write_file"
argsPattern = '(?<=x)secret'
decision = "ask_user"
priority = 300
denyMessage = "No."

[[rule]]
mcpName = "hub"
toolName = "get"
decision = "deny"
priority = 10
newCondition = true

[[safety_checker]]
toolName = "web_fetch"
priority = 1
`))
	require.NoError(t, err)
	_, err = r.Text()
	require.NoError(t, err)
	for command, want := range map[string]policy.Verdict{"git status": policy.Allow, "git status && make": policy.AskUser, "make": policy.AskUser} {
		require.Equal(t, want, verdict(t, r, "run_shell_command", map[string]any{"command": command}), command)
	}
	require.Equal(t, policy.Deny, verdict(t, r, "write_file", map[string]any{"file_path": "a"}))
	require.Equal(t, policy.Deny, verdict(t, r, "mcp__hub__get", nil))
	require.Equal(t, policy.AskUser, verdict(t, r, "web_fetch", map[string]any{"url": "https://x"}))
	require.Len(t, r.Notes, 4, r.Notes)

	for _, bad := range []string{"[[rule", "[[rule]]\npriority = 1000\ndecision = 'allow'", "[[rule]]\npriority = 1.5"} {
		_, err := Gemini([]byte(bad))
		require.Error(t, err, bad)
	}
}
