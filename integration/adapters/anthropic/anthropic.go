// Package anthropic gives the tools of a session to a program that speaks with
// Anthropic's models through github.com/anthropics/anthropic-sdk-go and has a loop
// of its own.
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

// Toolset is a session's tools in the SDK's words. It is safe for concurrent use,
// as far as its Config is.
//
// Whoever is to approve of calls subscribes to [bus.ToolConfirmationRequest] on the
// Config's message bus; with nobody there, what has to be asked about is refused.
type Toolset struct {
	Config *config.Config // initialized; required
}

// Tools returns what belongs into MessageNewParams.Tools now. Ask anew for each
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
			InputSchema: param.Override[sdk.ToolInputSchemaParam](d.Parameters), // as it is, with all digits of its numbers
		}
	}
	return tools, nil
}

// Answer runs the calls among the blocks of one message of the model's, its
// tool_use, and returns the blocks that answer them, for [sdk.NewUserMessage]: one
// tool_result for each, in their order. That of a success holds what the tool gave:
// its text, and pictures and PDF documents as such. That of a call which fails or
// is refused has is_error, and its text is a JSON object with "error" and "output".
// Where there is no call there is no block.
//
// Once ctx has ended, what has not begun is answered as cancelled. The error is of
// code not_initialized; nothing was run then.
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

// result answers one call.
func result(a model.FunctionResponse, r scheduler.Response) *sdk.ToolResultBlockParam {
	block := &sdk.ToolResultBlockParam{ToolUseID: a.ID}
	text := string(a.Response)
	switch {
	case r.Result.Error != nil:
		block.IsError = param.NewOpt(true)
	case len(r.Notices) == 0 && r.Result.Context == "":
		text = r.Result.LLMContent.String()
	}
	if text != "" { // the API takes no empty one
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
	}
	for _, d := range a.Data {
		block.Content = append(block.Content, shown(d))
	}
	return block
}

// shown is data as the API takes it, or what to say of other data.
func shown(d model.Data) sdk.ToolResultBlockParamContentUnion {
	encoded := base64.StdEncoding.EncodeToString(d.Bytes)
	var block sdk.ContentBlockParamUnion
	switch d.MIMEType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		block = sdk.NewImageBlockBase64(d.MIMEType, encoded)
	case "application/pdf":
		block = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: encoded})
	default:
		block = sdk.NewTextBlock(fmt.Sprintf("[data of type %s, %d bytes, which this model cannot be shown]", d.MIMEType, len(d.Bytes)))
	}
	return sdk.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage, OfDocument: block.OfDocument}
}
