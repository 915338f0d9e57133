package internaldocs_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

const policyText = "<!-- of people -->\n# Policy\n\nWhat is allowed.\n"

func documents() fstest.MapFS {
	return fstest.MapFS{
		"policy.md":          {Data: []byte(policyText)},
		"adding-a-tool.md":   {Data: []byte("# Adding a tool\n")},
		"plain.md":           {Data: []byte("No heading.\n## Not the first level\n")},
		"tools/read_file.md": {Data: []byte("# read_file\r\n")},
		"embed.go":           {Data: []byte("package docs\n")},
		"settings.json":      {Data: []byte("{}")},
	}
}

func tool(t testing.TB, docs fs.FS) tools.DeclarativeTool {
	t.Helper()
	factories, err := internaldocs.Factories()
	require.NoError(t, err)
	require.Len(t, factories, 1)
	return factories[0].Bind(internaldocs.Services{Docs: docs})
}

// newSession returns a session with the tool.
func newSession(t *testing.T, docs fs.FS) *configtest.Session {
	return configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{}
		p.Tools.Own = []tools.DeclarativeTool{tool(t, docs)}
	})
}

// The tool fulfils the contract of tools (TE-10, TO-15).
func TestKeepsTheContract(t *testing.T) {
	tooltest.Run(t, tool(t, documents()), tooltest.Cases{
		Examples: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{"path":"policy.md"}`), json.RawMessage(`{"path":""}`)},
		Failing:  []json.RawMessage{json.RawMessage(`{"path":"absent.md"}`), json.RawMessage(`{"path":"tools"}`), json.RawMessage(`{"path":"embed.go"}`)},
		Bad:      []json.RawMessage{json.RawMessage(`{"path":".."}`), json.RawMessage(`{"path":"/policy.md"}`), json.RawMessage(`{"path":7.5,"x":1}`)},
	})
}

// The tool matches the specification that policy uses, so that it never requires approval.
func TestSpec(t *testing.T) {
	spec := tool(t, documents()).Spec()
	known, ok := policy.WellKnown(internaldocs.GetInternalDocs)
	require.True(t, ok)
	require.Equal(t, known.Kind, string(spec.Kind))
	require.Equal(t, known.Mutates, spec.Mutates())
	require.True(t, spec.Parallel)
}

// TO-18: the list names every document, and a document is returned completely.
func TestListAndRead(t *testing.T) {
	s := newSession(t, documents())
	for _, args := range []map[string]any{{}, {"path": ""}, {"path": nil}} {
		r := s.Call(internaldocs.GetInternalDocs, args)
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		_, list, _ := strings.Cut(r.Result.LLMContent.String(), "\n\n")
		require.Equal(t, "- adding-a-tool.md: Adding a tool\n- plain.md\n- policy.md: Policy\n- tools/read_file.md: read_file", list)
		require.Equal(t, "Listed 4 documents", r.Result.ReturnDisplay.Text)
	}
	r := s.Call(internaldocs.GetInternalDocs, map[string]any{"path": "policy.md"})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, policyText, r.Result.LLMContent.String())
	require.Empty(t, s.Confirmations())
}

// Paths other than those of documents are refused, and the error names the documents.
func TestRefuses(t *testing.T) {
	docs := documents()
	s := newSession(t, docs)
	for path, want := range map[string]struct {
		code   fault.Code
		remedy string
	}{
		"../go.mod":              {fault.InvalidToolParams, "list of documents"},
		"tools/../policy.md":     {fault.InvalidToolParams, "list of documents"},
		"/policy.md":             {fault.InvalidToolParams, "list of documents"},
		"./policy.md":            {fault.InvalidToolParams, "list of documents"},
		".":                      {fault.InvalidToolParams, "list of documents"},
		`..\go.mod`:              {fault.InvalidToolParams, "list of documents"},
		"policy.md\x00":          {fault.InvalidToolParams, "list of documents"},
		"tools/":                 {fault.InvalidToolParams, "list of documents"},
		"tools":                  {fault.ExecutionFailed, "list of documents"},
		"embed.go":               {fault.ExecutionFailed, "list of documents"},
		"docs/policy.md":         {fault.ExecutionFailed, "Did you mean policy.md?"},
		"Policy":                 {fault.ExecutionFailed, "Did you mean policy.md?"},
		"policies.md":            {fault.ExecutionFailed, "Did you mean policy.md?"},
		"nonsense.md":            {fault.ExecutionFailed, "list of documents"},
		"add-tools.md":           {fault.ExecutionFailed, "Did you mean adding-a-tool.md?"},
		"read_file.md":           {fault.ExecutionFailed, "Did you mean tools/read_file.md?"},
		strings.Repeat("x", 1e4): {fault.ExecutionFailed, "list of documents"},
	} {
		r := s.Call(internaldocs.GetInternalDocs, map[string]any{"path": path})
		require.Equal(t, scheduler.StatusError, r.Status, "%.40q", path)
		require.Equal(t, want.code, r.Result.Error.Code, "%.40q", path)
		require.Contains(t, r.Result.Error.Remedy, want.remedy, "%.40q", path)
		require.Less(t, len(r.Result.Error.Message), 300)
	}
}

// broken are documents that cannot be read.
type broken struct{ fs.FS }

func (broken) Open(string) (fs.File, error) { return nil, errors.New("I/O error") }

func TestFails(t *testing.T) {
	r := newSession(t, broken{}).Call(internaldocs.GetInternalDocs, map[string]any{})
	require.Equal(t, fault.ExecutionFailed, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "I/O error")

	inv, err := tool(t, documents()).Build(json.RawMessage(`{}`))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := inv.Execute(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, fault.Cancelled, result.Error.Code)
}
