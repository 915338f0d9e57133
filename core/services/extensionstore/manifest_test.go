package extensionstore_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

func isLost(problems []fault.Problem) bool {
	return slices.ContainsFunc(problems, func(p fault.Problem) bool { return p.IsError() })
}

// EX-01: invalid manifests, with the line.
func TestManifestRefused(t *testing.T) {
	const ok = `"name": "x", "version": "1"`
	tests := map[string]struct{ text, want string }{
		"empty":                    {"", "it is empty"},
		"no object":                {`[1]`, "it is not an object"},
		"cut off":                  {"{" + ok, "manifest is invalid"},
		"large":                    {"{" + ok + `, "description": "` + strings.Repeat("a", 10<<20) + `"}`, "more than 1048576 bytes"},
		"deep lists":               {"{" + ok + `, "themes": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}", "nested more than 100 deep"},
		"deep objects":             {strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), "nested more than 100 deep"},
		"not UTF-8":                {"{" + ok + ", \"description\": \"\xff\"}", "not UTF-8"},
		"a zero byte":              {"{" + ok + ", \"description\": \"a\x00b\"}", "manifest is invalid"},
		"an escaped zero byte":     {"{" + ok + ",\n \"description\": \"a\\u0000b\"}", "zero byte"},
		"a zero byte in a key":     {"{" + ok + ", \"a\\u0000\": 1}", "zero byte"},
		"a key twice":              {"{" + ok + ",\n\n\"name\": \"y\"}", `"name" twice`},
		"a key twice, deeper":      {"{" + ok + `, "mcpServers": {"a": {}, "\u0061": {}}}`, `"a" twice`},
		"no name":                  {`{"version": "1"}`, "no name"},
		"an empty name":            {`{"name": "", "version": "1"}`, "no name"},
		"no version":               {`{"name": "x"}`, "no version"},
		"null":                     {`{"name": null, "version": null}`, "no name"},
		"a number for a name":      {`{"name": 7, "version": "1"}`, "name is not a string"},
		"a list for a version":     {`{"name": "x", "version": []}`, "version is not a string"},
		"a path for a name":        {`{"name": "../x", "version": "1"}`, "No extension can be named"},
		"a name with a line end":   {`{"name": "x\n", "version": "1"}`, "No extension can be named"},
		"a long name":              {`{"name": "` + strings.Repeat("x", 65) + `", "version": "1"}`, "longer than 64"},
		"a name that means none":   {`{"name": "None", "version": "1"}`, "the name is reserved"},
		"servers in a list":        {"{" + ok + `, "mcpServers": []}`, "mcpServers is not an object"},
		"a server that is a text":  {"{" + ok + `, "mcpServers": {"a": "b"}}`, `server "a" is not an object`},
		"context file: a number":   {"{" + ok + `, "contextFileName": 7}`, "contextFileName"},
		"context file: outside":    {"{" + ok + `, "contextFileName": ["a.md", "../b.md"]}`, "is not in"},
		"context file: empty":      {"{" + ok + `, "contextFileName": [""]}`, "is not in"},
		"excluded: an object":      {"{" + ok + `, "excludeTools": {}}`, "excludeTools is not a list"},
		"excluded: a number":       {"{" + ok + `, "excludeTools": [7]}`, "excludeTools is not a list"},
		"excluded: nothing":        {"{" + ok + `, "excludeTools": [" "]}`, "is empty"},
		"settings: an object":      {"{" + ok + `, "settings": {}}`, "settings is not a list"},
		"settings: a text":         {"{" + ok + `, "settings": ["A"]}`, "not an object"},
		"settings: sensitive: 1":   {"{" + ok + `, "settings": [{"name": "a", "envVar": "A", "sensitive": 1}]}`, "not an object"},
		"settings: no variable":    {"{" + ok + `, "settings": [{"name": "a", "envVar": "A=B"}]}`, "not a variable name"},
		"settings: no name":        {"{" + ok + `, "settings": [{"envVar": "A"}]}`, "has no name"},
		"settings: twice":          {"{" + ok + `, "settings": [{"name": "a", "envVar": "A"}, {"name": "b", "envVar": "A"}]}`, "Two settings"},
		"plan: a text":             {"{" + ok + `, "plan": "x"}`, "plan is not an object"},
		"plan: a number":           {"{" + ok + `, "plan": {"directory": 7}}`, "plan.directory is not a string"},
		"themes: a text":           {"{" + ok + `, "themes": "x"}`, "themes is not a list"},
		"migratedTo: a list":       {"{" + ok + `, "migratedTo": []}`, "migratedTo is not a string"},
		"description: an object":   {"{" + ok + `, "description": {}}`, "description is not a string"},
		"the text of a whole page": {"<!doctype html><html></html>", "manifest is invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := extensionstore.ParseManifest([]byte(tt.text), "/ext", extensionstore.Variables{})
			require.True(t, isLost(problems), "%v", problems)
			require.Contains(t, told(problems), tt.want)
			require.Less(t, len(told(problems)), 2000)
		})
	}
	_, problems := extensionstore.ParseManifest([]byte("{"+ok+",\n\n\"name\": \"y\"}"), "/ext", extensionstore.Variables{})
	require.Equal(t, 3, problems[0].Line)
}

// Unusual values are reported, and affect nothing else.
func TestManifestOdd(t *testing.T) {
	m, problems := extensionstore.ParseManifest([]byte("\xef\xbb\xbf"+`{
		"name": "x", "version": "1", "$schema": "s", "__proto__": {"name": "evil"}, "contextFileName": "", "unknown": 1, "mcpServers": {
			"a": {"command": "c", "trust": true, "TRUST": true, "truſt": true, "env": {"constructor": "1", "OK": "2"}},
		}, "plan": {"other": 1}, "settings": null, /* the end */
	}`), "/ext", extensionstore.Variables{})
	require.False(t, isLost(problems), told(problems))
	require.JSONEq(t, `{"command": "c", "env": {"OK": "2"}}`, string(m.MCPServers["a"]))
	require.Nil(t, m.ContextFileNames)
	require.Contains(t, told(problems), `"__proto__" is ignored`)
	require.Contains(t, told(problems), `"constructor" is ignored`)
	require.Contains(t, told(problems), `"unknown"`)
	require.Equal(t, 3, strings.Count(told(problems), "key trust of"))
}

func TestManifestNames(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"one":     {`"A.md"`, []string{"A.md"}},
		"several": {`["A.md", "docs/./B.md"]`, []string{"A.md", "docs/B.md"}},
		"none":    {`[]`, []string{}},
		"by path": {`"${extensionPath}${/}A.md"`, []string{"A.md"}},
		"by env":  {`"$MODE.md"`, []string{"fast.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, problems := extensionstore.ParseManifest(fmt.Appendf(nil, `{"name": "x", "version": "1", "settings": [{"name": "m", "envVar": "MODE"}], "contextFileName": %s}`, tt.text), "/ext",
				extensionstore.Variables{ExtensionPath: "/ext", Settings: map[string]string{"MODE": "fast"}})
			require.False(t, isLost(problems), told(problems))
			require.Equal(t, tt.want, m.ContextFileNames)
		})
	}
}

// The variables in the texts of a manifest.
func TestVariables(t *testing.T) {
	v := extensionstore.Variables{
		ExtensionPath: "/e/$HOME", WorkspacePath: "/w", Settings: map[string]string{"SET": "s", "EMPTY": "", "UNDECLARED": "u", "SECRET": "x"},
		Getenv: func(name string) (string, bool) {
			value, ok := map[string]string{"HOME": "/home", "SET": "outside", "ENV": "e", "KEY": "key"}[name]
			return value, ok
		},
	}
	for text, want := range map[string]string{
		"${extensionPath}/a":                   "/e/$HOME/a",
		"${workspacePath}${/}${pathSeparator}": "/w//",
		"${extensionpath} ${nope}":             "${extensionpath} ${nope}",
		"$SET ${SET} $SETTER":                  "s s $SETTER",
		"$ENV":                                 "e",
		"$KEY ${KEY} ${KEY:-none}":             "$KEY ${KEY} none",
		"$UNDECLARED":                          "$UNDECLARED",
		"$SECRET ${SECRET:-hidden}":            "$SECRET hidden",
		"$HOME":                                "/home",
		"${EMPTY}|${EMPTY:-d}|$EMPTY":          "|d|",
		"${NOPE:-${extensionPath}/x}y":         "/e/$HOME/xy",
		"${NOPE:-${SET:-${/}}}":                "s",
		"${NOPE:-":                             "${NOPE:-",
		"$ $$ ${ ${} $1 100$":                  "$ $$ ${ ${} $1 100$",
	} {
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		m, problems := extensionstore.ParseManifest(fmt.Appendf(nil, `{"name": "x", "version": "$SET", "description": %s, "settings": [
			{"name": "a", "envVar": "SET"}, {"name": "b", "envVar": "EMPTY"}, {"name": "c", "envVar": "ENV"}, {"name": "d", "envVar": "SECRET", "sensitive": true}]}`, raw), "/e", v)
		require.Empty(t, problems)
		require.Equal(t, want, m.Description, text)
		require.Equal(t, "$SET", m.Version)
	}
}

// FuzzManifest: no text makes it panic, and an accepted manifest has a valid name.
func FuzzManifest(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		``, `{}`, `{"name": "x", "version": "1"}`, `{"name": "x", "version": "1", "mcpServers": {"a": {"command": "${extensionPath}/b", "trust": true}}}`,
		`{"name": "x", "version": "1", "contextFileName": ["${A:-${/}}", "../b"], "settings": [{"name": "a", "envVar": "A", "sensitive": true}]}`,
		`{"name": "x", "version": "1", "__proto__": 1, "a": {"__proto__": 1,},}`, "{\"name\": \"x\", // c\n\"version\": \"\\ud800\"}", `{"plan": {"directory": "$A"}, "themes": [1, {}]}`,
	} {
		f.Add([]byte(seed))
	}
	const hidden = "do-not-show"
	v := extensionstore.Variables{ExtensionPath: "/e", WorkspacePath: "/w", Settings: map[string]string{"A": "a"}, Getenv: func(string) (string, bool) { return hidden, true }}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := extensionstore.ParseManifest(data, "/e", v)
		for _, p := range problems {
			if p.Message == "" || strings.Contains(p.String(), hidden) && !strings.Contains(string(data), "$") {
				t.Errorf("%q: %v", data, p)
			}
		}
		if isLost(problems) {
			return
		}
		if extensionstore.CheckName(m.Name) != "" || m.Version == "" {
			t.Errorf("%q is taken as %q %q", data, m.Name, m.Version)
		}
		for name, server := range m.MCPServers {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(server, &object); err != nil {
				t.Errorf("server %q of %q: %s", name, data, server)
			}
			for key := range object {
				if strings.EqualFold(key, "trust") {
					t.Errorf("%q is trusted", data)
				}
			}
		}
		for _, file := range m.ContextFileNames {
			if strings.HasPrefix(file, "/") || strings.HasPrefix(file, "..") {
				t.Errorf("%q names %q", data, file)
			}
		}
	})
}
