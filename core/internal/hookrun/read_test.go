package hookrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
)

func origin() Origin {
	return Origin{Source: hooks.SourceUser, Path: "h", Variables: map[string]string{"extensionPath": "/x", "/": "/", "workspacePath": "/w"}}
}

// CR-31: eleven events.
func TestEvents(t *testing.T) {
	require.Len(t, hooks.Events(), 11)
	for _, e := range hooks.Events() {
		require.True(t, known(e))
	}
}

// CR-24: both forms of TOML, JSON, and settings give the same hooks, with their lines.
func TestForms(t *testing.T) {
	want := []hooks.Hook{
		{Event: hooks.BeforeTool, Matcher: "m", Sequential: true, Command: "/x/a /b ${HOME}", Name: "n", Description: "d",
			Timeout: 1500 * time.Millisecond, Env: map[string]string{"K": "/w"}, Source: hooks.SourceUser, Path: "h"},
		{Event: hooks.BeforeTool, Matcher: "m", Sequential: true, Command: "b", Source: hooks.SourceUser, Path: "h"},
	}
	for name, tt := range map[string]struct {
		text  string
		parse func([]byte, Origin) ([]hooks.Hook, []fault.Problem)
		lines [2]int
	}{
		"table": {`[hooks.BeforeTool]
matcher = "m"
sequential = true
hooks = [
  {type = "command", command = "${extensionPath}/a ${/}b ${HOME}", name = "n", description = "d", timeout = 1500, env = {K = "${workspacePath}"}},
  {command = "b"},
]`, ParseTOML, [2]int{5, 6}},
		"tables": {`[[hooks.BeforeTool]]
matcher = "m"
sequential = true
[[hooks.BeforeTool.hooks]]
command = "${extensionPath}/a ${/}b ${HOME}"
name = "n"
description = "d"
timeout = 1500
env.K = "${workspacePath}"
[[hooks.BeforeTool.hooks]]
command = "b"`, ParseTOML, [2]int{4, 10}},
		"JSON": {`{"hooks": {"BeforeTool": [{"matcher": "m", "sequential": true, "hooks": [
  {"type": "command", "command": "${extensionPath}/a ${/}b ${HOME}", "name": "n", "description": "d", "timeout": 1500, "env": {"K": "${workspacePath}"}},
  // the other
  {"command": "b"},
]}]}}`, ParseJSON, [2]int{2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := tt.parse([]byte(tt.text), origin())
			require.Empty(t, problems)
			require.Len(t, got, 2)
			for i := range got {
				require.Equal(t, tt.lines[i], got[i].Line)
				got[i].Line = 0
			}
			require.Equal(t, want, got)
		})
	}
	var events map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"BeforeTool": [{"hooks": []}, {"matcher": "m", "hooks": [{"type": "command", "command": "b"}]}]}`), &events))
	got, problems := OfValue(events, origin(), func(event string, i int) int {
		require.Equal(t, "BeforeTool", event)
		return 10 + i
	})
	require.Empty(t, problems)
	require.Equal(t, "b", got[0].Command)
	require.Equal(t, 11, got[0].Line)
}

// A date or time of TOML in env is set as written.
func TestDateInEnv(t *testing.T) {
	got, problems := ParseTOML([]byte("[[hooks.BeforeTool]]\nhooks = [{command = \"b\", env = {DAY = 2024-05-01, AT = 07:32:00}}]"), origin())
	require.Empty(t, problems)
	require.Len(t, got, 1)
	require.Equal(t, map[string]string{"DAY": "2024-05-01", "AT": "07:32:00"}, got[0].Env)
}

// CF-05: a mistake is reported with its position, and affects no other hook.
func TestMistakes(t *testing.T) {
	const good = `{"command": "good"}`
	group := func(hook string) string {
		return `{"hooks": {"BeforeTool": [{"hooks": [` + hook + `, ` + good + `]}]}}`
	}
	for name, tt := range map[string]struct {
		text string
		want []string // in the problems
		kept int      // hooks
	}{
		"event":          {`{"hooks": {"BeforTool": [{"hooks": [` + good + `]}], "AfterTool": [{"hooks": [` + good + `]}]}}`, []string{"h:1: The event", "Did you mean BeforeTool"}, 1},
		"old settings":   {`{"hooks": {"enabled": true, "disabled": [], "notifications": true}}`, nil, 0},
		"top":            {`{"hoks": {}}`, []string{`"hoks"`, "Did you mean hooks"}, 0},
		"no groups":      {`{"hooks": {"BeforeTool": 7}}`, []string{"is a number"}, 0},
		"no list":        {`{"hooks": {"BeforeTool": [{"matcher": "x"}, {"hooks": [` + good + `]}]}}`, []string{"no list hooks"}, 1},
		"no group":       {`{"hooks": {"BeforeTool": ["x", {"hooks": [` + good + `]}]}}`, []string{"is a string"}, 1},
		"matcher":        {`{"hooks": {"BeforeTool": [{"matcher": 1, "hooks": [` + good + `]}]}}`, []string{"matcher is a number", "is ignored"}, 0},
		"expression":     {`{"hooks": {"BeforeTool": [{"matcher": "(", "hooks": [` + good + `]}]}}`, []string{"not a valid regular expression"}, 1},
		"no command":     {group(`{"command": " "}`), []string{"no command"}, 1},
		"wrong command":  {group(`{"command": []}`), []string{"command is a list", "is ignored"}, 1},
		"type":           {group(`{"type": "runtime", "name": "x"}`), []string{`not "runtime"`}, 1},
		"no hook":        {group(`null`), []string{"A hook is null"}, 1},
		"timeout":        {group(`{"command": "c", "timeout": "5s"}`), []string{"milliseconds"}, 2},
		"negative":       {group(`{"command": "c", "timeout": -1}`), []string{"milliseconds"}, 2},
		"env":            {group(`{"command": "c", "env": {"A=": "x", "B": 1, "C": "c"}}`), []string{`"A="`, `"B"`}, 2},
		"key":            {group(`{"command": "c", "timout": 5}`), []string{"Did you mean timeout"}, 2},
		"not valid JSON": {`{"hooks": `, []string{"not valid JSON", "none of its hooks runs"}, 0},
		"a list":         {`[]`, []string{"a list"}, 0},
		"not UTF-8":      {"{\"hooks\": {}, \"description\": \"\xff\"}", []string{"not UTF-8", "none of its hooks runs"}, 0},
		"brackets":       {strings.Repeat("[", 20_000), []string{"too many brackets"}, 0},
		"too long":       {strings.Repeat(" ", maxBytes+1), []string{"more than"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := ParseJSON([]byte(tt.text), origin())
			require.Len(t, got, tt.kept)
			var all strings.Builder
			for _, p := range problems {
				all.WriteString(p.String() + "\n")
			}
			for _, text := range tt.want {
				require.Contains(t, all.String(), text)
			}
			if len(tt.want) == 0 {
				require.Empty(t, problems)
			}
		})
	}
	_, problems := ParseTOML([]byte("[hooks.BeforeTool]\nhooks = ["), origin())
	require.Len(t, problems, 1)
	require.Equal(t, 2, problems[0].Line)
	_, problems = ParseJSON([]byte(`{"hooks": {"BeforeTool": [`+strings.Repeat("1,", 1000)+`]}}`), origin())
	require.Len(t, problems, maxProblems+1, "not all are told")
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	o := origin()
	o.Path = filepath.Join(dir, "hooks.toml")
	got, problems := ReadFile(o)
	require.Empty(t, got)
	require.Empty(t, problems)
	require.NoError(t, os.Mkdir(o.Path, 0o700))
	_, problems = ReadFile(o)
	require.Len(t, problems, 1)
	o.Path = filepath.Join(dir, "hooks.json")
	require.NoError(t, os.WriteFile(o.Path, []byte(`{"hooks": {"SessionEnd": {"hooks": [{"command": "c"}]}}}`), 0o600))
	got, problems = ReadFile(o)
	require.Empty(t, problems)
	require.Equal(t, hooks.SessionEnd, got[0].Event)
}

// No file makes the reader panic, and each hook can be run.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"hooks": {"BeforeTool": [{"hooks": [{"command": "c"}]}]}}`, "[[hooks.BeforeTool]]\nhooks = [{command = 'c'}]",
		"[hooks.BeforeTool]\n[[hooks.BeforeTool.hooks]]\ncommand='c'\nenv.A='b'", "a.b.c = [[1],[{x=1}]]", "\ufeff[hooks]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte, Origin) ([]hooks.Hook, []fault.Problem){ParseTOML, ParseJSON} {
			got, problems := parse(data, origin())
			for _, p := range problems {
				require.NotEmpty(t, p.Message)
				require.NotContains(t, p.String(), "\n")
				require.True(t, 0 <= p.Line && p.Line <= 1+strings.Count(string(data), "\n"), "%+v", p)
			}
			for _, h := range got {
				require.NotEmpty(t, strings.TrimSpace(h.Command))
				require.True(t, known(h.Event))
				require.GreaterOrEqual(t, h.Timeout, time.Duration(0))
			}
		}
	})
}

// Matchers are searched, or compared literally.
func TestMatch(t *testing.T) {
	tool := Subject{Names: []string{"safe_patch", "edit", "replace"}}
	for _, tt := range []struct {
		event   hooks.Event
		matcher string
		subject Subject
		want    bool
	}{
		{hooks.BeforeTool, "", tool, true}, {hooks.BeforeTool, " * ", tool, true}, {hooks.BeforeTool, "patch", tool, true}, {hooks.AfterTool, "^patch", tool, false},
		{hooks.BeforeTool, "^replace$", tool, true}, {hooks.BeforeTool, "write|repl", tool, true}, {hooks.BeforeTool, "read", tool, false},
		{hooks.BeforeTool, "(", tool, false}, {hooks.BeforeTool, "(", Subject{Names: []string{"("}}, true},
		{hooks.SessionStart, "startup", Subject{Text: "startup"}, true}, {hooks.SessionStart, "start", Subject{Text: "startup"}, false},
		{hooks.PreCompress, "manual", Subject{Text: "auto"}, false}, {hooks.SessionEnd, "*", Subject{Text: "exit"}, true},
		{hooks.BeforeAgent, "whatever", Subject{}, true}, {hooks.Notification, "x", Subject{}, true}, {hooks.BeforeModel, "x", Subject{}, true},
	} {
		r := New(Options{Hooks: []hooks.Hook{{Event: tt.event, Matcher: tt.matcher, Command: "c"}}})
		require.Equal(t, tt.want, len(r.Select(tt.event, tt.subject)) == 1, "%s %q", tt.event, tt.matcher)
	}
}
