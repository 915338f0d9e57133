package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// TO-15: a tool outside of core needs a name, a type of parameters and a function …
const countWordsName = "count_words"

type countWordsParams struct {
	Text string `json:"text" jsonschema_description:"The text to count in."`
	Min  int    `json:"min,omitempty" jsonschema:"minimum=1" jsonschema_description:"Count only words of at least this many bytes. Default 1."`
}

func countWords(_ context.Context, p countWordsParams) (tools.Result, error) {
	n := 0
	for _, word := range strings.Fields(p.Text) {
		if len(word) >= p.Min {
			n++
		}
	}
	content, err := tools.JSON(map[string]int{"words": n})
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(fmt.Sprint(n, " words"))}, err
}

// … and one line of registration; no other code refers to it.
func registerCountWords(r *tools.Registry) error {
	t, err := tools.Define(countWordsName, "Counts the words of a text.", tools.KindRead, countWords, tools.WithParallel())
	if err != nil {
		return err
	}
	return r.Register(t)
}

func TestAddedTool(t *testing.T) { // TO-15
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(t, registerCountWords(r))
	tool, err := r.Lookup(countWordsName)
	require.NoError(t, err)
	tooltest.Run(t, tool, tooltest.Cases{
		Examples: args(`{"text":"one two three"}`, `{"text":"","min":3}`),
		Bad:      args(`{"text":"x","min":0}`, `{"text":["x"]}`),
	})
	response := scheduler.New(scheduler.Options{Tools: r}).Run(t.Context(), scheduler.Request{
		Tool: countWordsName, Args: json.RawMessage(`{"text":"one two three","min":"4"}`),
	})
	require.Equal(t, scheduler.StatusSuccess, response.Status)
	require.Equal(t, `{"output":"{\"words\":1}"}`, string(response.Result.FunctionResponse()))
}

func args(texts ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		list[i] = json.RawMessage(text)
	}
	return list
}

func ExampleDefine() {
	type params struct {
		Name  string `json:"name" jsonschema_description:"Whom to greet."`
		Times int    `json:"times,omitempty" jsonschema:"minimum=1,maximum=3" jsonschema_description:"How often. Default 1."`
	}
	greeter, err := tools.Define("greet", "Greets somebody.", tools.KindCommunicate,
		func(_ context.Context, p params) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text(strings.Repeat("Hello "+p.Name+"! ", max(1, p.Times)))}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}

	// Arguments as models send them: the number is text.
	call, err := greeter.Build(json.RawMessage(`{"name": "Ann", "times": "2"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := call.Execute(context.Background(), nil)
	fmt.Println(string(call.Params()))
	fmt.Println(result.LLMContent, err)

	_, err = greeter.Build(json.RawMessage(`{"nmae": "Ann", "times": 7}`))
	fmt.Println(fault.As(err).Message)
	// Output:
	// {"name":"Ann","times":2}
	// Hello Ann! Hello Ann!  <nil>
	// The arguments of greet are invalid: 3 mistakes.
	// - unknown key "nmae" (did you mean "name"?); the declared keys are name, times.
	// - the required key "name" is missing. Its schema: {"description":"Whom to greet.","type":"string"}
	// - times: must be <= 3 but found 7, got 7 (number). Its schema: {"description":"How often. Default 1.","maximum":3,"minimum":1,"type":"integer"}
}

func ExampleRegistry() {
	type params struct {
		Query string `json:"query" jsonschema_description:"What to look for."`
	}
	search := func(context.Context, params) (tools.Result, error) { return tools.Result{}, nil }
	register := func(r *tools.Registry, name string, o tools.Origin) {
		tool, err := tools.Define(name, "Looks something up.", tools.KindSearch, search, tools.WithSpec(func(s *tools.Spec) { s.Origin = o }))
		if err == nil {
			err = r.Register(tool)
		}
		if err != nil {
			fmt.Println(err)
		}
	}

	r := tools.NewRegistry(tools.RegistryOptions{})
	register(r, "search", tools.Origin{Group: tools.GroupMCP, Server: "wiki"})
	register(r, "search", tools.Origin{}) // the built-in tool has precedence
	for _, d := range r.Declarations() {
		fmt.Println(d.Name)
	}
	_, err := r.Lookup("serach")
	fmt.Println(fault.As(err).Line())
	// Output:
	// search
	// mcp_wiki_search
	// There is no tool named "serach". Did you mean "search"? Tools are called by their exact names.
}
