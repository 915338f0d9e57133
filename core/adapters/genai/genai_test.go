package genai_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/adapters/genai"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// connect returns a client of a server that speaks Google's protocol and plays a
// story.
func connect(ctx context.Context, story adaptertest.Story) (*sdk.Client, func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r, story); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	client, err := sdk.NewClient(ctx, &sdk.ClientConfig{
		APIKey: "none", Backend: sdk.BackendGeminiAPI, HTTPClient: server.Client(), HTTPOptions: sdk.HTTPOptions{BaseURL: server.URL},
	})
	if err != nil {
		panic(err)
	}
	return client, server.Close
}

func serve(w http.ResponseWriter, r *http.Request, story adaptertest.Story) error {
	var request struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
		Tools []struct {
			FunctionDeclarations []struct {
				Name                 string
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return err
	}
	if !strings.HasSuffix(r.URL.Path, ":generateContent") || len(request.Tools) != 1 || len(request.Tools[0].FunctionDeclarations) < 10 {
		return http.ErrNotSupported
	}
	var answers []string
	for _, turn := range request.Contents {
		for _, part := range turn.Parts {
			if part.FunctionResponse != nil {
				answers = append(answers, string(part.FunctionResponse.Response))
			}
		}
	}
	call, text, err := story.Next(answers)
	if err != nil {
		return err
	}
	part := map[string]any{"text": text}
	if call != nil {
		part = map[string]any{"functionCall": map[string]any{"name": call.Name, "args": call.Args}} // without ID, as in this API
	}
	return json.NewEncoder(w).Encode(map[string]any{"candidates": []any{map[string]any{
		"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP",
	}}})
}

// FD-05: every tool of a session is declared with the schema that Google documents, and
// passes through the SDK's types unchanged.
func TestTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"run_shell_command"} })
	declared, err := genai.Toolset{Config: s.Config}.Tools()
	require.NoError(t, err)
	require.Len(t, declared, 1)
	encoded, err := json.Marshal(declared)
	require.NoError(t, err)
	var again []*sdk.Tool
	require.NoError(t, json.Unmarshal(encoded, &again))

	want, err := s.Declarations(model.DialectGemini)
	require.NoError(t, err)
	require.Len(t, again[0].FunctionDeclarations, len(want))
	for i, d := range again[0].FunctionDeclarations {
		require.Equal(t, want[i].Name, d.Name)
		require.Equal(t, want[i].Description, d.Description)
		schema, err := json.Marshal(d.ParametersJsonSchema)
		require.NoError(t, err)
		require.JSONEq(t, string(want[i].Parameters), string(schema))
		require.NotEqual(t, "run_shell_command", d.Name)
		require.Nil(t, d.Parameters)
	}

	none := configtest.New(t, func(p *config.Parameters) { p.Tools.Core = []string{} })
	declared, err = genai.Toolset{Config: none.Config}.Tools()
	require.NoError(t, err)
	require.Nil(t, declared)
}

// answered returns the content of a response part.
func answered(t *testing.T, turn *sdk.Content, i int) (code fault.Code, output string) {
	t.Helper()
	encoded, err := json.Marshal(turn.Parts[i].FunctionResponse.Response)
	require.NoError(t, err)
	var response struct {
		Error  struct{ Type fault.Code }
		Output string
	}
	require.NoError(t, json.Unmarshal(encoded, &response))
	return response.Error.Type, response.Output
}

// The calls of one response are answered in order, whatever their results are.
func TestAnswer(t *testing.T) {
	s := configtest.New(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	s.Write("a.txt", "one\n")
	turn, err := genai.Toolset{Config: s.Config}.Answer(t.Context(), []*sdk.FunctionCall{
		{ID: "x", Name: "read_file", Args: map[string]any{"file_path": "a.txt"}},
		{Name: "no_such_tool"},
		{Name: "read_file"},
		{Name: "write_file", Args: map[string]any{"file_path": "b.txt", "content": "<b> & more\n"}},
		{Name: "list_directory", Args: map[string]any{"dir_path": "."}},
	})
	require.NoError(t, err)
	require.EqualValues(t, sdk.RoleUser, turn.Role)
	require.Len(t, turn.Parts, 5)
	require.Equal(t, "x", turn.Parts[0].FunctionResponse.ID)
	require.Empty(t, turn.Parts[1].FunctionResponse.ID)
	require.Equal(t, "no_such_tool", turn.Parts[1].FunctionResponse.Name)
	code, output := answered(t, turn, 0)
	require.Empty(t, code)
	require.Contains(t, output, `"content":"one\n"`)
	for i, want := range []fault.Code{"", fault.ToolNotRegistered, fault.InvalidToolParams, fault.DeniedByUser, fault.Cancelled} {
		code, _ := answered(t, turn, i)
		require.Equal(t, want, code)
	}
	require.Len(t, s.Confirmations(), 1)
	require.Contains(t, s.Confirmations()[0].Details.NewContent, "<b> & more")
	require.NotEmpty(t, s.Confirmations()[0].CallID, "a front end tells calls apart by it")

	turn, err = genai.Toolset{Config: s.Config}.Answer(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, turn)
}

// Without an approver, a call that needs approval is denied.
func TestNobodyToAsk(t *testing.T) {
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	calls := []*sdk.FunctionCall{{Name: "write_file", Args: map[string]any{"file_path": "a.txt", "content": "x"}}}
	_, err = genai.Toolset{Config: c}.Answer(t.Context(), calls)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = genai.Toolset{Config: c}.Tools()
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	require.NoError(t, c.Initialize(t.Context()))
	turn, err := genai.Toolset{Config: c}.Answer(t.Context(), calls)
	require.NoError(t, err)
	code, _ := answered(t, turn, 0)
	require.Equal(t, fault.NoApprover, code)
	require.NoFileExists(t, dir+"/a.txt")
}

// A call ends with its ctx; pending calls do not start.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := tools.Define("wait", "Waits until it is called off.", tools.KindThink, func(ctx context.Context, _ struct{}) (tools.Result, error) {
		cancel()
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{wait} })
	turn, err := genai.Toolset{Config: s.Config}.Answer(ctx, []*sdk.FunctionCall{{Name: "wait"}, {Name: "wait"}})
	require.NoError(t, err)
	for i := range turn.Parts {
		code, _ := answered(t, turn, i)
		require.Equal(t, fault.Cancelled, code)
	}
}

// Images are placed where the model accepts them.
func TestData(t *testing.T) {
	show, err := tools.Define("show", "Shows a picture.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Data("a picture", "image/png", []byte{1, 2})}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{show} })
	turn, err := genai.Toolset{Config: s.Config}.Answer(t.Context(), []*sdk.FunctionCall{{Name: "show"}, {Name: "show"}})
	require.NoError(t, err)
	require.Len(t, turn.Parts, 4)
	require.Empty(t, turn.Parts[1].FunctionResponse.Parts)
	require.Equal(t, &sdk.Blob{MIMEType: "image/png", Data: []byte{1, 2}}, turn.Parts[2].InlineData)

	turn, err = genai.Toolset{Config: s.Config, DataWithin: true}.Answer(t.Context(), []*sdk.FunctionCall{{Name: "show"}})
	require.NoError(t, err)
	require.Len(t, turn.Parts, 1)
	require.Equal(t, []byte{1, 2}, turn.Parts[0].FunctionResponse.Parts[0].InlineData.Data)
}
