package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// only returns the one problem of a load.
func only(t *testing.T, r *settings.Result) fault.Problem {
	t.Helper()
	require.Len(t, r.Problems, 1)
	return r.Problems[0]
}

// CF-05: a mistake is reported with its position, and only the value is ignored.
func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		text     string
		want     fault.Problem // without source, layer, message and remedy
		mentions string
	}{
		"an unknown group": {"{\n  \"toolz\": {}\n}", fault.Problem{Line: 2, Column: 3, Key: "toolz", Kind: settings.KindUnknownKey, Severity: settings.Warning, Open: true, Nearest: "tools"}, "Did you mean tools?"},
		"an unknown key": {
			`{"tools": {"cor": []}}`,
			fault.Problem{Line: 1, Column: 12, Key: "tools.cor", Kind: settings.KindUnknownKey, Severity: settings.Warning, Open: true, Nearest: "tools.core"}, "Did you mean tools.core?",
		},
		"another letter case": {
			`{"Tools": {"core": []}}`,
			fault.Problem{Line: 1, Column: 2, Key: "Tools", Kind: settings.KindUnknownKey, Severity: settings.Warning, Open: true, Nearest: "tools"}, "Did you mean tools?",
		},
		"dots": {
			`{"tools.core": []}`,
			fault.Problem{Line: 1, Column: 2, Key: "tools.core", Kind: settings.KindUnknownKey, Severity: settings.Warning, Open: true, Nearest: "tools.core"}, `{"tools": {"core": …}}`,
		},
		"another place": {
			`{"inactivityTimeout": 3}`,
			fault.Problem{Line: 1, Column: 2, Key: "inactivityTimeout", Kind: settings.KindUnknownKey, Severity: settings.Warning, Open: true, Nearest: "tools.shell.inactivityTimeout"}, "Did you mean tools.shell.inactivityTimeout?",
		},
		"nothing near": {
			`{"zzzzzzzz": 1}`,
			fault.Problem{Line: 1, Column: 2, Key: "zzzzzzzz", Kind: settings.KindUnknownKey, Severity: settings.Warning}, "docs/configuration.md",
		},
		"a wrong type": {
			"{\n  // how many\n  \"fileFiltering\": {\n    \"maxFileCount\": \"lots\"\n  }\n}",
			fault.Problem{Line: 4, Column: 21, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "a whole number of at least 1"}, `The value "lots" is not a whole number of at least 1`,
		},
		"half a number": {
			`{"context": {"fileFiltering": {"maxFileCount": 1.5}}}`,
			fault.Problem{Line: 1, Column: 48, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "a whole number of at least 1"}, "1.5",
		},
		"too low": {
			`{"context": {"fileFiltering": {"maxFileCount": 0}}}`,
			fault.Problem{Line: 1, Column: 48, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "a whole number of at least 1"}, "0",
		},
		"beyond what numbers hold": {
			`{"context": {"fileFiltering": {"maxFileCount": 1e999}}}`,
			fault.Problem{Line: 1, Column: 48, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "a whole number of at least 1"}, "invalid",
		},
		"more than an int holds": {
			`{"context": {"fileFiltering": {"maxFileCount": 1e300}}}`,
			fault.Problem{Line: 1, Column: 48, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "a whole number of at least 1"}, "1e+300",
		},
		"more than seconds": {
			`{"tools": {"shell": {"timeout": 1e11}}}`,
			fault.Problem{Line: 1, Column: 33, Key: "tools.shell.timeout", Kind: settings.KindValue, Severity: settings.Error, Expected: "a whole number of at most 31536000", Open: true}, "100000000000",
		},
		"null": {
			`{"web": {"search": {"url": null}}}`,
			fault.Problem{Line: 1, Column: 28, Key: "web.search.url", Kind: settings.KindValue, Severity: settings.Error, Expected: "a text"}, "null",
		},
		"a group that is none": {
			`{"web": []}`,
			fault.Problem{Line: 1, Column: 9, Key: "web", Kind: settings.KindValue, Severity: settings.Error, Open: true, Expected: "an object"}, "an object",
		},
		"a text for a number": {
			`{"context": {"fileFiltering": {"maxFileCount": "20"}}}`,
			fault.Problem{Line: 1, Column: 48, Key: "context.fileFiltering.maxFileCount", Kind: settings.KindConverted, Severity: settings.Warning, Expected: "a whole number of at least 1"}, "is converted",
		},
		"a text for a list": {
			`{"tools": {"exclude": "glob"}}`,
			fault.Problem{Line: 1, Column: 23, Key: "tools.exclude", Kind: settings.KindConverted, Severity: settings.Warning, Expected: "a list of texts"}, "is converted",
		},
		"twice": {
			`{"tools": {"exclude": []}, "tools": {"exclude": ["glob"]}}`,
			fault.Problem{Line: 1, Column: 49, Key: "tools.exclude", Kind: settings.KindTwice, Severity: settings.Warning}, "the later one applies",
		},
		"not read": {
			`{"telemetry": {"useCliAuth": true}}`,
			fault.Problem{Line: 1, Column: 30, Key: "telemetry.useCliAuth", Kind: settings.KindUnused, Severity: settings.Notice}, "fettle does not use it yet",
		},
		"of another program": {
			`{"ui": {"hideBanner": true}}`,
			fault.Problem{Line: 1, Column: 9, Key: "ui.hideBanner", Kind: settings.KindUnused, Severity: settings.Notice}, "another program",
		},
		"no JSON": {
			"{\n  \"model\": }",
			fault.Problem{Line: 2, Column: 12, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "not a valid settings file",
		},
		"no object":       {"\n[]", fault.Problem{Line: 2, Column: 1, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "it is not an object"},
		"no end":          {`{"tools": {"core": [`, fault.Problem{Line: 1, Column: 21, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "not a valid settings file"},
		"two objects":     {`{} {}`, fault.Problem{Line: 1, Column: 4, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "not a valid settings file"},
		"no UTF-8":        {"{\"model\": \"\xff\"}", fault.Problem{Line: 1, Column: 12, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "it is not UTF-8"},
		"only a bracket":  {"{\n\n", fault.Problem{Line: 1, Column: 2, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "not a valid settings file"},
		"no name":         {`{"": 1}`, fault.Problem{Line: 1, Column: 2, Key: `""`, Kind: settings.KindUnknownKey, Severity: settings.Warning}, "The key is unknown"},
		"beyond numbers":  {`{"mcpServers": {"a": {"timeout": 1e999}}}`, fault.Problem{Line: 1, Column: 16, Key: "mcpServers", Kind: settings.KindValue, Severity: settings.Error, Expected: "an object"}, "the number 1e999 is too large for a number"},
		"endless nesting": {strings.Repeat("[", 300_000), fault.Problem{Line: 1, Column: 10_001, Kind: settings.KindSyntax, Severity: settings.Error, Open: true}, "nested too deep"},
		"5 MB":            {`{"model": "` + strings.Repeat("x", 5<<20) + `"}`, fault.Problem{Kind: settings.KindFileRead, Severity: settings.Error, Open: true}, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			path := m.user(tt.text)
			m.project(`{"tools": {"exclude": ["edit"]}}`) // applies whatever the other file contains
			r := m.load()
			got := only(t, r)
			require.Contains(t, got.String(), tt.mentions)
			require.Equal(t, path, got.Path)
			require.Equal(t, settings.LayerUser, got.Layer)
			got.Path, got.Layer, got.Message, got.Remedy = "", "", "", ""
			require.Equal(t, tt.want, got)
			require.Contains(t, r.Settings.Tools.Exclude, "edit")
		})
	}
}

// A wrong value leaves the rest of its file in effect, and the other entries of a
// map.
func TestOnlyThatKey(t *testing.T) {
	m := newMachine(t)
	m.user(`{
  "web": {"search": {"url": 5, "method": "POST", "headers": {"X-Key": "k", "Bad": 1}}},
  "mcpServers": {
    "Good.One": {"command": "a", "env": {"API_Key": "x"}, "comand": "b"},
    "bad": {"command": "a", "args": "b"},
    "worse": 7, "slow": {"timeout": 1e300}
  },
  "hooks": {"BeforeTool": [{"matcher": "m", "hooks": [{"type": "command", "command": "c"}]}, {"hooks": [{"type": "runtime", "command": "c"}]}], "Other": 1},
  "tools": {"exclude": ["a", 1, "b"]}
}`)
	r := m.load()
	s := r.Settings
	require.Equal(t, settings.Search{Method: "POST", Headers: map[string]string{"X-Key": "k"}}, s.Web.Search)
	require.Equal(t, map[string]settings.MCPServer{"Good.One": {Command: "a", Env: map[string]string{"API_Key": "x"}}}, s.MCPServers) // CF-06
	require.Equal(t, []string{"a", "b"}, s.Tools.Exclude)
	var places []string
	for _, p := range r.Problems {
		if p.Severity != settings.Notice {
			places = append(places, strings.TrimPrefix(p.String(), p.Path))
		}
	}
	text := strings.Join(places, "\n")
	for _, want := range []string{
		":2:29: web.search.url: The value 5 is not a text; it has no effect.",
		":2:83: web.search.headers.Bad: ",
		":4:69: mcpServers.Good.One.comand: The key is unknown; it has no effect. Did you mean command?",
		":5:37: mcpServers.bad.args: The value is invalid: expected array, but got string. mcpServers.bad is ignored.",
		":6:14: mcpServers.worse: ",
		"hooks.BeforeTool.1.hooks.0.type: ", "hooks.Other: ",
		":9:30: tools.exclude.1: The entry is not a text; it is ignored.",
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, map[string][]settings.HookGroup{"BeforeTool": {{Matcher: "m", Hooks: []settings.Hook{{Type: "command", Command: "c"}}}, {Hooks: []settings.Hook{}}}}, s.Hooks)
}

// A mistake in a protection does not disable it.
func TestClosed(t *testing.T) {
	m := newMachine(t)
	m.write("etc/system-defaults.json", `{"general": {"defaultApprovalMode": "yolo"}}`)
	m.user(`{
  "general": {"defaultApprovalMode": "defualt"},
  "sandbox": ["landlock"],
  "tools": {"core": {"read_file": true}, "fileReadCacheDisabled": "perhaps"},
  "web": {"allowPrivateAddresses": "intranet"},
  "security": {"disableYoloMode": 7, "blockGitExtensions": 7},
}`)
	r := m.load()
	s := r.Settings
	require.Equal(t, "default", s.General.DefaultApprovalMode)
	require.Equal(t, settings.SandboxContainer, s.Tools.Sandbox.Kind())
	require.Contains(t, s.Tools.Sandbox.Command, " ", "no program has such a name")
	require.Equal(t, []string{}, s.Tools.Core)
	require.False(t, s.Tools.FileReadCacheDisabled)
	require.False(t, s.Web.AllowPrivateAddresses)
	require.True(t, s.Security.DisableYoloMode)
	told := 0
	for _, p := range r.Problems {
		if p.Severity == settings.Error {
			told++
			require.Contains(t, strings.ToLower(p.Message), "because the key protects you")
		}
	}
	require.Equal(t, 7, told)
}

// An empty name, below which the schema finds a mistake.
func TestEmptyName(t *testing.T) {
	m := newMachine(t)
	m.user(`{"mcpServers": {"": {"timeout": -1}, "good": {"command": "c"}}}`)
	r := m.load()
	require.Empty(t, r.Settings.MCPServers)
	require.Equal(t, settings.KindValue, r.Problems[0].Kind)
}

// A file full of mistakes is read quickly, and not all of them are reported.
func TestManyProblems(t *testing.T) {
	m := newMachine(t)
	m.user(`{` + strings.Repeat(`"k": 1,`, 50_000) + `"tools": {"exclude": [` + strings.Repeat("1,", 50_000) + `"glob"]}}`)
	var names strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&names, `"%d",`, i)
	}
	m.project(`{"tools": {"exclude": [` + names.String() + `]}}`)
	r := m.load()
	told := map[fault.Severity]int{}
	for _, p := range r.Problems {
		told[p.Severity]++
	}
	require.Equal(t, map[fault.Severity]int{settings.Error: 101, settings.Warning: 101}, told)
	require.Equal(t, settings.KindMore, r.Problems[201].Kind)
	require.Len(t, r.Settings.Tools.Exclude, 80_001)
}

// The file of --settings must exist and be valid.
func TestGivenFile(t *testing.T) {
	m := newMachine(t)
	m.File = m.path("none.json")
	_, err := settings.Load(t.Context(), m.Options)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Line(), m.File)
	m.write("none.json", "{\n  broken")
	_, err = settings.Load(t.Context(), m.Options)
	require.Contains(t, fault.As(err).Line(), "line 2, column 3")
	m.File, m.Flags = "", map[string]any{"tools.cor": 1}
	_, err = settings.Load(t.Context(), m.Options)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// Each mistake in an entry is reported, not only the first.
func TestTwoMistakesInOneEntry(t *testing.T) {
	m := newMachine(t)
	m.user(`{"hooks": {"BeforeTool": [{"hooks": [{"type": "runtime", "command": ""}]}]}}`)
	var keys []string
	for _, p := range m.load().Problems {
		if p.Severity == settings.Error {
			keys = append(keys, p.Key)
		}
	}
	require.Equal(t, []string{"hooks.BeforeTool.0.hooks.0.type", "hooks.BeforeTool.0.hooks.0.command"}, keys)
}

// Hooks for an unknown event do not run, which is reported.
func TestUnknownEvent(t *testing.T) {
	m := newMachine(t)
	m.user(`{"hooks": {"BeforTool": []}}`)
	all := m.load().Problems
	p := all[len(all)-1]
	require.Equal(t, settings.KindUnknownKey, p.Kind)
	require.Equal(t, "hooks.BeforTool", p.Key)
	require.Equal(t, 25, p.Column)
	require.Equal(t, "BeforeTool", p.Nearest)
}

// Brackets in texts and comments do not count.
func TestBracketsInTexts(t *testing.T) {
	m := newMachine(t)
	m.user(`{"policyPaths": ["` + strings.Repeat("[{", 20_000) + `"], /*` + strings.Repeat("[", 20_000) + `*/ "useWriteTodos": false} // ` + strings.Repeat("{", 20_000))
	require.Empty(t, m.load().Problems)
}

// Forms of other programs' files are accepted.
func TestFormsOfOthers(t *testing.T) {
	m := newMachine(t)
	m.user(`{"context": {"fileName": "GEMINI.md"}, "tools": {"autoAccept": true}, "general": {"previewFeatures": true}}`)
	require.Equal(t, []string{"GEMINI.md"}, m.clean().Settings.Context.FileName)
}
