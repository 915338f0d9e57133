package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// editorTool returns the declaration of the session's text editor tool.
func editorTool(t *testing.T) model.Tool {
	t.Helper()
	all, err := file.Factories()
	require.NoError(t, err)
	for _, f := range all {
		if d := f.Spec().Declaration(); d.Name == file.TextEditor {
			return model.Tool(d)
		}
	}
	t.Fatal("there is no text editor")
	return model.Tool{}
}

// ED-02: the API's own text editor is declared by its type, to the models that know it.
func TestTextEditorIsDeclaredNatively(t *testing.T) {
	t.Parallel()
	editor := editorTool(t)
	like := model.Tool{Name: editor.Name, Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"path":{"type":"string"}}}`)}
	other := model.Tool{Name: "read_file", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"input_tokens": 7}`)
			return
		}
		http.Error(w, "{}", http.StatusBadRequest)
	})
	g := newGenerator(t, a.URL)
	for name, c := range map[string]struct {
		model  string
		tools  []model.Tool
		native bool
	}{
		"Claude 4.5":            {"claude-sonnet-4-5", []model.Tool{other, editor}, true},
		"Claude 4":              {"claude-sonnet-4-20250514", []model.Tool{other, editor}, true},
		"Claude Opus 4.1":       {"us.anthropic.claude-opus-4-1-20250805-v1:0", []model.Tool{editor, other}, true},
		"Claude 5":              {"claude-opus-5", []model.Tool{other, editor}, true},
		"Claude 3.7":            {"claude-3-7-sonnet-latest", []model.Tool{other, editor}, false},
		"another model":         {"local", []model.Tool{other, editor}, false},
		"a tool with that name": {"claude-sonnet-4-5", []model.Tool{other, like}, false},
	} {
		t.Run(name, func(t *testing.T) {
			request := &model.Request{Model: c.model, Contents: []model.Content{model.UserText("hello")}, Tools: c.tools}
			_, err := g.Generate(t.Context(), request)
			require.Error(t, err)
			declared := a.last(t).body["tools"].([]any)
			_, err = g.CountTokens(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, declared, a.last(t).body["tools"])
			require.Len(t, declared, 2)
			last := declared[1].(map[string]any)
			require.Equal(t, map[string]any{"type": "ephemeral"}, last["cache_control"])
			for i, tool := range declared {
				d := tool.(map[string]any)
				delete(d, "cache_control")
				if c.tools[i].Name == editor.Name && c.native {
					require.Equal(t, map[string]any{"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}, d)
					continue
				}
				require.Equal(t, c.tools[i].Name, d["name"])
				require.NotEmpty(t, d["input_schema"])
				require.NotEmpty(t, d["description"])
			}
		})
	}
}
