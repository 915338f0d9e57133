package eino

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/fettle-dev/fettle/core/model"
)

// described is one tool.
type described struct {
	set  Toolset
	info *schema.ToolInfo
}

// Info implements tool.BaseTool.
func (t described) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// invokable is a tool with text results.
type invokable struct{ described }

// InvokableRun implements tool.InvokableTool.
func (t invokable) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	answer, err := t.set.run(ctx, t.info.Name, arguments)
	return string(answer.Response), err
}

// enhanced is a tool with text and data results.
type enhanced struct{ described }

// InvokableRun implements tool.EnhancedInvokableTool.
func (t enhanced) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	answer, err := t.set.run(ctx, t.info.Name, argument.Text)
	if err != nil {
		return nil, err
	}
	result := &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: string(answer.Response)}}}
	for _, d := range answer.Data {
		result.Parts = append(result.Parts, part(d))
	}
	return result, nil
}

// part converts data to eino's type.
func part(d model.Data) schema.ToolOutputPart {
	encoded := base64.StdEncoding.EncodeToString(d.Bytes)
	common := schema.MessagePartCommon{Base64Data: &encoded, MIMEType: d.MIMEType}
	switch kind, _, _ := strings.Cut(d.MIMEType, "/"); kind {
	case "image":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: common}}
	case "audio":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeAudio, Audio: &schema.ToolOutputAudio{MessagePartCommon: common}}
	case "video":
		return schema.ToolOutputPart{Type: schema.ToolPartTypeVideo, Video: &schema.ToolOutputVideo{MessagePartCommon: common}}
	}
	return schema.ToolOutputPart{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{MessagePartCommon: common}}
}
