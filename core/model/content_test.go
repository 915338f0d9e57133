package model_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/model"
)

// turns sets every field of a Content once.
var turns = []model.Content{
	{Role: model.RoleUser, Parts: []model.Part{
		{Text: "Grüße <b>& 🙂\n"},
		{Data: &model.Data{MIMEType: "image/png", Bytes: []byte{0, 1, 0xff}, Name: "a.png"}},
	}},
	{Role: model.RoleModel, Parts: []model.Part{
		{Text: "I think", Thought: true, Signature: []byte("sig"), Provider: "anthropic"},
		{Signature: []byte{0xfb, 0xff}, Provider: "gemini"},
		{Text: "I look."},
		{Call: &model.FunctionCall{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"n":9007199254740993,"f":1.10,"e":1E400}`)}, Signature: []byte("s"), Provider: "gemini"},
		{Call: &model.FunctionCall{ID: "c2", Name: "glob"}},
		{Call: &model.FunctionCall{ID: "c3", Name: "glob", Args: json.RawMessage(`{"broken`)}},
		{Call: &model.FunctionCall{ID: "c4", Name: "glob", Args: json.RawMessage(`null`)}},
	}},
	{Role: model.RoleUser, Parts: []model.Part{
		{Response: &model.FunctionResponse{ID: "c1", Name: "read_file", Response: json.RawMessage(`{"output":{"version":12345678901234567890}}`), Data: []model.Data{{MIMEType: "application/pdf", Bytes: []byte("pdf")}}}},
		{Response: &model.FunctionResponse{ID: "c2", Name: "glob"}},
	}},
}

// Sessions are recorded in this form: a change of the file breaks existing ones.
func TestContentOnRecord(t *testing.T) {
	file := filepath.Join("testdata", "content.json")
	got, err := json.MarshalIndent(turns, "", "  ")
	require.NoError(t, err)
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n")

	// Without the indentation, which also affects raw JSON.
	got, err = json.Marshal(turns)
	require.NoError(t, err)
	var back []model.Content
	require.NoError(t, json.Unmarshal(got, &back))
	require.Equal(t, turns, back)
}

func FuzzContentOnRecord(f *testing.F) {
	fuzzseed.Add(f)
	for _, c := range turns {
		raw, err := json.Marshal(c)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"role":"user","parts":[{"functionCall":{"id":"","name":"","rawArgs":"{}"}},{"functionResponse":{"response":null}},{"signature":""}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c model.Content
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		once, err := json.Marshal(c)
		require.NoError(t, err, "a decoded value can be encoded")
		var back model.Content
		require.NoError(t, json.Unmarshal(once, &back))
		twice, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
		require.Equal(t, c.Text(), back.Text())
		require.Len(t, back.Calls(), len(c.Calls()))
		for _, call := range c.Calls() {
			require.True(t, json.Valid(call.Object()))
		}
	})
}

func TestContentParts(t *testing.T) {
	require.Equal(t, "Grüße <b>& 🙂\n", turns[0].Text())
	require.Equal(t, "I look.", turns[1].Text(), "without thoughts")
	require.Equal(t, model.UserText("a"), model.Content{Role: model.RoleUser, Parts: []model.Part{model.TextPart("a")}})
	var ids []string
	for _, c := range turns[1].Calls() {
		ids = append(ids, c.ID)
	}
	require.Equal(t, []string{"c1", "c2", "c3", "c4"}, ids)
	require.Empty(t, turns[0].Calls())
	require.Len(t, turns[2].Responses(), 2)
	require.Empty(t, turns[1].Responses())
}

func TestCallObject(t *testing.T) {
	for in, want := range map[string]string{
		"": `{}`, "  ": `{}`, `{"a": 9007199254740993}`: `{"a": 9007199254740993}`, " {} ": `{}`,
		`{"a`: `{"invalid_arguments":"{\"a"}`, `[1]`: `{"invalid_arguments":"[1]"}`, `null`: `{"invalid_arguments":"null"}`,
	} {
		require.Equal(t, want, string(model.FunctionCall{Args: json.RawMessage(in)}.Object()), in)
	}
}

func TestNewCallID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := model.NewCallID()
		require.False(t, seen[id])
		seen[id] = true
		require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, id)
	}
}

func TestToolNames(t *testing.T) {
	long := "x"
	for len(long) < 70 {
		long += "y"
	}
	for in, want := range map[string]string{"read_file": "read_file", "a.b/c": "a_b_c", "": "generic_tool", "Ü": "_", long: long[:64], "mcp-1": "mcp-1"} {
		require.Equal(t, want, model.SafeToolName(in), in)
	}
}
