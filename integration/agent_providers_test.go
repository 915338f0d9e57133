package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config/configtest"
)

// TE-05, CM-13, FS-28, FS-29, AR-30, CR-32: through each provider's wire format, a file
// that is mentioned with @ is patched without a read; the patch is refused because another
// program has saved the file; and the refusal is sufficient for the next patch.
func TestMentionPatchRefusalRecovery(t *testing.T) {
	t.Parallel()
	const before, outside, after = "one\ntwo\nthree\n", "zero\none\ntwo\nthree\n", "zero\none\nTWO\nthree\n"
	for _, format := range wireFormats {
		t.Run(format.name, func(t *testing.T) {
			var s *configtest.Session
			patch := func(id, text string) wireCall {
				return wireCall{id, "safe_patch", mustJSON(map[string]string{
					"file_path": "f.txt", "unified_diff": "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", "base_content_sha256": shaIn(t, text),
				})}
			}
			server := serveModel(t, format, func(n int, h wireRequest, w http.ResponseWriter) *wireReply {
				switch last := h.last(); n {
				case 0:
					s.Write("f.txt", outside) // another program saves it before the model answers
					return &wireReply{thought: "I must not tell.", text: "I patch it.", calls: []wireCall{patch("call_1", last.text), {"call_2", "glob", `{"pattern":"*.txt"}`}}}
				case 1:
					require.Contains(t, last.answers[0].failure, "file_changed_since_read")
					return &wireReply{thought: "Again then.", text: "Another program was faster.", calls: []wireCall{patch("call_3", last.answers[0].output)}}
				default:
					return &wireReply{thought: "Well.", text: "Done."}
				}
			})
			s = configtest.New(t, server.talkingTo)
			s.Write("f.txt", before)

			done := prompt(t, s.Config, "Make two loud in @f.txt.")
			require.Equal(t, agent.EventDone, done.last.Type, "%v", done.last.Err)
			require.Equal(t, []string{"safe_patch error file_changed_since_read", "glob success", "safe_patch success"}, done.calls)
			require.Equal(t, "I patch it.Another program was faster.Done.", done.text, "thoughts are no part of the answer")
			require.Equal(t, after, s.Read("f.txt"))
			require.Len(t, s.Confirmations(), 1, "a refused call needs no approval")

			all := server.requests()
			require.Len(t, all, 3)
			for _, h := range all {
				requireDeclared(t, format.name, h.tools)
				requirePaired(t, h.turns)
			}
			require.Equal(t, []string{"call_1", "call_2", "call_3"}, callIDs(all[2].turns), "the provider assigns the IDs")
			requireThoughts(t, format.name, all[2])
			t.Logf("%s\n%s", format.name, transcriptOf(all[2].turns, done.text))
		})
	}
}

var shaPattern = regexp.MustCompile(`"sha256":\s?"([0-9a-f]{64})"`)

// shaIn returns the last hash in a text, which must contain one.
func shaIn(t *testing.T, text string) string {
	all := shaPattern.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, all, "no hash in %s", text)
	return all[len(all)-1][1]
}

// requirePaired checks that each call has its response in the next turn, in the same
// order.
func requirePaired(t *testing.T, turns []wireTurn) {
	t.Helper()
	var open []wireCall
	for i, turn := range turns {
		require.Equal(t, i%2 == 1, turn.model, "turn %d", i)
		require.Len(t, turn.answers, len(open), "turn %d", i)
		for j, a := range turn.answers {
			require.Equal(t, open[j].id, a.id)
		}
		open = turn.calls
	}
	require.Empty(t, open)
}

func callIDs(turns []wireTurn) (ids []string) {
	for _, turn := range turns {
		for _, c := range turn.calls {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// requireThoughts checks the thoughts in the next request: each provider receives its
// own signatures unchanged, and providers without signatures receive none.
func requireThoughts(t *testing.T, provider string, h wireRequest) {
	t.Helper()
	for _, turn := range h.turns {
		require.NotContains(t, turn.text, "must not tell")
	}
	switch provider {
	case "gemini":
		require.Equal(t, []string{signature, signature}, h.signed, "the first call of each turn")
		require.Empty(t, h.thought)
	case "anthropic":
		require.Equal(t, []string{signature, signature}, h.signed)
		require.Equal(t, []string{"I must not tell.", "Again then."}, h.thought, "the API requires them in the next request")
	default:
		require.Empty(t, h.thought)
	}
}

// maxDescription is the maximum length of a tool description in characters, by
// OpenAI's error messages and Azure's documentation.
const maxDescription = 1024

// The documented limits of providers for tool schemas.
var (
	toolName       = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiKeywords = []string{"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
		"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering"}
)

// requireDeclared checks that the provider would accept the tools.
func requireDeclared(t *testing.T, provider string, tools []heardTool) {
	t.Helper()
	var names []string
	for _, tool := range tools {
		names = append(names, tool.name)
		require.Regexp(t, toolName, tool.name)
		require.NotEmpty(t, tool.description)
		require.LessOrEqual(t, utf8.RuneCountInString(tool.description), maxDescription, tool.name)
		_, err := jsonschema.CompileString("tool.json", string(tool.schema))
		require.NoError(t, err, tool.name)
		var schema map[string]any
		require.NoError(t, json.Unmarshal(tool.schema, &schema))
		require.Equal(t, "object", schema["type"], tool.name)
		for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			require.NotContains(t, schema, key, "%s at the top of %s", key, tool.name)
		}
		require.NotContains(t, string(tool.schema), `"$ref"`, tool.name)
		if provider == "gemini" {
			requireKeywords(t, tool.name, schema)
		}
	}
	require.Subset(t, names, []string{"read_file", "safe_patch", "glob", "run_shell_command"})
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "names are unique")
}

// requireKeywords checks a schema recursively for keywords that Gemini rejects.
func requireKeywords(t *testing.T, where string, schema map[string]any) {
	t.Helper()
	for key, value := range schema {
		require.Contains(t, geminiKeywords, key, where)
		switch inner := value.(type) {
		case map[string]any:
			if key != "properties" {
				requireKeywords(t, where+"."+key, inner)
				continue
			}
			for name, property := range inner {
				requireKeywords(t, where+"."+name, property.(map[string]any))
			}
		case []any:
			for _, v := range inner {
				if one, ok := v.(map[string]any); ok {
					requireKeywords(t, where+"."+key, one)
				}
			}
		}
	}
}

// transcriptOf formats a conversation as text.
func transcriptOf(turns []wireTurn, answer string) string {
	var b strings.Builder
	for _, turn := range turns {
		who := "user"
		if turn.model {
			who = "model"
		}
		if turn.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", who, turn.text)
		}
		for _, c := range turn.calls {
			fmt.Fprintf(&b, "%s: calls %s %s (%s)\n", who, c.name, c.args, c.id)
		}
		for _, a := range turn.answers {
			fmt.Fprintf(&b, "tool (%s): %s", a.id, a.output)
			if a.failure != "" {
				fmt.Fprintf(&b, "\n  error %s", a.failure)
			}
			b.WriteString("\n")
		}
	}
	return b.String() + "all answers: " + answer
}
