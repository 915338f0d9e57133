// Package genai gives the tools of a session to a program that speaks with
// Google's models through google.golang.org/genai and has a loop of its own.
package genai

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Toolset is a session's tools in the SDK's words. It is safe for concurrent use,
// as far as its Config is.
//
// Whoever is to approve of calls subscribes to [bus.ToolConfirmationRequest] on the
// Config's message bus; with nobody there, what has to be asked about is refused.
type Toolset struct {
	Config *config.Config // initialized; required
	// DataWithin puts pictures and other data into the function response that they
	// belong to, which models take from Gemini 3 on. Otherwise they follow as parts
	// of their own, which every model takes.
	DataWithin bool
}

// Tools returns what belongs into GenerateContentConfig.Tools now: one tool with a
// declaration for each of the session's, or nil where there are none. Ask anew for
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

// Answer runs the calls of one answer of the model's, as those of
// GenerateContentResponse.FunctionCalls, and returns the turn that answers them:
// a part with a function response for each, in their order. A call that fails or
// is refused is answered too, with "error" beside "output". Where there is no call
// the turn is nil.
//
// Once ctx has ended, what has not begun is answered as cancelled. The error is of
// code not_initialized, or tells of arguments that are no JSON; nothing was run then.
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
