// Package anthropic provides the tools of a session to a program with its own agent
// loop that uses Anthropic's models through github.com/anthropics/anthropic-sdk-go.
package anthropic

import (
	"context"
	"encoding/base64"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Toolset is the tools of a session in the SDK's types. It is safe for concurrent
// use, as its Config is.
//
// An approver subscribes to [bus.ToolConfirmationRequest] on the Config's message
// bus; without an approver, calls that need approval are denied.
type Toolset struct {
	Config *config.Config // initialized; required
}

// Tools returns the current value for MessageNewParams.Tools. Call it for each
// request; see [config.Config.Declarations], whose errors these are.
func (s Toolset) Tools() ([]sdk.ToolUnionParam, error) {
	declared, err := s.Config.Declarations(model.DialectAnthropic)
	if err != nil {
		return nil, err
	}
	tools := make([]sdk.ToolUnionParam, len(declared))
	for i, d := range declared {
		tools[i].OfTool = &sdk.ToolParam{
			Name: d.Name, Description: param.NewOpt(d.Description),
			InputSchema: param.Override[sdk.ToolInputSchemaParam](d.Parameters), // unchanged, with all digits of its numbers
		}
	}
	return tools, nil
}

// Answer runs the tool_use blocks of one model message, and returns the blocks that
// answer them, for [sdk.NewUserMessage]: one tool_result for each, in their order.
// The result of a successful call contains the output of the tool: its text, and
// images and PDF documents as blocks. The result of a call that fails or is denied
// has is_error, and its text is a JSON object with "error" and "output". Without
// calls there are no blocks.
//
// After the end of ctx, calls that have not started are answered as cancelled. The
// error has code not_initialized; then nothing was run.
func (s Toolset) Answer(ctx context.Context, content []sdk.ContentBlockUnion) ([]sdk.ContentBlockParamUnion, error) {
	var calls []model.FunctionCall
	for _, block := range content {
		if block.Type == "tool_use" {
			calls = append(calls, model.FunctionCall{ID: block.ID, Name: block.Name, Args: block.Input})
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	answers, responses, err := s.Config.RunCalls(ctx, calls)
	if err != nil {
		return nil, err
	}
	blocks := make([]sdk.ContentBlockParamUnion, len(answers))
	for i, a := range answers {
		blocks[i].OfToolResult = result(a, responses[i])
	}
	return blocks, nil
}

// result converts the response to one call.
func result(a model.FunctionResponse, r scheduler.Response) *sdk.ToolResultBlockParam {
	block := &sdk.ToolResultBlockParam{ToolUseID: a.ID}
	text := string(a.Response)
	switch {
	case r.Result.Error != nil:
		block.IsError = param.NewOpt(true)
	case len(r.Notices) == 0 && r.Result.Context == "":
		text = r.Result.LLMContent.String()
	}
	if text != "" { // the API rejects an empty text
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
	}
	for _, d := range a.Data {
		block.Content = append(block.Content, shown(d))
	}
	return block
}

// shown converts data for the API; data of other types is described in a text.
func shown(d model.Data) sdk.ToolResultBlockParamContentUnion {
	encoded := base64.StdEncoding.EncodeToString(d.Bytes)
	var block sdk.ContentBlockParamUnion
	switch d.MIMEType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		block = sdk.NewImageBlockBase64(d.MIMEType, encoded)
	case "application/pdf":
		block = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: encoded})
	default:
		block = sdk.NewTextBlock(fmt.Sprintf("[data of type %s, %d bytes, which cannot be shown to this model]", d.MIMEType, len(d.Bytes)))
	}
	return sdk.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage, OfDocument: block.OfDocument}
}
