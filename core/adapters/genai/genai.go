// Package genai provides the tools of a session to a program with its own agent loop
// that uses Google's models through google.golang.org/genai.
package genai

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Toolset is the tools of a session in the SDK's types. It is safe for concurrent
// use, as its Config is.
//
// An approver subscribes to [bus.ToolConfirmationRequest] on the Config's message
// bus; without an approver, calls that need approval are denied.
type Toolset struct {
	Config *config.Config // initialized; required
	// DataWithin puts images and other data into their function response, which
	// models accept from Gemini 3 on. Otherwise they follow as separate parts, which
	// every model accepts.
	DataWithin bool
}

// Tools returns the current value for GenerateContentConfig.Tools: one tool with a
// declaration for each tool of the session, or nil if there are none. Call it for
// each request; see [config.Config.Declarations], whose errors these are.
func (s Toolset) Tools() ([]*genai.Tool, error) {
	declared, err := s.Config.Declarations(model.DialectGemini)
	if err != nil || len(declared) == 0 {
		return nil, err
	}
	functions := make([]*genai.FunctionDeclaration, len(declared))
	for i, d := range declared {
		functions[i] = &genai.FunctionDeclaration{Name: d.Name, Description: d.Description, ParametersJsonSchema: d.Parameters}
	}
	return []*genai.Tool{{FunctionDeclarations: functions}}, nil
}

// Answer runs the calls of one model response, as returned by
// GenerateContentResponse.FunctionCalls, and returns the turn that answers them: a
// part with a function response for each, in their order. A call that fails or is
// denied is answered, too, with "error" next to "output". Without calls the turn is
// nil.
//
// After the end of ctx, calls that have not started are answered as cancelled. The
// error has code not_initialized, or reports arguments that are not JSON; then
// nothing was run.
func (s Toolset) Answer(ctx context.Context, calls []*genai.FunctionCall) (*genai.Content, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	made := make([]model.FunctionCall, len(calls))
	for i, call := range calls {
		args, err := json.Marshal(call.Args)
		if err != nil {
			return nil, fmt.Errorf("encode the arguments of %s: %w", call.Name, err)
		}
		if call.Args == nil {
			args = nil
		}
		made[i] = model.FunctionCall{ID: call.ID, Name: call.Name, Args: args}
		if made[i].ID == "" { // as the Gemini API leaves it; events of the call need one
			made[i].ID = model.NewCallID()
		}
	}
	answers, _, err := s.Config.RunCalls(ctx, made)
	if err != nil {
		return nil, err
	}
	turn := &genai.Content{Role: genai.RoleUser}
	var data []*genai.Part
	for i, a := range answers {
		response := &genai.FunctionResponse{ID: calls[i].ID, Name: a.Name}
		if err := json.Unmarshal(a.Response, &response.Response); err != nil {
			return nil, fmt.Errorf("read the answer of %s: %w", a.Name, err)
		}
		for _, d := range a.Data {
			if s.DataWithin {
				response.Parts = append(response.Parts, genai.NewFunctionResponsePartFromBytes(d.Bytes, d.MIMEType))
			} else {
				data = append(data, genai.NewPartFromBytes(d.Bytes, d.MIMEType))
			}
		}
		turn.Parts = append(turn.Parts, &genai.Part{FunctionResponse: response})
	}
	turn.Parts = append(turn.Parts, data...)
	return turn, nil
}
