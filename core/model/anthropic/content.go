package anthropic

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/fettle-dev/fettle/core/model"
)

// messages converts turns to API messages. It omits a turn without any content that the API
// accepts.
func messages(contents []model.Content) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, c := range contents {
		var message sdk.MessageParam
		if c.Role == model.RoleModel {
			message = sdk.NewAssistantMessage(modelBlocks(c.Parts)...)
		} else {
			message = sdk.NewUserMessage(userBlocks(c.Parts)...)
		}
		if len(message.Content) > 0 {
			out = append(out, message)
		}
	}
	return out
}

// modelBlocks converts the parts of a model turn. It drops thoughts without this provider's
// signature: the API accepts only its own, unchanged.
func modelBlocks(parts []model.Part) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, p := range parts {
		signed := len(p.Signature) > 0 && p.Provider == Provider
		switch {
		case p.Call != nil:
			blocks = append(blocks, sdk.NewToolUseBlock(callID(p.Call.ID), p.Call.Object(), model.SafeToolName(p.Call.Name)))
		case p.Data != nil, p.Response != nil: // the API accepts neither in a model turn
		case p.Thought && signed:
			blocks = append(blocks, sdk.NewThinkingBlock(string(p.Signature), p.Text))
		case p.Thought:
		case p.Text == "" && signed:
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(string(p.Signature)))
		case !blank(p.Text):
			blocks = append(blocks, sdk.NewTextBlock(p.Text))
		}
	}
	return blocks
}

// userBlocks converts the parts of a user turn. Tool results come first, as the API requires.
func userBlocks(parts []model.Part) []sdk.ContentBlockParamUnion {
	var answers, rest []sdk.ContentBlockParamUnion
	for _, p := range parts {
		switch {
		case p.Response != nil:
			answers = append(answers, toolResult(p.Response))
		case p.Data != nil:
			rest = append(rest, dataBlock(p.Data))
		case p.Call == nil && !p.Thought && !blank(p.Text):
			rest = append(rest, sdk.NewTextBlock(p.Text))
		}
	}
	return append(answers, rest...)
}

// blank reports whether the API would reject a text as empty.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// callID returns an ID that has only characters that the API accepts. IDs of other providers may
// have others.
func callID(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || ('0' <= r && r <= '9') || ('a' <= r && r <= 'z') || ('A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, id)
	if clean == id && id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return clean + "_" + hex.EncodeToString(sum[:6])
}

// toolResult converts the result of a call. A success holds the output itself, with a context in a
// separate block. A failure has is_error and the complete response, with attached data.
func toolResult(r *model.FunctionResponse) sdk.ContentBlockParamUnion {
	text, context, failed := resultText(r.Response)
	result := sdk.ToolResultBlockParam{ToolUseID: callID(r.ID)}
	if failed {
		result.IsError = param.NewOpt(true)
	}
	for _, text := range []string{text, context} {
		if !blank(text) {
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
		}
	}
	for i := range r.Data {
		block := dataBlock(&r.Data[i])
		result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{
			OfText: block.OfText, OfImage: block.OfImage, OfDocument: block.OfDocument,
		})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &result}
}

// resultText splits {"output": …, "context": …}. It returns any other object unchanged.
func resultText(response json.RawMessage) (text, context string, failed bool) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(response, &keys) != nil {
		return string(response), "", false
	}
	if e, ok := keys["error"]; ok && string(e) != "null" {
		return string(response), "", true
	}
	extra, has := keys["context"]
	if has && json.Unmarshal(extra, &context) == nil {
		delete(keys, "context")
	}
	output, ok := keys["output"]
	if !ok || len(keys) > 1 {
		return string(response), "", false
	}
	if json.Unmarshal(output, &text) == nil {
		return text, context, false
	}
	return string(output), context, false
}

// dataBlock converts an image or a document. Data that the API does not accept is replaced by a
// text that names it.
func dataBlock(d *model.Data) sdk.ContentBlockParamUnion {
	kind, _, err := mime.ParseMediaType(d.MIMEType)
	if err != nil {
		kind = strings.ToLower(d.MIMEType)
	}
	switch {
	case kind == "image/jpg":
		kind = "image/jpeg"
		fallthrough
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return sdk.NewImageBlockBase64(kind, base64.StdEncoding.EncodeToString(d.Bytes))
	case kind == "application/pdf":
		block := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(d.Bytes)})
		setTitle(block, d.Name)
		return block
	case strings.HasPrefix(kind, "text/") && utf8.Valid(d.Bytes) && len(bytes.TrimSpace(d.Bytes)) > 0:
		block := sdk.NewDocumentBlock(sdk.PlainTextSourceParam{Data: string(d.Bytes)})
		setTitle(block, d.Name)
		return block
	}
	return sdk.NewTextBlock(fmt.Sprintf("[%s: %d bytes of type %s, which cannot be shown to this model]",
		cmp.Or(d.Name, "attachment"), len(d.Bytes), cmp.Or(d.MIMEType, "unknown")))
}

func setTitle(block sdk.ContentBlockParamUnion, name string) {
	if name != "" {
		block.OfDocument.Title = param.NewOpt(name)
	}
}
