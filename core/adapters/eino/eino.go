// Package eino provides the tools of a session to agents and graphs of
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

// Toolset is the tools of a session as eino tools. It is safe for concurrent use, as
// its Config is.
//
// A call runs through the session's scheduler, and its result is a JSON object with
// "output" and, on failure or denial, "error"; it is never an eino error, which would
// end the run. The live output of commands is published on the Config's message bus
// as [bus.ToolOutput] with eino's ID of the call, because eino would append streamed
// output to the text for the model.
type Toolset struct {
	Config *config.Config // initialized; required
	// Dialect is the schema dialect of the model. "": OpenAI's.
	Dialect model.Dialect
	// Multimodal makes the tools [tool.EnhancedInvokableTool], whose results contain
	// images and other data next to the text, for models that accept them. Otherwise
	// they are [tool.InvokableTool], and data is omitted.
	Multimodal bool
	// Interrupts passes an approval request that has no approver on the message bus
	// to the caller of the agent, as an eino interrupt: the run ends with an
	// interrupt whose info [Question] reads, and continues when it is resumed with a
	// [bus.ToolConfirmationResponse] as its data; without data the call is denied. It
	// requires a checkpoint store. If Interrupts is false, such a call is denied.
	Interrupts bool
}

// Node returns the configuration of a tools node with the currently declared tools.
// Calls run one after another in the model's order. A call of a tool that was not
// declared, for example because its server connected later, runs in the same way. An
// agent keeps its configuration; create the agent again when the list has changed.
// The error is that of [config.Config.Declarations].
func (s Toolset) Node() (compose.ToolsNodeConfig, error) {
	tools, err := s.Tools()
	return compose.ToolsNodeConfig{Tools: tools, UnknownToolsHandler: s.unknown, ExecuteSequentially: true}, err
}

// Tools returns the currently declared tools; see Node.
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

// run runs one call. The error is an interrupt, or has code not_initialized.
func (s Toolset) run(ctx context.Context, name, arguments string) (model.FunctionResponse, error) {
	call := model.FunctionCall{ID: compose.GetToolCallID(ctx), Name: name, Args: json.RawMessage(arguments)}
	if !s.Interrupts {
		answers, _, err := s.Config.RunCalls(ctx, []model.FunctionCall{call})
		if err != nil {
			return model.FunctionResponse{}, err
		}
		return answers[0], nil
	}
	var given *config.PriorAnswer
	if interrupted, _, asked := tool.GetInterruptState[string](ctx); interrupted {
		targeted, _, answer := tool.GetResumeContext[bus.ToolConfirmationResponse](ctx)
		if !targeted { // the request of another call was answered
			return model.FunctionResponse{}, tool.StatefulInterrupt(ctx, asked, asked)
		}
		question, err := Question(asked)
		if err != nil {
			return model.FunctionResponse{}, err
		}
		given = &config.PriorAnswer{Question: question, Answer: answer}
	}
	answer, _, open, err := s.Config.RunCall(ctx, call, given)
	if err != nil || open == nil {
		return answer, err
	}
	asked, err := json.Marshal(open)
	if err != nil {
		return answer, err
	}
	return answer, tool.StatefulInterrupt(ctx, string(asked), string(asked)) // every checkpoint store can keep a string
}

// Question reads the approval request in the info of an interrupt.
func Question(info any) (q bus.ToolConfirmationRequest, err error) {
	text, ok := info.(string)
	if !ok {
		return q, fmt.Errorf("the info of the interrupt is %T, not an approval request", info)
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return q, fmt.Errorf("read the approval request: %w", err)
	}
	return q, nil
}
