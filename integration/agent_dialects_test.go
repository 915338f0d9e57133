package integration_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// ED-02, ED-03, ED-04: through each provider's wire format, a model sees a file, edits it in its own dialect, is refused
// because another program has saved the file, and recovers by the refusal alone. With another model another dialect is
// declared.
func TestDialectsAtEachProvider(t *testing.T) {
	t.Parallel()
	const before, outside, after = "one\ntwo\nthree\n", "zero\none\ntwo\nthree\n", "zero\none\nTWO\nthree\n"
	see := map[string]wireCall{
		file.TextEditor: {"", file.TextEditor, mustJSON(map[string]any{"command": "view", "path": "f.txt"})},
		file.ApplyPatch: {"", file.ReadFile, mustJSON(map[string]any{"file_path": "f.txt"})},
	}
	edit := map[string]wireCall{
		file.TextEditor: {"", file.TextEditor, mustJSON(map[string]any{"command": "str_replace", "path": "f.txt", "old_str": "two", "new_str": "TWO"})},
		file.ApplyPatch: {"", file.ApplyPatch, mustJSON(map[string]any{"input": "*** Begin Patch\n*** Update File: f.txt\n@@\n one\n-two\n+TWO\n*** End Patch\n"})},
	}
	numbered := func(c wireCall, id string) wireCall { c.id = id; return c }
	for name, c := range map[string]struct {
		format        wireFormat
		model         string
		dialect, tool string
		native        string
	}{
		"Anthropic's API, natively":  {anthropicFormat, "claude-sonnet-4-5", "auto", file.TextEditor, "text_editor_20250728"},
		"Anthropic's API, old model": {anthropicFormat, "claude-3-5-haiku-latest", "auto", file.TextEditor, ""},
		"OpenAI's API":               {openaiFormat, "gpt-5", "auto", file.ApplyPatch, ""},
		"the editor at OpenAI's API": {openaiFormat, "anthropic/claude-sonnet-4.5", "auto", file.TextEditor, ""},
		"the editor at Gemini's API": {geminiFormat, "gemini-2.5-pro", file.TextEditor, file.TextEditor, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var s *configtest.Session
			server := serveModel(t, c.format, func(n int, h wireRequest, _ http.ResponseWriter) *wireReply {
				switch last := h.last(); n {
				case 0:
					return &wireReply{calls: []wireCall{numbered(see[c.tool], "call_1")}}
				case 1:
					require.Contains(t, last.answers[0].output, "two")
					s.Write("f.txt", outside)
					return &wireReply{calls: []wireCall{numbered(edit[c.tool], "call_2")}}
				case 2:
					require.Contains(t, last.answers[0].failure, "file_changed_since_read")
					require.Contains(t, last.answers[0].output, `"content":"zero\none\ntwo\nthree\n"`)
					return &wireReply{calls: []wireCall{numbered(edit[c.tool], "call_3")}}
				default:
					return &wireReply{text: "Done."}
				}
			})
			s = configtest.New(t, server.talkingTo, func(p *config.Parameters) {
				p.Conversation.Model, p.Tools.EditDialect = c.format.name+":"+c.model, []string{c.dialect}
			})
			s.Write("f.txt", before)
			done := prompt(t, s.Config, "Make two loud in f.txt.")
			require.Equal(t, agent.EventDone, done.last.Type, "%v", done.last.Err)
			require.Equal(t, []string{see[c.tool].name + " success", c.tool + " error file_changed_since_read", c.tool + " success"}, done.calls)
			require.Equal(t, after, s.Read("f.txt"))
			require.Len(t, s.Confirmations(), 1, "neither a view nor a refused call needs approval")
			for _, h := range server.requests() {
				require.Equal(t, []string{c.tool}, dialectsHeard(h))
				requirePaired(t, h.turns)
				for _, d := range h.tools {
					if d.name == c.tool {
						require.Equal(t, c.native, d.native)
						require.Equal(t, c.native == "", len(d.schema) > 0)
						require.Equal(t, c.native == "", d.description != "")
					}
				}
			}
			if c.dialect != file.AutoDialect {
				return
			}
			s.SetModel(c.format.name + ":another-model")
			done = prompt(t, s.Config, "And now?")
			require.Equal(t, agent.EventDone, done.last.Type, "%v", done.last.Err)
			all := server.requests()
			require.Equal(t, []string{file.SafePatch}, dialectsHeard(all[len(all)-1]))
		})
	}
}

// dialectsHeard returns the edit dialects that a request declares.
func dialectsHeard(h wireRequest) (names []string) {
	for _, d := range h.tools {
		if slices.Contains(file.EditDialects(), d.name) {
			names = append(names, d.name)
		}
	}
	return names
}
