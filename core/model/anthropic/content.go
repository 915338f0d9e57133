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

	"github.com/fettle-dev/fettle/core/model"
)

// messages converts turns to API messages. It omits a turn without any content that the API
// accepts.
func messages(contents []model.Content) []message {
	out := make([]message, 0, len(contents))
	for _, c := range contents {
		turn := message{Role: "user"}
		if c.Role == model.RoleModel {
			turn.Role, turn.Content = "assistant", modelBlocks(c.Parts)
		} else {
			turn.Content = userBlocks(c.Parts)
		}
		if len(turn.Content) > 0 {
			out = append(out, turn)
		}
	}
	return out
}

// modelBlocks converts the parts of a model turn. It drops thoughts without this provider's
// signature: the API accepts only its own, unchanged.
func modelBlocks(parts []model.Part) []block {
	var blocks []block
	for _, p := range parts {
		signed := len(p.Signature) > 0 && p.Provider == Provider
		switch {
		case p.Call != nil:
			blocks = append(blocks, block{Type: "tool_use", ID: callID(p.Call.ID), Name: model.SafeToolName(p.Call.Name), Input: p.Call.Object()})
		case p.Data != nil, p.Response != nil: // the API accepts neither in a model turn
		case p.Thought && signed:
			blocks = append(blocks, block{Type: "thinking", Thinking: &p.Text, Signature: string(p.Signature)})
		case p.Thought:
		case p.Text == "" && signed:
			blocks = append(blocks, block{Type: "redacted_thinking", Data: string(p.Signature)})
		case !blank(p.Text):
			blocks = append(blocks, plainBlock(p.Text))
		}
	}
	return blocks
}

// userBlocks converts the parts of a user turn. Tool results come first, as the API requires.
func userBlocks(parts []model.Part) []block {
	var answers, rest []block
	for _, p := range parts {
		switch {
		case p.Response != nil:
			answers = append(answers, toolResult(p.Response))
		case p.Data != nil:
			rest = append(rest, dataBlock(p.Data))
		case p.Call == nil && !p.Thought && !blank(p.Text):
			rest = append(rest, plainBlock(p.Text))
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
func toolResult(r *model.FunctionResponse) block {
	text, context, failed := resultText(r.Response)
	result := block{Type: "tool_result", ToolUseID: callID(r.ID), IsError: failed}
	for _, text := range []string{text, context} {
		if !blank(text) {
			result.Content = append(result.Content, plainBlock(text))
		}
	}
	for i := range r.Data {
		result.Content = append(result.Content, dataBlock(&r.Data[i]))
	}
	return result
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
func dataBlock(d *model.Data) block {
	kind, _, err := mime.ParseMediaType(d.MIMEType)
	if err != nil {
		kind = strings.ToLower(d.MIMEType)
	}
	switch {
	case kind == "image/jpg":
		kind = "image/jpeg"
		fallthrough
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return block{Type: "image", Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(d.Bytes)}}
	case kind == "application/pdf":
		return block{Type: "document", Title: d.Name, Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(d.Bytes)}}
	case strings.HasPrefix(kind, "text/") && utf8.Valid(d.Bytes) && len(bytes.TrimSpace(d.Bytes)) > 0:
		return block{Type: "document", Title: d.Name, Source: &source{"text", "text/plain", string(d.Bytes)}}
	}
	return plainBlock(fmt.Sprintf("[%s: %d bytes of type %s, which cannot be shown to this model]",
		cmp.Or(d.Name, "attachment"), len(d.Bytes), cmp.Or(d.MIMEType, "unknown")))
}

// plainBlock returns a block of text.
func plainBlock(text string) block { return block{Type: "text", Text: text} }
