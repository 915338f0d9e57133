package subagent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/model"
)

// report returns problems as lines.
func report(problems []fault.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func parse(t *testing.T, text string) ([]subagent.Definition, []fault.Problem) {
	t.Helper()
	return subagent.Parse([]byte(text), subagent.Source{Scope: subagent.ScopeUser, Path: "a.md"})
}

// one parses a file that has one agent and no problem.
func one(t *testing.T, text string) subagent.Definition {
	t.Helper()
	defs, problems := parse(t, text)
	require.Empty(t, report(problems))
	require.Len(t, defs, 1)
	return defs[0]
}

// EX-13, CR-23: the sample of the architecture guide loads unchanged.
func TestParseSample(t *testing.T) {
	d := one(t, `---
name: code-reviewer
display_name: Code Reviewer
description: Reviews code for quality
kind: local
tools:
  - Bash
  - Read
model: gemini-2.0-flash
max_turns: 10
---

You are an expert code reviewer. Analyze the code provided and...
`)
	require.Equal(t, "code-reviewer", d.Name)
	require.Equal(t, "Code Reviewer", d.Display())
	require.Equal(t, "Reviews code for quality", d.Description)
	require.Equal(t, subagent.KindLocal, d.Kind)
	require.Equal(t, []string{"Bash", "Read"}, d.Tools)
	require.Equal(t, "gemini-2.0-flash", d.Model)
	require.Equal(t, 10, d.MaxTurns)
	require.Equal(t, "You are an expert code reviewer. Analyze the code provided and...", d.Prompt)
	require.Equal(t, 2, d.Source.Line)
	require.Len(t, d.Source.Hash, 64)
}

// EX-13, EX-19
func TestParseAllKeys(t *testing.T) {
	d := one(t, "\ufeff"+strings.ReplaceAll(`---
name: a_1
description: >
  Does this
  and that
tools: Read, Grep ,Bash
model: inherit
temperature: 0.5
max_turns: "7"
max_time_minutes: 1.5
query: "Look at ${query}"
initialMessages:
  - Hello.
  - role: model
    parts:
      - text: Hello
  - role: user
    text: Go
---
Body with
two lines and $${x}.
`, "\n", "\r\n"))
	require.Equal(t, "Does this and that", d.Description)
	require.Equal(t, []string{"Read", "Grep", "Bash"}, d.Tools)
	require.Empty(t, d.Model)
	require.Equal(t, 0.5, *d.Temperature)
	require.Equal(t, 7, d.MaxTurns)
	require.Equal(t, 90*time.Second, d.MaxTime)
	require.Equal(t, "Look at ${query}", d.Query)
	require.Equal(t, []model.Content{
		model.UserText("Hello."), {Role: model.RoleModel, Parts: []model.Part{{Text: "Hello"}}}, model.UserText("Go"),
	}, d.InitialMessages)
	require.Equal(t, "Body with\ntwo lines and $${x}.", d.Prompt)
}

// EX-13: other spellings of keys mean the same.
func TestParseSpellings(t *testing.T) {
	for key, limit := range map[string]time.Duration{"timeout_mins": 3 * time.Minute, "maxTimeMinutes": 3 * time.Minute, "timeoutMins": 3 * time.Minute} {
		d := one(t, fmt.Sprintf("---\nname: a\ndescription: d\n%s: 3\ndisplayName: A\nmaxTurns: 4\n---\nP", key))
		require.Equal(t, limit, d.MaxTime, key)
		require.Equal(t, "A", d.DisplayName)
		require.Equal(t, 4, d.MaxTurns)
	}
}

func TestParseTools(t *testing.T) {
	tests := map[string]struct {
		line    string
		want    []string
		problem string
	}{
		"left out": {"", nil, ""},
		"none":     {"tools: []\n", []string{}, ""},
		"nothing":  {"tools:\n", []string{}, "is empty"},
		"star":     {"tools: '*'\n", []string{"*"}, ""},
		"pattern":  {"tools: Read(src), Write(*), Read\n", []string{"Write", "Read"}, "not valid"},
		"no name":  {"tools: [Read, {a: b}]\n", []string{"Read"}, "is not a name"},
		"a map":    {"tools: {a: b}\n", []string{}, "not a list of names"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			defs, problems := parse(t, "---\nname: a\ndescription: d\n"+tt.line+"---\nP")
			require.Len(t, defs, 1)
			require.Equal(t, tt.want, defs[0].Tools)
			if tt.problem == "" {
				require.Empty(t, report(problems))
			}
			require.Contains(t, report(problems), tt.problem)
		})
	}
}

// EX-13: an unusual value is reported with its line, and the agent is usable.
func TestParseWarns(t *testing.T) {
	tests := map[string]struct{ lines, want string }{
		"unknown key":           {"descripton: x", `a.md:4: The key "descripton" is not known. Did you mean description?`},
		"far key":               {"zzzzzzzzzzzz: x", `a.md:4: The key "zzzzzzzzzzzz" is not known. Remove it.`},
		"key of other programs": {"color: red", "a.md:4: The key color is not used: all agents are shown alike."},
		"servers":               {"mcpServers:\n  a: b", "mcp_SERVER_*"},
		"servers' way":          {"mcp_servers:\n  a:\n    command: b", "a.md:4: The key mcp_servers is not used: an agent uses the MCP servers of the session"},
		"given again":           {"displayName: A\ndisplay_name: B", "a.md:5: The key display_name is a duplicate"},
		"turns":                 {"max_turns: 0", "a.md:4: The value of max_turns is not a whole number above 0"},
		"time":                  {"timeout_mins: -1", "a.md:4: The value of timeout_mins is not a number of minutes"},
		"long time":             {"timeout_mins: 1e300", "The value of timeout_mins is not a number of minutes"},
		"temperature":           {"temperature: hot", "The value of temperature is not a number from 0 to 2"},
		"display":               {"display_name: [a]", "The value of display_name is not a text"},
		"messages":              {"initialMessages: x", "The value of initialMessages is not a list"},
		"message":               {"initialMessages:\n  - role: system\n    text: x", "a.md:5: One of the initial messages"},
		"no value":              {"query: ${topic}", "has the placeholder ${topic}, which has no value"},
		"remote's":              {"auth:\n  type: apiKey\n  key: x\nkind: local", "is local, so its card and its authentication are not used"},
		"unknown in map":        {"agent_card_url: http://x\nauth:\n  type: apiKey\n  key: x\n  kye: y", `a.md:8: The key "kye" in auth is not known`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			defs, problems := parse(t, "---\nname: a\ndescription: d\n"+tt.lines+"\n---\nP")
			require.Len(t, defs, 1, report(problems))
			require.Contains(t, report(problems), tt.want)
			for _, p := range problems {
				require.False(t, p.IsError())
			}
		})
	}
}

// Two words that look alike are distinguished.
func TestParseHidden(t *testing.T) {
	for _, front := range []string{"%s: x", "agent_card_url: http://x\nauth:\n  type: apiKey\n  key: x\n  %s: y", "permissionMode: %s", "auth:\n  %s: [x]", "tools: [%s(x)]", "disallowedTools: [%s(x)]"} {
		messages := map[string]bool{}
		for _, word := range []string{"toolz", "tool\u200bz", "tool\u202ez"} {
			_, problems := parse(t, "---\nname: a\ndescription: d\n"+fmt.Sprintf(front, word)+"\n---\nP")
			messages[report(problems)] = true
			require.NotContains(t, report(problems), "\u200b")
			require.NotContains(t, report(problems), "\u202e")
		}
		require.Len(t, messages, 3, "%s: %v", front, messages)
	}
	_, problems := parse(t, "---\nname: a\ndescription: d\ntools\u200b: x\n---\nP")
	require.Contains(t, report(problems), `The key "tools\u200b" is not known.`)
}

func TestParseName(t *testing.T) {
	defs, problems := parse(t, "---\nname: My Agent.É\ndescription: d\n---\nP")
	require.Equal(t, "my-agent-", defs[0].Name)
	require.Contains(t, report(problems), `"My Agent.É" is changed to my-agent-`)
}

// A text that should be quoted is read and reported.
func TestParseUnquoted(t *testing.T) {
	defs, problems := parse(t, "---\nname: a\ndescription: Use it's like this: now. <example>Context: x</example>\nmodel: gemini:x\n---\nP")
	require.Len(t, defs, 1)
	require.Equal(t, "Use it's like this: now. <example>Context: x</example>", defs[0].Description)
	require.Equal(t, "gemini:x", defs[0].Model)
	require.Equal(t, "a.md:3: The front matter is not valid YAML, because a text in it has no quotes; it was taken as text. Put the text in quotes.", report(problems))
}

// EX-13: an invalid value is reported with its line, and the agent is dropped.
func TestParseLoses(t *testing.T) {
	const head = "---\nname: a\ndescription: d\n"
	tests := map[string]struct{ text, want string }{
		"empty":            {"", "a.md:1: The file has no front matter"},
		"no front matter":  {"# Hello\n", "a.md:1: The file has no front matter"},
		"never closed":     {head, "a.md:1: The file has no front matter"},
		"bad YAML":         {head + "tools: [a\nmodel: b\n---\nP", "a.md:5: The front matter cannot be read"},
		"colon and more":   {"---\nname: a\ndescription: use this: now\ntools: [a\n---\nP", "a.md:3: The front matter cannot be read"},
		"twice":            {head + "name: b\n---\nP", "a.md:4: The front matter cannot be read"},
		"an alias":         {head + "model: &m x\nquery: *m\n---\nP", "an anchor or an alias"},
		"a text":           {"---\njust this\n---\nP", "is not a list of keys and values"},
		"no name":          {"---\ndescription: d\n---\nP", "a.md:2: The agent has no name"},
		"no usable name":   {"---\nname: äöü\ndescription: d\n---\nP", "a.md:2: The name of the agent is not valid"},
		"a server's name":  {"---\nname: mcp_x\ndescription: d\n---\nP", "a.md:2: An agent cannot be named mcp_x"},
		"no description":   {"---\nname: a\n---\nP", "has no description"},
		"no prompt":        {head + "---\n  \n", "has no system prompt"},
		"a kind":           {head + "kind: other\n---\nP", "a.md:4: The kind of the agent"},
		"no card":          {head + "kind: remote\n---\n", "has no card"},
		"two cards":        {head + "agent_card_url: http://x\nagent_card_json: '{}'\n---\n", "has both a card and the URL"},
		"no UTF-8":         {head + "---\n\xff", "not text in UTF-8"},
		"a NUL":            {head + "---\n\x00", "not text in UTF-8"},
		"too long":         {head + "---\n" + strings.Repeat("x", subagent.MaxFile), "larger than 1024 KiB"},
		"long front":       {head + "# " + strings.Repeat("x", 32<<10) + "\n---\nP", "more than 32 KiB"},
		"deep":             {head + "tools: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n---\nP", "more than 20 deep"},
		"brackets":         {head + "tools: " + strings.Repeat("[", 30000) + "\n---\nP", "more than 1000 brackets"},
		"lists in lists":   {head + "tools: " + strings.Repeat("- ", 12000) + "\n---\nP", "lists in lists"},
		"many lines":       {head + strings.Repeat("#\n", 2000) + "\n---\nP", "more than 2000 lines"},
		"auth is a text":   {head + "agent_card_url: x\nauth: x\n---\n", "a.md:5: The value of auth is not a list"},
		"auth of no type":  {head + "agent_card_url: x\nauth:\n  key: topsecret\n---\n", "its type is neither apiKey nor http"},
		"auth without key": {head + "agent_card_url: x\nauth:\n  type: apiKey\n---\n", "apiKey needs a key"},
		"half of basic":    {head + "agent_card_url: x\nauth:\n  type: http\n  scheme: Basic\n  password: topsecret\n---\n", "Basic with username and password"},
		"an empty key":     {head + "agent_card_url: x\nauth:\n  type: apiKey\n  key:\n---\n", "The value of key in auth is not a text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			defs, problems := parse(t, tt.text)
			require.Empty(t, defs)
			require.Contains(t, report(problems), tt.want)
			require.NotContains(t, report(problems), "topsecret")
			require.True(t, problems[len(problems)-1].IsError())
		})
	}
}

// EX-12: a remote agent, and several in one file.
func TestParseRemote(t *testing.T) {
	d := one(t, `---
kind: remote
name: helper
agentCardUrl: https://example.com/card.json
auth:
  type: http
  scheme: Bearer
  token: $HELPER_TOKEN
---
`)
	require.True(t, d.IsRemote())
	require.Equal(t, "https://example.com/card.json", d.Remote.CardURL)
	require.Equal(t, "The remote agent helper.", d.Description)
	name, ok := d.Remote.Auth.Token.Variable()
	require.True(t, ok)
	require.Equal(t, "HELPER_TOKEN", name)

	defs, problems := parse(t, `---
- name: one
  agent_card_url: https://example.com/1
- name: two
  agent_card_url: https://example.com/2
  description: The second.
- name: three
- kind: local
  name: four
  description: d
- five
---
`)
	require.Len(t, defs, 2)
	require.Equal(t, "The second.", defs[1].Description)
	require.Equal(t, 4, defs[1].Source.Line)
	require.Contains(t, report(problems), "a.md:7: The remote agent three has no card")
	require.Contains(t, report(problems), "a.md:8: The agent four is in a list and is not remote")
	require.Contains(t, report(problems), "a.md:11: One of the agents in the list")
}

// Only the user's own definitions may run a command for a secret.
func TestParseCommandOfProject(t *testing.T) {
	const text = "---\nname: a\nagent_card_url: http://x\nauth:\n  type: apiKey\n  key: '!cat /etc/passwd'\n---\n"
	for scope, want := range map[subagent.Scope]int{subagent.ScopeProject: 0, subagent.ScopeExtension: 0, subagent.ScopeUser: 1} {
		defs, problems := subagent.Parse([]byte(text), subagent.Source{Scope: scope, Path: "a.md"})
		require.Len(t, defs, want, report(problems))
		require.NotContains(t, report(problems), "passwd")
	}
}

// No way of printing shows a secret.
func TestSecretIsHidden(t *testing.T) {
	a := &subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Bearer", Token: "topsecret", Value: "$NAME", Key: "!run topsecret", Password: "$$x"}
	text, err := json.Marshal(a)
	require.NoError(t, err)
	for _, shown := range []string{fmt.Sprint(*a), fmt.Sprintf("%+v", *a), fmt.Sprintf("%#v", *a), fmt.Sprintf("%q", a.Token), string(text)} {
		require.NotContains(t, shown, "topsecret")
		require.Contains(t, shown, "hidden")
	}
	require.Contains(t, string(text), "$NAME")
	for secret, want := range map[subagent.Secret]string{"x": "x", "$$x": "$x", "!!x": "!x", "$1": "$1", "$a-b": "$a-b", "!": "!"} {
		require.Equal(t, want, secret.Literal())
		_, variable := secret.Variable()
		require.False(t, variable)
		require.False(t, secret.IsCommand())
	}
	require.Equal(t, "pass show x", subagent.Secret("!pass show x").Command())
}

func TestExpand(t *testing.T) {
	got, err := subagent.Expand("a ${x} $${y} ${1} $x ${x}${z}", map[string]string{"x": "${y}", "z": ""})
	require.NoError(t, err)
	require.Equal(t, "a ${y} ${y} ${1} $x ${y}", got)
	_, err = subagent.Expand("a ${nope} ${x}", map[string]string{"x": ""})
	require.ErrorContains(t, err, "${nope}")
}

// EX-13: parsed definitions are valid for any file content.
func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		"---\nname: a\ndescription: d\ntools: [x]\n---\nP", "---\n- name: a\n  agent_card_url: x\n---\n", "---\n&a : *a\n---\n", "---\n? [a]\n: b\n---\n",
		"---\nname: !!str a\n<<: {a: b}\n---\n", "---\na: |\n  b\n---", "\ufeff---\r\nname: a\r\n---\r\n", "---\n{{{{\n---\n", "---\n- - - -\n---\n", "---\nname: .inf\nmax_turns: .nan\n---\nx",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defs, problems := subagent.Parse(data, subagent.Source{Scope: subagent.ScopeProject, Path: "a.md"})
		if len(defs) == 0 && len(problems) == 0 && !strings.Contains(string(data), "---") {
			t.Error("neither an agent nor a problem")
		}
		for _, d := range defs {
			if d.Name == "" || d.Description == "" || d.IsRemote() == (d.Remote == nil) {
				t.Errorf("an invalid agent: %+v", d)
			}
		}
		for _, p := range problems {
			if p.Message == "" || strings.ContainsAny(p.String(), "\n") || p.Line > 1+strings.Count(string(data), "\n") {
				t.Errorf("an invalid problem: %+v", p)
			}
		}
	})
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}
