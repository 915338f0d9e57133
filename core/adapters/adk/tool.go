package adk

import (
	"encoding/json"
	"fmt"

	"google.golang.org/adk/v2/agent"
	adkmodel "google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"
	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/model"
)

// one is one tool.
type one struct {
	set      *toolset
	declared model.Tool
}

// Name implements tool.Tool.
func (t *one) Name() string { return t.declared.Name }

// Description implements tool.Tool.
func (t *one) Description() string { return t.declared.Description }

// IsLongRunning implements tool.Tool.
func (t *one) IsLongRunning() bool { return false }

// Declaration returns the declaration for the model.
func (t *one) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: t.declared.Name, Description: t.declared.Description, ParametersJsonSchema: t.declared.Parameters}
}

// ProcessRequest adds the tool to a request.
func (t *one) ProcessRequest(_ agent.Context, r *adkmodel.LLMRequest) error {
	return toolutils.PackTool(r, t)
}

// Run makes one call. The error reports that the user has been asked for
// confirmation, or has code not_initialized.
func (t *one) Run(ctx agent.Context, args any) (map[string]any, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of %s: %w", t.declared.Name, err)
	}
	call := model.FunctionCall{ID: ctx.FunctionCallID(), Name: t.declared.Name, Args: raw}
	answered := given(ctx)
	answer, _, open, err := t.set.config.RunCall(ctx, call, answered)
	if err != nil {
		return nil, err
	}
	if answered != nil && open == nil {
		if err := keep(ctx, ""); err != nil {
			return nil, err
		}
	}
	if open != nil && !t.set.o.NoConfirmations {
		if err := request(ctx, *open); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the tool %s %w", t.declared.Name, tool.ErrConfirmationRequired)
	}
	var response map[string]any
	if err := json.Unmarshal(answer.Response, &response); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", t.declared.Name, err)
	}
	return response, nil
}
