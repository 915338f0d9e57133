package file_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// given returns the structured content of a result. configtest checks at each call that it fits the schema of the tool.
func given(t testing.TB, r scheduler.Response) map[string]any {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	text := string(r.Result.Structured)
	if text == "" {
		require.True(t, r.Result.LLMContent.IsJSON())
		text = r.Result.LLMContent.String()
	}
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	return object
}

// EX-20: every result of a tool has structured content for programs; the content for models is unchanged.
func TestStructuredResults(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Write("a.txt", base)
	s.Write("a.png", png)
	s.Write("a.bin", "\x00\x01\x02\x03")
	s.Write("long.txt", strings.Repeat("line\n", 5000))

	whole := given(t, s.Call(file.ReadFile, args{"file_path": "a.txt"}))
	require.Equal(t, base, whole["content"])
	require.Equal(t, sum(base), whole["sha256"])
	unchanged := given(t, s.Call(file.ReadFile, args{"file_path": "a.txt"}))
	require.Equal(t, "file_unchanged", unchanged["status"])
	require.NotContains(t, unchanged, "content")
	cut := given(t, s.Call(file.ReadFile, args{"file_path": "long.txt"}))
	require.Equal(t, true, cut["truncated"])
	require.Nil(t, cut["sha256"])
	for _, name := range []string{"a.png", "a.bin"} {
		r := s.Call(file.ReadFile, args{"file_path": name})
		none := given(t, r)
		require.Nil(t, none["content"])
		require.Equal(t, r.Result.LLMContent.String(), none["notice"])
		require.NotContains(t, r.Result.LLMContent.String(), "{", "the content for models is text")
	}

	many := s.Call(file.ReadManyFiles, args{"paths": []string{"a.txt", "a.png", "a.bin", "absent.txt", "*.none", "long.txt"}})
	files := given(t, many)["files"].([]any)
	require.Len(t, files, 6)
	require.Equal(t, base, files[0].(map[string]any)["content"])
	require.Equal(t, "file_not_found", files[3].(map[string]any)["error"].(map[string]any)["type"])
	require.JSONEq(t, `{"files":`+many.Result.LLMContent.String()+`}`, string(many.Result.Structured))

	require.NotEmpty(t, given(t, s.Call(file.ListDirectory, args{"dir_path": "."}))["entries"])
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		require.Equal(t, true, given(t, s.Call(m.tool, m.change("a.txt")))["success"])
		require.Equal(t, true, given(t, s.Call(m.tool, m.create("b.txt")))["success"])
		refused := s.Call(m.tool, m.change("a.txt"))
		require.NotNil(t, refused.Result.Error)
		require.Nil(t, refused.Result.Structured)

		planning := newSession(t, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModePlan })
		planning.Write("a.txt", base)
		read(t, planning, "a.txt")
		preview := given(t, planning.Call(m.tool, m.change("a.txt")))
		require.Contains(t, preview["notice"], "Nothing was changed")
		require.Contains(t, preview["preview"], "fileDiff")
	})
}

// The schemas are closed: each refuses a key that the tool does not return. Models do not receive them.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	all, err := file.Factories()
	require.NoError(t, err)
	state := `"file_path":"/a","version":1,"sha256":"` + sum("") + `","content":""`
	examples := map[string][]string{
		file.ReadFile:      {state, `"file_path":"/a","version":1,"sha256":"` + sum("") + `","status":"file_unchanged","advice":"x"`, `"file_path":"/a","version":null,"sha256":null,"content":null`},
		file.ReadManyFiles: {`"files":[]`},
		file.ListDirectory: {`"dir_path":"/a","entries":[]`},
	}
	for _, f := range all {
		spec := f.Spec()
		list, ok := examples[spec.Name]
		if !ok {
			list = []string{`"success":true,"message":"x","latest_file_state":{` + state + `}`, `"notice":"x"`, `"notice":"x","preview":{}`}
		}
		schema, err := tools.ParseOutputSchema(spec.Name, spec.OutputSchema)
		require.NoError(t, err)
		for _, members := range list {
			require.NoError(t, schema.Fits(json.RawMessage(`{`+members+`}`)), spec.Name)
			require.Error(t, schema.Fits(json.RawMessage(`{`+members+`,"more":1}`)), spec.Name)
		}
		require.Error(t, schema.Fits(json.RawMessage(`{}`)), spec.Name)
		require.Equal(t, spec.Schema, spec.Declaration().Parameters)
	}
}
