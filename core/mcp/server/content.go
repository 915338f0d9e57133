package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaError is the metadata key under which a failed call's error is sent for
// programs.
const metaError = "fettle/error"

// contents converts parts into content of the protocol. Invalid UTF-8 is
// replaced.
func contents(parts []tools.Part) []sdk.Content {
	out := make([]sdk.Content, 0, len(parts))
	for i, p := range parts {
		out = append(out, content(i, p))
	}
	return out
}

// content converts the i-th part into content of the protocol.
func content(i int, p tools.Part) sdk.Content {
	switch {
	case p.InlineData != nil && strings.HasPrefix(p.InlineData.MIMEType, "image/"):
		return &sdk.ImageContent{Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType}
	case p.InlineData != nil && strings.HasPrefix(p.InlineData.MIMEType, "audio/"):
		return &sdk.AudioContent{Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType}
	case p.InlineData != nil: // other binary data is only possible in a resource, which has a URI
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI: fmt.Sprintf("fettle:content/%d", i), MIMEType: p.InlineData.MIMEType, Blob: filled(p.InlineData.Data),
		}}
	case p.Resource != nil:
		return &sdk.EmbeddedResource{Resource: resource(*p.Resource)}
	case p.Link != nil:
		l := &sdk.ResourceLink{URI: p.Link.URI, Name: p.Link.Name, Title: p.Link.Title, Description: p.Link.Description, MIMEType: p.Link.MIMEType}
		if p.Link.Size > 0 {
			l.Size = &p.Link.Size
		}
		return l
	}
	return &sdk.TextContent{Text: valid(p.Text)}
}

// resource converts the content of a resource.
func resource(r tools.Resource) *sdk.ResourceContents {
	c := &sdk.ResourceContents{URI: r.URI, MIMEType: r.MIMEType, Text: valid(r.Text)}
	if r.Blob != nil {
		c.Text, c.Blob = "", r.Blob
	}
	return c
}

// filled returns b, or an empty slice for nil, which would denote text.
func filled(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// parts converts content from a client. Content that is not allowed there is
// omitted.
func parts(content []sdk.Content) []tools.Part {
	var out []tools.Part
	for _, c := range content {
		switch c := c.(type) {
		case *sdk.TextContent:
			out = append(out, tools.Part{Text: c.Text})
		case *sdk.ImageContent:
			out = append(out, tools.Part{InlineData: &tools.InlineData{MIMEType: c.MIMEType, Data: c.Data}})
		case *sdk.AudioContent:
			out = append(out, tools.Part{InlineData: &tools.InlineData{MIMEType: c.MIMEType, Data: c.Data}})
		}
	}
	return out
}

// result converts the result of a call after fulfil, with its structured content;
// nil: none.
func result(res tools.Result, structured json.RawMessage, modern bool) *sdk.CallToolResult {
	out := fresh[sdk.CallToolResult](modern, false)
	out.Content = contents(res.LLMContent.Parts)
	if res.Error != nil {
		out.IsError = true
		out.Content = withError(res, out.Content)
		out.Meta = sdk.Meta{metaError: res.Error}
	}
	if res.Context != "" {
		out.Content = append(out.Content, &sdk.TextContent{Text: valid(res.Context)})
	}
	if structured != nil {
		out.StructuredContent = structured
	}
	return out
}

// withError prepends a failure's code, message and remedy to the displayed
// content. If the first part is JSON that contains the message, the error follows
// it, because that part may contain data, such as a hash, that must not be lost
// when a client shortens results. An error that the part contains completely is
// not repeated.
func withError(res tools.Result, shown []sdk.Content) []sdk.Content {
	text := describe(res.Error)
	contains, whole := containsError(res)
	switch {
	case whole:
		text = heading(res.Error)
	case contains:
		text = heading(res.Error) + ": " + res.Error.Text() // with its line breaks
	case res.LLMContent.String() == res.Error.Line() && !res.LLMContent.HasData():
		shown = nil // it contains nothing else
	}
	failure := []sdk.Content{&sdk.TextContent{Text: valid(text)}}
	if contains {
		return slices.Concat(shown[:1], failure, shown[1:])
	}
	return append(failure, shown...)
}

// containsError reports whether the first part of a failure's content is a JSON object
// with the failure's message, possibly shortened, and whether it has the complete
// message and remedy.
func containsError(res tools.Result) (contains, whole bool) {
	if len(res.LLMContent.Parts) == 0 || !strings.HasPrefix(res.LLMContent.Parts[0].Text, "{") {
		return false, false
	}
	var report struct{ Message string }
	if json.Unmarshal([]byte(res.LLMContent.Parts[0].Text), &report) != nil || report.Message == "" {
		return false, false
	}
	text := valid(res.Error.Text())
	if clipped, ok := strings.CutSuffix(report.Message, "…"); ok && strings.HasPrefix(text, clipped) {
		return true, report.Message == text
	}
	return strings.Contains(report.Message, valid(strings.TrimSpace(res.Error.Message))), strings.Contains(report.Message, text)
}

// describe formats a failure as one line for the model.
func describe(f *fault.Error) string { return heading(f) + ": " + f.Line() }

// heading returns the code of a failure and its reason.
func heading(f *fault.Error) string {
	if f.Reason != "" {
		return fmt.Sprintf("Error %s (%s)", f.Code, f.Reason)
	}
	return fmt.Sprintf("Error %s", f.Code)
}

// structured returns a result as JSON for programs, or nil if it has none. A
// failure always has one.
func structured(res tools.Result) json.RawMessage {
	switch {
	case res.Error != nil:
		return nil
	case len(res.Structured) > 0 && json.Valid(res.Structured):
		return res.Structured
	case len(res.Structured) == 0 && res.LLMContent.IsJSON() && json.Valid([]byte(res.LLMContent.String())):
		return json.RawMessage(res.LLMContent.String())
	}
	return nil
}
