package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/fettle-dev/fettle/core/model"
)

// maxCallID is the longest call ID that OpenAI accepts.
const maxCallID = 40

// messages converts the system prompt and the turns.
func messages(r *model.Request, thoughts bool) []sdk.ChatCompletionMessage {
	var out []sdk.ChatCompletionMessage
	if r.System != "" {
		out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: r.System})
	}
	for _, c := range r.Contents {
		if c.Role == model.RoleModel {
			out = append(out, modelMessage(c.Parts, thoughts)...)
		} else {
			out = append(out, userMessages(c.Parts)...)
		}
	}
	return out
}

// modelMessage converts a model turn; the result is empty if no content is left.
func modelMessage(parts []model.Part, thoughts bool) []sdk.ChatCompletionMessage {
	var text, thought strings.Builder
	m := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleAssistant}
	for _, p := range parts {
		switch {
		case p.Call != nil:
			m.ToolCalls = append(m.ToolCalls, sdk.ToolCall{
				ID: callID(p.Call.ID), Type: sdk.ToolTypeFunction,
				Function: sdk.FunctionCall{Name: model.SafeToolName(p.Call.Name), Arguments: string(p.Call.Object())},
			})
		case p.Data != nil:
			text.WriteString(placeholder(*p.Data))
		case p.Thought:
			thought.WriteString(p.Text)
		default:
			text.WriteString(p.Text)
		}
	}
	m.Content = text.String()
	if m.Content == "" && len(m.ToolCalls) == 0 {
		return nil
	}
	if thoughts && len(m.ToolCalls) > 0 {
		m.ReasoningContent = thought.String()
	}
	return []sdk.ChatCompletionMessage{m}
}

// userMessages converts tool results to one message each, followed by one message with their images
// and the user's text. A tool message holds only text, and no other message may separate the
// results of one turn.
func userMessages(parts []model.Part) []sdk.ChatCompletionMessage {
	var out []sdk.ChatCompletionMessage
	var pictures, rest []sdk.ChatMessagePart
	for _, p := range parts {
		switch {
		case p.Response != nil:
			content := cmp.Or(string(p.Response.Response), "{}")
			out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleTool, Content: content, ToolCallID: callID(p.Response.ID)})
			if len(p.Response.Data) > 0 {
				pictures = append(pictures, textPart("What "+model.SafeToolName(p.Response.Name)+" returned in addition to its text:"))
			}
			for _, d := range p.Response.Data {
				pictures = append(pictures, dataPart(d))
			}
		case p.Data != nil:
			rest = append(rest, dataPart(*p.Data))
		case p.Text != "" && !p.Thought:
			rest = append(rest, textPart(p.Text))
		}
	}
	all := append(pictures, rest...)
	if len(all) == 0 {
		return out
	}
	m := sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, MultiContent: all}
	if text, ok := onlyText(all); ok { // a plain text is valid for every server
		m.MultiContent, m.Content = nil, text
	}
	return append(out, m)
}

// onlyText joins parts that are texts, each on separate lines.
func onlyText(parts []sdk.ChatMessagePart) (string, bool) {
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != sdk.ChatMessagePartTypeText {
			return "", false
		}
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n"), true
}

func textPart(text string) sdk.ChatMessagePart {
	return sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeText, Text: text}
}

// dataPart returns an image as such, and a text that describes any other data.
func dataPart(d model.Data) sdk.ChatMessagePart {
	if !strings.HasPrefix(d.MIMEType, "image/") {
		return textPart(placeholder(d))
	}
	url := "data:" + d.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(d.Bytes)
	return sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeImageURL, ImageURL: &sdk.ChatMessageImageURL{URL: url}}
}

// placeholder returns a text in place of data that chat completions cannot contain.
func placeholder(d model.Data) string {
	name := cmp.Or(d.Name, "data")
	return fmt.Sprintf("[%s, %s of %d bytes, cannot be shown to this model]", name, d.MIMEType, len(d.Bytes))
}

// callID returns an ID that OpenAI accepts. It is never empty. A long ID, which another provider
// made, is shortened and stays unique.
func callID(id string) string {
	switch {
	case id == "":
		return "call_0"
	case len(id) <= maxCallID:
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
