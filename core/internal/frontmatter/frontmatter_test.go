package frontmatter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/frontmatter"
)

// EX-13, UI-07: texts without quotes are read, with the other keys next to them.
func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
		want map[string]any
	}{
		"valid":         {"a: b\nc: [d]", 0, map[string]any{"a": "b", "c": []any{"d"}}},
		"colon":         {"name: a\ndescription: Use: it\ntools: [x]", 5, map[string]any{"name": "a", "description": "Use: it", "tools": []any{"x"}}},
		"hint":          {"argument-hint: [a] [b]\nallowed-tools: Read", 4, map[string]any{"argument-hint": "[a] [b]", "allowed-tools": "Read"}},
		"bar":           {"argument-hint: | --a\nmodel: x", 4, map[string]any{"argument-hint": "| --a", "model": "x"}},
		"star":          {"name: a\ntools: *", 5, map[string]any{"name": "a", "tools": "*"}},
		"lines":         {"description: When: asked\n\n<example>\nContext: c\nuser: \"a: b\"\nassistant: x\n</example>\n\nmodel: m\ntools:\n  - Read", 4, map[string]any{"description": "When: asked\n<example>\nContext: c\nuser: \"a: b\"\nassistant: x </example>", "model": "m", "tools": []any{"Read"}}},
		"dialogue":      {"description: Asked.\\n\\n<example>\nContext: c\nuser: \"a\"\nContext: d: e\n<x>\nmodel: m", 5, map[string]any{"description": "Asked.\\n\\n<example>\nContext: c\nuser: \"a\"\nContext: d: e <x>", "model": "m"}},
		"quotes inside": {"description: \"a\" or \"b\": c\nname: 'n'", 4, map[string]any{"description": "\"a\" or \"b\": c", "name": "n"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n, line, err := frontmatter.Parse(tt.text, 3)
			require.NoError(t, err)
			require.Equal(t, tt.line, line)
			require.Equal(t, tt.want, n.Plain())
		})
	}
}

// EX-13, UI-07: no restriction gets lost in a text.
func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"invalid value":        "description: a: b: c\ntools: [a",
		"twice":                "description: a\n b: c\ntools: Read\nTools: Bash",
		"indented":             "description: a: b\n  c: d\n  tools: Read",
		"indented restriction": "description: a: b\n  c: d\n  permission-mode: plan",
		"in quotes":            "description: a: b\n  c: d\n  \"disallowed tools\": Bash",
		"in a dialogue":        "description: a: b\nContext: x: y\n  allowed-tools: Read",
		"item":                 "description: a: b\n  c: d\n- tools: Read",
		"flow":                 "description: a: b\n  c: d\n{tools: Read}",
		"key of its own":       "description: a: b\n  c: d\n? tools\n: Read",
		"escaped key":          "description: a: b\n  c: d\n\"t\\u006fols\": Read",
		"line break":           "description: a: b\n  c: d\rtools: Read",
		"unusual line break":   "description: a: b\n  c: d\u2028tools: Read",
		"end of document":      "description: a: b\n  c: d\n...\ntools: Read",
		"no key":               "tools\ndescription: a: b\n  c: d",
		"anchor":               "description: a: b\n  c: d\ntools: &x [Read]",
	} {
		t.Run(name, func(t *testing.T) {
			n, _, err := frontmatter.Parse(text, 0)
			require.Error(t, err, "%v", n.Plain())
		})
	}
}
