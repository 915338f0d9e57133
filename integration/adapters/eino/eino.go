// Package eino gives the tools of a session to agents and graphs of
// github.com/cloudwego/eino.
package eino

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Toolset is a session's tools in eino's words. It is safe for concurrent use, as
// far as its Config is.
//
// A call goes through the session's whole path, and what it answers is the JSON
// object with "output" and, on failure or refusal, "error"; it is never an error of
// eino's, which would end the run. What commands print while they run is told on
// the Config's message bus, as [bus.ToolOutput] with eino's ID of the call: eino
// would join what a tool streams to what the model receives.
type Toolset struct {
	Config *config.Config // initialized; required
	// Dialect is whose schemas the model takes. "": OpenAI's.
	Dialect model.Dialect
	// Multimodal makes the tools [tool.EnhancedInvokableTool], whose results hold
	// pictures and other data beside the text, for models that take them. Otherwise
	// they are [tool.InvokableTool], and data is left out.
	Multimodal bool
	// Interrupts puts a question that nobody on the message bus answers to whoever
	// runs the agent, by eino's interrupts: the run ends with one whose info is read
	// by [Question], and goes on when it is resumed with a
	// [bus.ToolConfirmationResponse] as its data; no data is a no. It takes a
	// checkpoint store. Otherwise such a call is refused.
	Interrupts bool
}

// Node returns the configuration of a tools node with the tools that are declared
// now: calls run one after the other, in the order in which the model made them,
// and one of a tool that is not declared, as its server has come later, goes the
// same way. An agent keeps what it is made with; make it anew where the list has
// changed. The error is that of [config.Config.Declarations].
func (s Toolset) Node() (compose.ToolsNodeConfig, error) {
	tools, err := s.Tools()
	return compose.ToolsNodeConfig{Tools: tools, UnknownToolsHandler: s.unknown, ExecuteSequentially: true}, err
}

// Tools returns the tools that are declared now; see Node.
func (s Toolset) Tools() ([]tool.BaseTool, error) {
	declared, err := s.Config.Declarations(cmp.Or(s.Dialect, model.DialectOpenAI))
	if err != nil {
		return nil, err
	}
	tools := make([]tool.BaseTool, len(declared))
	for i, d := range declared {
		parameters := new(jsonschema.Schema)
		if err := json.Unmarshal(d.Parameters, parameters); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", d.Name, err)
		}
		one := described{s, &schema.ToolInfo{Name: d.Name, Desc: d.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters)}}
		if tools[i] = (invokable{one}); s.Multimodal {
			tools[i] = enhanced{one}
		}
	}
	return tools, nil
}

// unknown runs a call of a tool that was not declared.
func (s Toolset) unknown(ctx context.Context, name, arguments string) (string, error) {
	answer, err := s.run(ctx, name, arguments)
	return string(answer.Response), err
}

// run runs one call. The error is an interrupt, or of code not_initialized.
func (s Toolset) run(ctx context.Context, name, arguments string) (model.FunctionResponse, error) {
	call := model.FunctionCall{ID: compose.GetToolCallID(ctx), Name: name, Args: json.RawMessage(arguments)}
	if !s.Interrupts {
		answers, _, err := s.Config.RunCalls(ctx, []model.FunctionCall{call})
		if err != nil {
			return model.FunctionResponse{}, err
		}
		return answers[0], nil
	}
	var given *config.Given
	if interrupted, _, asked := tool.GetInterruptState[string](ctx); interrupted {
		targeted, _, answer := tool.GetResumeContext[bus.ToolConfirmationResponse](ctx)
		if !targeted { // another call's question was answered
			return model.FunctionResponse{}, tool.StatefulInterrupt(ctx, asked, asked)
		}
		question, err := Question(asked)
		if err != nil {
			return model.FunctionResponse{}, err
		}
		given = &config.Given{Question: question, Answer: answer}
	}
	answer, _, open, err := s.Config.RunCall(ctx, call, given)
	if err != nil || open == nil {
		return answer, err
	}
	asked, err := json.Marshal(open)
	if err != nil {
		return answer, err
	}
	return answer, tool.StatefulInterrupt(ctx, string(asked), string(asked)) // a string is kept by every checkpoint store
}

// Question reads the info of an interrupt that a call has caused: what a person is
// asked.
func Question(info any) (q bus.ToolConfirmationRequest, err error) {
	text, ok := info.(string)
	if !ok {
		return q, fmt.Errorf("the info of the interrupt is %T, and no question of a tool", info)
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return q, fmt.Errorf("read the question of a tool: %w", err)
	}
	return q, nil
}
