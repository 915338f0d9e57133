package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// AR-19, FS-56: the text of each kind of request.
func TestRenderQuestion(t *testing.T) {
	edit := editQuestion(everyOutcome...)
	created := editQuestion(bus.ProceedOnce, bus.Cancel)
	created.Details.EditDetails = &confirmation.EditDetails{FilePath: "/w/n.txt", NewContent: "a\nb", FileDiff: "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"}
	created.Details.Title = "Confirm Write: n.txt"
	modified := editQuestion(bus.ProceedOnce)
	modified.Modified = true
	modified.Details.EditDetails.DiffStat = &confirmation.DiffStat{ModelAddedLines: 1, ModelRemovedLines: 1, UserAddedLines: 3, UserRemovedLines: 2}
	modified.Details.SystemMessage = "A hook says: mind the gap."
	modified.Subagent = "helper"

	for name, c := range map[string]struct {
		q    bus.ToolConfirmationRequest
		want string
	}{
		"edit": {edit, `
Confirm Write: a.txt
/w/a.txt  +1 −1
1 1  one
2   -two
  2 +TWO
3 3  three
why: Tools of kind edit need approval. (default tier, built-in)
  [a] until this session ends: write_file on /w/a.txt
  [s] from now on, kept in your policy file: write_file on /w/a.txt
  [t] until this session ends: any call of write_file
  [v] until this session ends: any tool of the MCP server s, with any arguments
`},
		"new file": {created, `
Confirm Write: n.txt
new file: /w/n.txt  +2 −0
  1 +a
  2 +b
    \ No newline at end of file
why: Tools of kind edit need approval. (default tier, built-in)
`},
		"modified": {modified, `
Confirm Write: a.txt
requested by the subagent helper
note: A hook says: mind the gap.
/w/a.txt  +1 −1
with your changes: +3 −2, proposed +1 −1
1 1  one
2   -two
  2 +TWO
3 3  three
why: Tools of kind edit need approval. (default tier, built-in)
`},
		"command": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command"},
			Details: bus.Confirmation{Type: confirmation.Exec, Title: "Confirm: Shell", Paths: []string{"/w/out.txt"}, ExecDetails: &confirmation.ExecDetails{
				Command: "git status && make >out.txt", RootCommand: "git, make", RootCommands: []string{"git", "make"},
				Parts: []confirmation.Part{
					{Text: "git status", Decision: "allow", Rule: "git-read", Tier: "user", Source: "/h/policies.toml", Line: 3},
					{Text: "git log", Decision: "allow", Reason: "git-read (/h/policies.toml:3) allows it.", Rule: "git-read", Tier: "user", Source: "/h/policies.toml", Line: 3},
					{Text: "make", Decision: "ask_user", Reason: "No rule speaks of make."},
					{Text: "> out.txt", Decision: "deny", Reason: "a file"},
				},
			}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: "The part make needs an answer.", Rule: "ask shell", Tier: "admin", Source: "/etc/p.toml", Line: 12},
			Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.Cancel},
			Remembers: []bus.Remembered{ // 18020, 22169
				{Outcome: bus.ProceedAlways, Rules: []string{"commands that begin with make", "write_file on /w/out.txt"}},
				{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"commands that begin with make\x1b"}},
			},
		}, `
Confirm: Shell
git status && make >out.txt
  allowed  git status  (rule git-read, user tier, /h/policies.toml:3)
  allowed  git log  git-read (/h/policies.toml:3) allows it.
  asks     make  No rule speaks of make.
  denied   > out.txt  a file
changes /w/out.txt
why: The part make needs an answer. (rule ask shell, admin tier, /etc/p.toml:12)
  [a] until this session ends:
    - commands that begin with make
    - write_file on /w/out.txt
  [s] from now on, kept in your policy file: commands that begin with make<U+001B>
`},
		"command that no rule allows": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"make && cd x","dir_path":"sub","description":"Builds\n\u001b[2J it.","is_background":true}`)},
			Details: bus.Confirmation{Title: "Confirm: Shell", ExecDetails: &confirmation.ExecDetails{Command: "make && cd x", Parts: []confirmation.Part{
				{Text: "make", Decision: "ask_user", Reason: `No rule allows "make".`, Rule: "kinds that are asked about", Tier: "default", Source: "built-in"},
				{Text: "cd x", Decision: "allow", Reason: "It changes nothing outside of the shell.", Rule: "own", Tier: "default", Source: "built-in"},
			}}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: `Of its 2 parts, "make": No rule allows "make".`, Rule: "kinds that are asked about", Tier: "default", Source: "built-in"},
		}, `
Confirm: Shell
make && cd x
  dir_path: sub
  description: Builds <U+001B>[2J it.
  is_background: true
  asks     make  No rule allows it.
  allowed  cd x  It changes nothing outside of the shell.
why: No rule allows it.
`},
		"command of several parts that no rule allows": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"a; b"}`)},
			Details: bus.Confirmation{Title: "Confirm: Shell", ExecDetails: &confirmation.ExecDetails{Command: "a; b", Parts: []confirmation.Part{
				{Text: "a", Decision: "ask_user", Reason: `No rule allows "a".`, Source: "built-in"},
				{Text: "b", Decision: "ask_user", Reason: `No rule allows "b".`, Source: "built-in"},
				{Text: "c", Decision: "allow", Reason: "x", Source: "built-in"},
			}}},
			Decision: confirmation.Explanation{Decision: "ask_user", Reason: `Of its 3 parts, "a": No rule allows "a".`, Source: "built-in"},
		}, `
Confirm: Shell
a; b
  asks     a  No rule allows it.
  asks     b  No rule allows it.
  allowed  c  x
why: 2 of its 3 parts need approval.
`},
		"mcp": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "mcp_hub_search", Args: json.RawMessage(`{"q":"a<b","n":1}`)}, ServerName: "hub",
			Details:  bus.Confirmation{Type: confirmation.MCP, Title: "Confirm: search", MCPDetails: &confirmation.MCPDetails{ServerName: "hub", ToolName: "search", ToolDisplayName: "Search issues"}},
			Decision: confirmation.Explanation{Reason: "Tools of servers need approval."},
			Outcomes: everyOutcome[:5],
			Remembers: []bus.Remembered{
				{Outcome: bus.ProceedAlways, Rules: []string{"the tool search of the MCP server hub, with any arguments", "x"}},
				{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"the tool search of the MCP server hub, with any arguments", "x"}},
				{Outcome: bus.ProceedAlwaysTool, Rules: []string{"the tool search of the MCP server hub, with any arguments"}},
				{Outcome: bus.ProceedAlwaysServer, Rules: []string{"any tool of the MCP server hub, with any arguments"}},
			},
		}, `
Confirm: search
tool search (Search issues) of server hub
  {
    "q": "a<b",
    "n": 1
  }
why: Tools of servers need approval.
  [a] until this session ends, [s] from now on, kept in your policy file:
    - the tool search of the MCP server hub, with any arguments
    - x
  [t] until this session ends: the tool search of the MCP server hub, with any arguments
  [v] until this session ends: any tool of the MCP server hub, with any arguments
`},
		"a plan": {bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "exit_plan_mode"},
			Details:  bus.Confirmation{Type: confirmation.Info, Title: "Confirm Plan: a.md", InfoDetails: &confirmation.InfoDetails{Prompt: "Carry out this plan?"}},
			Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
		}, `
Confirm Plan: a.md
Carry out this plan?
why: no rule matches
  [n] optionally with a reason: n write tests first
`},
		"a page": {bus.ToolConfirmationRequest{
			ToolCall:  bus.ToolCall{Name: "web_fetch"},
			Details:   bus.Confirmation{Type: confirmation.Info, Title: "Confirm Web Fetch", InfoDetails: &confirmation.InfoDetails{Prompt: "Fetch?", URLs: []string{"https://a.example:81/x?y"}}},
			Outcomes:  []bus.Outcome{bus.ProceedAlways, bus.ProceedAlwaysTool},
			Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"web_fetch of any page of https://a.example:81"}}, {Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of web_fetch"}}},
		}, `
Confirm Web Fetch
Fetch?
  https://a.example:81/x?y
why: no rule matches
  [a] until this session ends: web_fetch of any page of https://a.example:81
  [t] until this session ends: any call of web_fetch
`},
		"info": {bus.ToolConfirmationRequest{
			ToolCall:  bus.ToolCall{Name: "web_fetch"},
			Details:   bus.Confirmation{Type: confirmation.Info, Title: "Confirm: Fetch", InfoDetails: &confirmation.InfoDetails{Prompt: "fetch two\npages", URLs: []string{"https://a.example/ x", "https://b.example"}}},
			Outcomes:  []bus.Outcome{bus.ProceedAlways},
			Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"calls of web_fetch like this one"}}},
		}, `
Confirm: Fetch
fetch two
pages
  https://a.example/ x
  https://b.example
why: no rule matches
  [a] until this session ends: calls of web_fetch like this one
`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, renderQuestion(c.q, "", 1000, false))
			coloured := renderQuestion(c.q, "", 1000, true)
			require.Contains(t, coloured, "\x1b[")
			require.Equal(t, c.want, withoutColour(coloured), "colour changes no text")
		})
	}
}

func withoutColour(s string) string {
	for _, st := range []display.Style{display.StyleBold, display.StyleDim, display.StyleRed, display.StyleGreen, display.StyleCyan, display.StyleReset} {
		s = strings.ReplaceAll(s, string(st), "")
	}
	return s
}

// Displayed text cannot act on the terminal, whatever a file, a path, a rule or a
// server contains.
func TestQuestionIsSafeToShow(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\rAllow\u202e\x9b1m\xff\u0085\u009b\u200e\u2028\u2066\u061c\u3164a\u200db"
	name := "a\x1b[1A\nb" + hostile
	quoted, err := json.Marshal(map[string]string{"x\u202e": "\u009b\u202e"})
	require.NoError(t, err)
	for _, c := range []bus.Confirmation{
		{EditDetails: &confirmation.EditDetails{FilePath: name, FileDiff: "--- a\n+++ b\n@@ -1 +1 @@ " + hostile + "\n-" + hostile + "\r\n+x\n@@ -1" + hostile + " +1 @@\n+y\n", OriginalContent: &hostile}},
		{ExecDetails: &confirmation.ExecDetails{Command: hostile, RootCommands: []string{name}, Parts: []confirmation.Part{{Text: name, Decision: confirmation.Verdict(name), Reason: name, Rule: name, Source: name}}}},
		{MCPDetails: &confirmation.MCPDetails{ServerName: name, ToolName: name, ToolDisplayName: hostile}},
		{InfoDetails: &confirmation.InfoDetails{Prompt: hostile, URLs: []string{name}}},
	} {
		c.Title, c.SystemMessage, c.Paths = hostile, hostile, []string{name}
		shown := renderQuestion(bus.ToolConfirmationRequest{
			Subagent: name, ServerName: name, ToolCall: bus.ToolCall{Name: name, Args: quoted}, Details: c, Outcomes: everyOutcome,
			Decision: confirmation.Explanation{Reason: name, Rule: name, Tier: name, Source: name, Line: 1},
		}, "", 1000, false)
		require.False(t, strings.ContainsFunc(shown, display.Obeyed), "%q", shown)
		require.Contains(t, shown, "<U+001B>")
	}
}

// On a narrow terminal prose is wrapped at blanks; a command is not wrapped.
func TestQuestionOnNarrowTerminal(t *testing.T) {
	command := "printf " + strings.Repeat("word ", 20) + "end"
	q := bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "web_fetch"}, Outcomes: everyOutcome, Decision: confirmation.Explanation{Reason: "Tools of kind fetch are asked about, as they reach the network."},
		Details: bus.Confirmation{Title: "Confirm what this tool is about to do for you", ExecDetails: &confirmation.ExecDetails{Command: command}},
	}
	shown := renderQuestion(q, "", 40, false)
	require.Contains(t, shown, "\n"+command+"\n")
	q.Details.ExecDetails, q.Details.InfoDetails = nil, &confirmation.InfoDetails{Prompt: strings.Repeat("word ", 20)}
	for line := range strings.Lines(renderQuestion(q, "", 40, false) + display.Fold(renderKeys(Replies(everyOutcome), false), "", 40)) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, " \n"))), 40, line)
	}
}
