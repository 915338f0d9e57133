package client

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// shownOfUnknown is the maximum number of bytes shown to the model of content of
// an unknown type.
const shownOfUnknown = 2000

// decodeTool decodes a tool as far as possible. It returns ok == false for a tool
// without a name.
func decodeTool(raw []byte) (t mcp.Tool, ok bool) {
	f := fieldsOf(raw)
	t = mcp.Tool{
		Name: textOf(f["name"]), Title: textOf(f["title"]), Description: textOf(f["description"]),
		InputSchema: given(f["inputSchema"]), OutputSchema: given(f["outputSchema"]),
	}
	_ = json.Unmarshal(f["annotations"], &t.Annotations) // anything but an object is ignored
	if title, is := t.Annotations["title"].(string); is && t.Title == "" {
		t.Title = title
	}
	return t, t.Name != ""
}

// decodeResource decodes an entry of a list of resources. It returns ok == false
// for one without a URI.
func decodeResource(raw []byte) (r mcp.Resource, ok bool) {
	f := fieldsOf(raw)
	r = mcp.Resource{
		URI: textOf(f["uri"]), Name: textOf(f["name"]), Title: textOf(f["title"]),
		Description: textOf(f["description"]), MIMEType: textOf(f["mimeType"]),
	}
	var size float64
	if json.Unmarshal(f["size"], &size) == nil && size > 0 && size < 1<<62 {
		r.Size = int64(size)
	}
	return r, r.URI != ""
}

func decodeTemplate(raw []byte) (t mcp.ResourceTemplate, ok bool) {
	f := fieldsOf(raw)
	t = mcp.ResourceTemplate{
		URITemplate: textOf(f["uriTemplate"]), Name: textOf(f["name"]), Title: textOf(f["title"]),
		Description: textOf(f["description"]), MIMEType: textOf(f["mimeType"]),
	}
	return t, t.URITemplate != ""
}

func decodePromptEntry(raw []byte) (p mcp.Prompt, ok bool) {
	f := fieldsOf(raw)
	p = mcp.Prompt{Name: textOf(f["name"]), Title: textOf(f["title"]), Description: textOf(f["description"])}
	for _, argument := range listOf(f["arguments"]) {
		a := fieldsOf(argument)
		if name := textOf(a["name"]); name != "" {
			p.Arguments = append(p.Arguments, mcp.PromptArgument{
				Name: name, Title: textOf(a["title"]), Description: textOf(a["description"]), Required: isTrue(a["required"]),
			})
		}
	}
	return p, p.Name != ""
}

// decodeResult decodes the answer to a call.
func decodeResult(raw []byte) mcp.CallResult {
	f := fieldsOf(raw)
	r := mcp.CallResult{Content: decodeContent(f["content"]), Structured: given(f["structuredContent"]), IsError: isTrue(f["isError"])}
	if !r.IsError {
		r.IsError = isTrue(fieldsOf(f["error"])["isError"]) // of servers that predate the protocol's own field
	}
	if old := given(f["toolResult"]); len(r.Content) == 0 && old != nil { // 2024-10-07
		r.Content = []tools.Part{{Text: string(old)}}
	}
	return r
}

// decodePrompt decodes a filled-in prompt.
func decodePrompt(raw []byte) mcp.PromptMessages {
	f := fieldsOf(raw)
	p := mcp.PromptMessages{Description: textOf(f["description"])}
	for _, message := range listOf(f["messages"]) {
		m := fieldsOf(message)
		role := host.Role(textOf(m["role"]))
		if role != host.RoleAssistant {
			role = host.RoleUser
		}
		p.Messages = append(p.Messages, host.Message{Role: role, Content: tools.Content{Parts: decodeContent(m["content"])}})
	}
	return p
}

// decodeResources decodes the content of a resource.
func decodeResources(raw []byte, uri string) []tools.Resource {
	var all []tools.Resource
	for _, content := range listOf(fieldsOf(raw)["contents"]) {
		r, err := resourceOf(content)
		if err != nil {
			r.Text, r.Blob = "["+err.Error()+"]", nil
		}
		r.URI = cmp.Or(r.URI, uri)
		all = append(all, r)
	}
	return all
}

// decodeContent decodes a list of content, or one piece of content.
func decodeContent(raw []byte) []tools.Part {
	raw = bytes.TrimSpace(raw)
	if given(raw) == nil {
		return nil
	}
	if raw[0] == '{' {
		return []tools.Part{decodePart(raw)}
	}
	if raw[0] != '[' {
		return []tools.Part{{Text: "[The server sent content that is neither a list nor an object: " + escape.ClipBytes(string(raw), shownOfUnknown) + "]"}}
	}
	var parts []tools.Part
	for _, piece := range listOf(raw) {
		parts = append(parts, decodePart(piece))
	}
	return parts
}

// decodePart decodes one piece of content. Unknown or malformed content becomes a
// text that reports it.
func decodePart(raw []byte) tools.Part {
	f := fieldsOf(raw)
	kind := textOf(f["type"])
	broken := func(err error) tools.Part {
		return tools.Part{Text: fmt.Sprintf("[The server sent content of the kind %s that is invalid: %v]", quoted(kind), err)}
	}
	switch kind {
	case "text":
		var text string
		if err := json.Unmarshal(f["text"], &text); err != nil {
			return broken(fmt.Errorf("it has no text"))
		}
		return tools.Part{Text: text}
	case "image", "audio":
		data, err := bytesOf(f["data"])
		if err != nil {
			return broken(err)
		}
		return tools.Part{InlineData: &tools.InlineData{MIMEType: textOf(f["mimeType"]), Data: data}}
	case "resource":
		r, err := resourceOf(f["resource"])
		if err != nil {
			return broken(err)
		}
		return tools.Part{Resource: &r}
	case "resource_link":
		l, ok := decodeResource(raw)
		if !ok {
			return broken(fmt.Errorf("it has no URI"))
		}
		return tools.Part{Link: &l}
	}
	return tools.Part{Text: fmt.Sprintf("[The server sent content of the unknown kind %s: %s]", quoted(kind), escape.ClipBytes(string(raw), shownOfUnknown))}
}

func resourceOf(raw []byte) (tools.Resource, error) {
	f := fieldsOf(raw)
	r := tools.Resource{URI: textOf(f["uri"]), MIMEType: textOf(f["mimeType"]), Text: textOf(f["text"])}
	if f == nil {
		return r, fmt.Errorf("it is not an object")
	}
	if given(f["blob"]) != nil && given(f["text"]) == nil {
		blob, err := bytesOf(f["blob"])
		if err != nil {
			return r, err
		}
		r.Blob = blob
	}
	return r, nil
}

// bytesOf decodes base64 with or without padding, in either alphabet.
func bytesOf(raw []byte) ([]byte, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, fmt.Errorf("its data is not a string")
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if data, err := encoding.DecodeString(text); err == nil {
			return data, nil // not nil, even if empty
		}
	}
	return nil, fmt.Errorf("its data is not base64")
}

// fieldsOf returns the fields of a JSON object, or nil for other values.
func fieldsOf(raw []byte) map[string]json.RawMessage {
	var f map[string]json.RawMessage
	_ = json.Unmarshal(raw, &f) // other values have no fields
	return f
}

// listOf returns the entries of a JSON list, or nil for other values.
func listOf(raw []byte) []json.RawMessage {
	var l []json.RawMessage
	_ = json.Unmarshal(raw, &l)
	return l
}

// textOf returns a JSON string, or "" for other values.
func textOf(raw []byte) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isTrue reports whether a value is true, or "true" as some servers send it.
func isTrue(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return string(raw) == "true" || string(raw) == `"true"`
}

// given returns a value, or nil if it is missing or null.
func given(raw []byte) []byte {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
