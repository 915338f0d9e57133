package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// AR-16: kinds.
func TestKinds(t *testing.T) {
	mutators := map[tools.Kind]bool{
		"read": false, "edit": true, "delete": true, "move": true, "search": false,
		"execute": true, "think": false, "fetch": false, "communicate": false, "other": false,
	}
	require.Len(t, tools.Kinds(), len(mutators))
	for _, k := range tools.Kinds() {
		want, known := mutators[k]
		require.True(t, known, k)
		require.Equal(t, want, k.Mutates(), k)
		require.True(t, k.Valid())
	}
	require.False(t, tools.Kind("").Valid())
	require.False(t, tools.Kind("Read").Valid())
	require.False(t, tools.Kind("Read").Mutates())
}

// Declared effects count like the kind.
func TestSpecMutates(t *testing.T) {
	for _, k := range tools.Kinds() {
		require.Equal(t, k.Mutates(), tools.Spec{Kind: k, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectNetwork, tools.EffectAskUser}}.Mutates(), k)
		require.True(t, tools.Spec{Kind: k, Effects: []tools.Effect{tools.EffectReadFiles, tools.EffectWriteFiles}}.Mutates(), k)
		require.True(t, tools.Spec{Kind: k, Effects: []tools.Effect{tools.EffectRunProcess}}.Mutates(), k)
	}
}

// A kind that never requires approval cannot have an effect that changes something, neither in Define nor in a
// registry.
func TestKindAndEffectsAgree(t *testing.T) {
	type none struct{}
	run := func(context.Context, none) (tools.Result, error) { return tools.Result{}, nil }
	unasked := []tools.Kind{tools.KindRead, tools.KindSearch, tools.KindThink, tools.KindCommunicate}
	for _, k := range tools.Kinds() {
		for _, e := range []tools.Effect{tools.EffectWriteFiles, tools.EffectRunProcess} {
			_, err := tools.Define("x", "X.", k, run, tools.WithSpec(func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectNetwork, e} }))
			if slices.Contains(unasked, k) {
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), k)
				require.ErrorContains(t, err, string(e))
			} else {
				require.NoError(t, err, k)
			}
		}
	}
}

// roundTrip checks the JSON of a value, and that decoding it gives the same JSON.
func roundTrip[T any](t *testing.T, value T, want string) {
	t.Helper()
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(value))
	require.Equal(t, want+"\n", text.String())
	var back T
	require.NoError(t, json.Unmarshal(text.Bytes(), &back))
	text.Reset()
	require.NoError(t, e.Encode(back))
	require.Equal(t, want+"\n", text.String())
}

// AR-17: results.
func TestResultJSON(t *testing.T) {
	object, err := tools.JSON(map[string]any{"version": 1, "content": "<a&b>"})
	require.NoError(t, err)
	require.True(t, object.IsJSON())
	tests := map[string]struct {
		result tools.Result
		want   string
	}{
		"text": {tools.Result{LLMContent: tools.Text("a <b>"), ReturnDisplay: tools.TextDisplay("seen")},
			`{"llmContent":"a <b>","returnDisplay":"seen"}`},
		"nothing": {tools.Result{}, `{"llmContent":"","returnDisplay":""}`},
		"JSON": {tools.Result{LLMContent: object},
			`{"llmContent":"{\"content\":\"<a&b>\",\"version\":1}","returnDisplay":""}`},
		"data": {tools.Result{LLMContent: tools.Data("A picture.", "image/png", []byte{1, 2})},
			`{"llmContent":[{"text":"A picture."},{"inlineData":{"mimeType":"image/png","data":"AQI="}}],"returnDisplay":""}`},
		"resources": {tools.Result{LLMContent: tools.Content{Parts: []tools.Part{
			{Resource: &tools.Resource{URI: "u:1", MIMEType: "text/plain", Text: "<t>"}},
			{Resource: &tools.Resource{URI: "u:2", Blob: []byte{1, 2}}},
			{Resource: &tools.Resource{URI: "u:3", Blob: []byte{}}},
			{Link: &tools.ResourceLink{URI: "u:4", Name: "n", Title: "t", Description: "d", MIMEType: "m/m", Size: 7}},
			{Link: &tools.ResourceLink{URI: "u:5", Name: "n"}},
		}}}, `{"llmContent":[{"resource":{"uri":"u:1","mimeType":"text/plain","text":"<t>"}},{"resource":{"uri":"u:2","blob":"AQI="}},` +
			`{"resource":{"uri":"u:3","blob":""}},{"link":{"uri":"u:4","name":"n","title":"t","description":"d","mimeType":"m/m","size":7}},` +
			`{"link":{"uri":"u:5","name":"n"}}],"returnDisplay":""}`},
		"one resource": {tools.Result{LLMContent: tools.Content{Parts: []tools.Part{{Resource: &tools.Resource{URI: "u:1", Text: "t"}}}}},
			`{"llmContent":[{"resource":{"uri":"u:1","text":"t"}}],"returnDisplay":""}`},
		"structured": {tools.Result{LLMContent: tools.Text("one"), Structured: json.RawMessage(`{"n":1,"s":"<&>"}`)},
			`{"llmContent":"one","returnDisplay":"","structured":{"n":1,"s":"<&>"}}`},
		"failure": {tools.Fail(fault.New(fault.FileNotFound, "op", "There is no file.", "List the directory.")),
			`{"llmContent":"There is no file. List the directory.","returnDisplay":"There is no file.",` +
				`"error":{"type":"file_not_found","message":"There is no file.","remedy":"List the directory."}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { roundTrip(t, tt.result, tt.want) })
	}
	for _, bad := range []string{`{"llmContent":7}`, `{"returnDisplay":{}}`, `{"returnDisplay":[]}`, `{"error":[]}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(tools.Result)), bad)
	}
}

func TestContent(t *testing.T) {
	require.Empty(t, tools.Content{}.String())
	require.Equal(t, "a\nb", tools.Content{Parts: []tools.Part{{Text: "a"}, {Text: "b"}}}.String())
	data := tools.Data("note", "image/png", nil)
	require.Equal(t, "note", data.String())
	require.True(t, data.HasData())
	require.False(t, tools.Text("x").HasData())
	require.False(t, tools.Text("{}").IsJSON())
	_, err := tools.JSON(make(chan int))
	require.Error(t, err)

	for text, isJSON := range map[string]bool{`"{\"a\":1}"`: true, `"[1]"`: true, `"{a"`: false, `"7"`: false, `"text"`: false} {
		var c tools.Content
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		require.Equal(t, isJSON, c.IsJSON(), text)
	}
}

// EX-16: content of a server other than text has a text form, and its data for consumers that can use it.
func TestContentOfServers(t *testing.T) {
	picture := []byte{1, 2, 3}
	for want, part := range map[string]tools.Part{
		"text": {Text: "text"},
		"":     {InlineData: &tools.InlineData{MIMEType: "image/png", Data: picture}},
		"held": {Resource: &tools.Resource{URI: "u:1", MIMEType: "text/plain", Text: "held"}},
		"[data of the resource u:1: image/png, 3 bytes]":                {Resource: &tools.Resource{URI: "u:1", MIMEType: "image/png", Blob: picture}},
		"[data of the resource u:1: application/octet-stream, 0 bytes]": {Resource: &tools.Resource{URI: "u:1", Blob: []byte{}}},
		"[the resource u:1: n]":                                         {Link: &tools.ResourceLink{URI: "u:1", Name: "n", Title: "n"}},
		"[the resource u:1: n; T; what it is; text/plain; 7 bytes]": {Link: &tools.ResourceLink{
			URI: "u:1", Name: "n", Title: "T", Description: " what\nit\u2028is\x1b", MIMEType: "text/plain", Size: 7,
		}},
	} {
		alone := tools.Content{Parts: []tools.Part{part}}
		require.Equal(t, want, alone.String())
		require.Equal(t, part.Text == "", alone.HasData())
		both := tools.Content{Parts: []tools.Part{{Text: "before"}, part}}
		if part.InlineData != nil {
			require.Equal(t, "before", both.String())
		} else {
			require.Equal(t, "before\n"+want, both.String())
		}
		data := part.Data()
		require.Equal(t, part.InlineData != nil || part.Resource != nil && part.Resource.Blob != nil, data != nil)
	}
	require.Equal(t, &tools.InlineData{MIMEType: "application/octet-stream", Data: picture},
		tools.Part{Resource: &tools.Resource{URI: "u:1", Blob: picture}}.Data())
	response := tools.Result{LLMContent: tools.Content{Parts: []tools.Part{{Text: "a"}, {Resource: &tools.Resource{Text: "b"}}}}, Structured: json.RawMessage(`{"secret":1}`)}
	require.Equal(t, `{"output":"a\nb"}`, string(response.FunctionResponse()), "structured content is not sent to models")

	object, err := tools.JSON(map[string]any{"n": 1})
	require.NoError(t, err)
	object.Parts = append(object.Parts, tools.Part{Text: "more"})
	require.False(t, object.IsJSON(), "it is no longer a single JSON text")
}

// A result that becomes a failure keeps its display.
func TestWithError(t *testing.T) {
	err := fault.New(fault.FileNotFound, "op", "Message.", "Remedy.")
	err.Short = "Short"
	bare := tools.Result{}.WithError(err)
	require.Equal(t, "Message. Remedy.", bare.LLMContent.String())
	require.Equal(t, "Short", bare.ReturnDisplay.Text)
	require.Same(t, err, bare.Error)

	full := tools.Result{LLMContent: tools.Text("state"), ReturnDisplay: tools.TextDisplay("seen"), Structured: json.RawMessage(`{}`)}
	failed := full.WithError(err)
	require.Nil(t, failed.Structured)
	require.Equal(t, "state", failed.LLMContent.String())
	require.Equal(t, "seen", failed.ReturnDisplay.Text)
	require.Nil(t, full.Error)
}

// The model receives the content and the error, never the message alone.
func TestFunctionResponse(t *testing.T) {
	object, err := tools.JSON(map[string]string{"a": "<b>"})
	require.NoError(t, err)
	failed := tools.Result{LLMContent: object}.WithError(
		fault.New(fault.FileChangedSinceRead, "op", "It <changed>.", "Read it.").Because(fault.Changed))
	tests := map[string]struct {
		result tools.Result
		want   string
	}{
		"text":    {tools.Result{LLMContent: tools.Text("a\n\"b\" <c>")}, `{"output":"a\n\"b\" <c>"}`},
		"nothing": {tools.Result{}, `{"output":""}`},
		"JSON":    {tools.Result{LLMContent: object}, `{"output":"{\"a\":\"<b>\"}"}`},
		"data":    {tools.Result{LLMContent: tools.Data("A picture.", "image/png", []byte{1})}, `{"output":"A picture."}`},
		"failure": {failed, `{"error":{"type":"file_changed_since_read","message":"It <changed>.","remedy":"Read it.","reason":"changed"},` +
			`"output":"{\"a\":\"<b>\"}"}`},
		"invalid UTF-8": {tools.Result{LLMContent: tools.Text("a\xffb")}, "{\"output\":\"a\ufffdb\"}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, string(tt.result.FunctionResponse()))
		})
	}
}

// AR-18: displays.
func TestDisplayJSON(t *testing.T) {
	original := "old"
	tests := map[string]struct {
		display tools.Display
		want    string
	}{
		"text": {tools.TextDisplay("a <b>"), `"a <b>"`},
		"diff of a new file": {tools.Display{Diff: &tools.FileDiff{FileDiff: "+a", FileName: "a", FilePath: "/a", NewContent: "a", IsNewFile: true}},
			`{"fileDiff":"+a","fileName":"a","filePath":"/a","originalContent":null,"newContent":"a","isNewFile":true}`},
		"diff with statistics": {tools.Display{Diff: &tools.FileDiff{FileDiff: "+a", FileName: "a", FilePath: "/a", OriginalContent: &original, NewContent: "a",
			DiffStat: &tools.DiffStat{ModelAddedLines: 1, ModelRemovedChars: 2, UserAddedChars: 3}}},
			`{"fileDiff":"+a","fileName":"a","filePath":"/a","originalContent":"old","newContent":"a","diffStat":{` +
				`"model_added_lines":1,"model_removed_lines":0,"model_added_chars":0,"model_removed_chars":2,` +
				`"user_added_lines":0,"user_removed_lines":0,"user_added_chars":3,"user_removed_chars":0}}`},
		"terminal": {tools.Display{ANSI: &tools.ANSIOutput{ANSI: "\x1b[1mx"}}, `{"ansi":"\u001b[1mx"}`},
		"todo list": {tools.Display{Todo: &tools.TodoList{Todos: []tools.Todo{
			{Description: "a", Status: tools.TodoPending}, {Description: "b", Status: tools.TodoInProgress},
			{Description: "c", Status: tools.TodoCompleted}, {Description: "d", Status: tools.TodoCancelled}}}},
			`{"todos":[{"description":"a","status":"pending"},{"description":"b","status":"in_progress"},` +
				`{"description":"c","status":"completed"},{"description":"d","status":"cancelled"}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { roundTrip(t, tt.display, tt.want) })
	}
	bad := tools.Display{Todo: &tools.TodoList{Todos: []tools.Todo{{Description: "a", Status: "done"}}}}
	_, err := json.Marshal(bad)
	require.ErrorContains(t, err, `"done"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"todos":[{"description":"a","status":"done"}]}`), new(tools.Display)), `"done"`)
}

// AR-19: confirmations.
func TestConfirmationJSON(t *testing.T) {
	original := "old"
	tests := map[string]struct {
		confirmation tools.Confirmation
		want         string
	}{
		"edit": {tools.Confirmation{Type: tools.ConfirmEdit, Title: "Edit a", EditDetails: &tools.EditDetails{
			FileName: "a", FilePath: "/a", FileDiff: "-old\n+new", OriginalContent: &original, NewContent: "new"},
			Paths: []string{"/a"}, Bases: []tools.FileVersion{{Path: "/a", SHA256: "00"}}},
			`{"type":"edit","title":"Edit a","fileName":"a","filePath":"/a","fileDiff":"-old\n+new","originalContent":"old","newContent":"new",` +
				`"paths":["/a"],"bases":[{"path":"/a","sha256":"00"}]}`},
		"edit of a new file": {tools.Confirmation{Type: tools.ConfirmEdit, Title: "New", EditDetails: &tools.EditDetails{FileName: "a", FilePath: "/a"}},
			`{"type":"edit","title":"New","fileName":"a","filePath":"/a","fileDiff":"","originalContent":null,"newContent":""}`},
		"exec": {tools.Confirmation{Type: tools.ConfirmExec, Title: "Run", ExecDetails: &tools.ExecDetails{
			Command: "ls | wc", RootCommand: "ls", RootCommands: []string{"ls", "wc"}}},
			`{"type":"exec","title":"Run","command":"ls | wc","rootCommand":"ls","rootCommands":["ls","wc"]}`},
		"mcp": {tools.Confirmation{Type: tools.ConfirmMCP, Title: "Call", MCPDetails: &tools.MCPDetails{
			ServerName: "s", ToolName: "t", ToolDisplayName: "T"}},
			`{"type":"mcp","title":"Call","serverName":"s","toolName":"t","toolDisplayName":"T"}`},
		"mcp with arguments": {tools.Confirmation{Type: tools.ConfirmMCP, Title: "Call", MCPDetails: &tools.MCPDetails{
			ServerName: "s", ToolName: "t", ToolDisplayName: "T", ToolArgs: json.RawMessage(`{"a":"<"}`), ToolDescription: "D.", ToolParameterSchema: json.RawMessage(`{}`)}},
			`{"type":"mcp","title":"Call","serverName":"s","toolName":"t","toolDisplayName":"T","toolArgs":{"a":"<"},"toolDescription":"D.","toolParameterSchema":{}}`},
		"info": {tools.Confirmation{Type: tools.ConfirmInfo, Title: "Ask", InfoDetails: &tools.InfoDetails{Prompt: "p", URLs: []string{"u"}}},
			`{"type":"info","title":"Ask","prompt":"p","urls":["u"]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { roundTrip(t, tt.confirmation, tt.want) })
	}
}

// AR-15: the default confirmation.
func TestDefaultConfirmation(t *testing.T) {
	tool := mustDefine(t, "greet", tools.KindOther, tools.WithSpec(func(s *tools.Spec) { s.DisplayName = "Greeter" }))
	inv, err := tool.Build(json.RawMessage(`{"name":"Ann"}`))
	require.NoError(t, err)
	require.Equal(t, &tools.Confirmation{Type: tools.ConfirmInfo, Title: "Confirm: Greeter",
		InfoDetails: &tools.InfoDetails{Prompt: `greet {"name":"Ann"}`}}, tools.DefaultConfirmation(tool.Spec(), inv))
	require.Equal(t, "Confirm: greet", tools.DefaultConfirmation(tools.Spec{Name: "greet"}, inv).Title)

	// AR-19: a tool of an MCP server.
	spec := tools.Spec{Name: "mcp_s_greet", DisplayName: "Greeter", Origin: tools.Origin{Group: tools.GroupMCP, Server: "s"}}
	require.Equal(t, &tools.Confirmation{Type: tools.ConfirmMCP, Title: "Confirm: Greeter",
		MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "mcp_s_greet", ToolDisplayName: "Greeter", ToolArgs: json.RawMessage(`{"name":"Ann"}`)}},
		tools.DefaultConfirmation(spec, inv))
	spec.Origin.Tool, spec.Description, spec.Schema = "greet!", "Greets.", json.RawMessage(`{"type":"object"}`)
	details := tools.DefaultConfirmation(spec, inv).MCPDetails
	require.Equal(t, "greet!", details.ToolName)
	require.Equal(t, "Greets.", details.ToolDescription)
	require.Equal(t, spec.Schema, details.ToolParameterSchema)
}

func TestOutput(t *testing.T) {
	tools.Output(nil).Write("dropped")
	var got string
	tools.Output(func(chunk string) { got = chunk }).Write("x")
	require.Equal(t, "x", got)
}
