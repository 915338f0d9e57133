package importer

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// geminiMatches is a plain reading of a rule of Gemini CLI in the default mode: whether
// it matches a call of a tool under its name there. Names of MCP tools are mcp_SERVER_TOOL.
func geminiMatches(rule map[string]any, tool, server string, args map[string]any) bool {
	if modes, ok := rule["modes"].([]string); ok && !slices.Contains(modes, "default") {
		return false
	}
	if rule["subagent"] != nil || rule["toolAnnotations"] != nil { // the call has neither
		return false
	}
	if name, ok := rule["mcpName"].(string); ok && name != server {
		return false
	}
	if names := texts(anyOf(rule["toolName"])); len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		if rule["mcpName"] != nil && name != "*" {
			return tool == "mcp_"+server+"_"+name
		}
		prefix, wild := strings.CutSuffix(name, "*")
		return name == tool || wild && strings.HasPrefix(tool, prefix)
	}) {
		return false
	}
	data, _ := json.Marshal(args) // its keys are sorted
	pattern, _ := rule["argsPattern"].(string)
	switch prefix, regex := rule["commandPrefix"], rule["commandRegex"]; {
	case prefix != nil:
		command, _ := args["command"].(string)
		return slices.ContainsFunc(texts(anyOf(prefix)), func(p string) bool {
			rest, ok := strings.CutPrefix(command, p)
			return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\n\""))
		})
	case regex != nil:
		pattern = `"command":"` + regex.(string)
	}
	return pattern == "" || regexp.MustCompile(pattern).Match(data)
}

// anyOf returns a list of texts in the form in which TOML has it.
func anyOf(value any) any {
	list, ok := value.([]string)
	if !ok {
		return value
	}
	all := make([]any, len(list))
	for i, text := range list {
		all[i] = text
	}
	return all
}

// FD-03: for random rules and calls, the imported rules are never looser than Gemini CLI,
// where the rule of the highest priority decides, and a call without a rule asks.
func TestGeminiIsNeverLooser(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(all ...any) any { return all[random.IntN(len(all))] }
	conditions := map[string]func() any{
		"argsPattern": func() any { return pick("make", `\.env`, `"file_path":"/p/docs`, "^x", "a.txt", "") },
		"modes": func() any {
			return pick([]string{"default"}, []string{"plan"}, []string{"autoEdit", "yolo"}, []string{"plan", "default"})
		},
		"subagent":        func() any { return "other" },
		"toolAnnotations": func() any { return map[string]any{"readOnlyHint": true} },
	}
	rule := func(priority int) map[string]any {
		r := map[string]any{"decision": pick("allow", "allow", "deny", "ask_user"), "priority": priority}
		switch random.IntN(4) {
		case 0:
			r["toolName"] = "run_shell_command"
			switch random.IntN(3) {
			case 0:
				r["commandPrefix"] = pick("make", "make test", []string{"git status", "make"}, "git")
			case 1:
				r["commandRegex"] = pick("make", "make( test)?$", "^make", "git (status|diff)", ".*test")
			}
			return r
		case 1:
			r["mcpName"] = pick("hub", "other")
			r["toolName"] = pick("get", "set", "*")
		default:
			r["toolName"] = pick("*", "write_file", "replace", "read_file", "run_shell_command", "mcp_hub_*", "mcp_*", []string{"read_file", "write_file"})
		}
		for key, value := range conditions {
			if random.IntN(4) == 0 {
				r[key] = value()
			}
		}
		return r
	}
	type call struct {
		tool, there, server string
		args                map[string]any
	}
	calls := []call{
		{"mcp__hub__get", "mcp_hub_get", "hub", nil}, {"mcp__hub__set", "mcp_hub_set", "hub", nil}, {"mcp__other__get", "mcp_other_get", "other", nil},
	}
	for _, c := range []string{"make", "make test", "makefile", "git status", "git push", "mend test"} {
		calls = append(calls, call{"run_shell_command", "run_shell_command", "", map[string]any{"command": c}})
	}
	for _, f := range []string{"/p/a.txt", "/p/.env", "/p/docs/a.md"} {
		for tool, there := range map[string]string{"read_file": "read_file", "edit": "replace", "write_file": "write_file"} {
			calls = append(calls, call{tool, there, "", map[string]any{"file_path": f}})
		}
	}
	for range 400 {
		var rules []map[string]any
		for i := range 1 + random.IntN(5) {
			rules = append(rules, rule(100*i+random.IntN(100)))
		}
		data, err := toml.Marshal(map[string]any{"rule": rules})
		require.NoError(t, err)
		r, err := Gemini(data)
		require.NoError(t, err, "%s", data)
		_, err = r.Text()
		require.NoError(t, err)
		for _, c := range calls {
			want := policy.AskUser
			if c.tool == "read_file" {
				want = policy.Allow
			}
			for _, one := range slices.Backward(rules) { // by falling priority
				if geminiMatches(one, c.there, c.server, c.args) {
					want = policy.Verdict(one["decision"].(string))
					break
				}
			}
			got := verdict(t, r, c.tool, c.args)
			require.GreaterOrEqual(t, strictness[got], strictness[want], "%s\n%v about %s %v", data, got, c.there, c.args)
		}
	}
}
