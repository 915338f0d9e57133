package server

import (
	stdjson "encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/segmentio/encoding/json"
)

// encodeCall returns the line of a response with a result of [result] for a revision
// before 2026-07-28. The line has room for its line break.
func encodeCall(id jsonrpc.ID, res *sdk.CallToolResult) ([]byte, error) {
	size := 128
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			size += 32 + len(t.Text) + strings.Count(t.Text, "\n") + len(t.Text)/8
		}
	}
	b := append(make([]byte, 0, size), `{"jsonrpc":"2.0","id":`...)
	switch id := id.Raw().(type) {
	case int64:
		b = strconv.AppendInt(b, id, 10)
	case string:
		b = json.AppendEscape(b, id, 0)
	}
	b = append(b, `,"result":{`...)
	var err error
	if len(res.Meta) > 0 {
		if b, err = appendValue(append(b, `"_meta":`...), res.Meta); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	b = append(b, `"content":[`...)
	for i, c := range res.Content {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendContent(b, c); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if res.StructuredContent != nil {
		if b, err = appendValue(append(b, `,"structuredContent":`...), res.StructuredContent); err != nil {
			return nil, err
		}
	}
	if res.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, "}}"...), nil
}

// appendContent appends a content. Texts, which are the most frequent and the longest,
// are not copied first.
func appendContent(b []byte, c sdk.Content) ([]byte, error) {
	t, ok := c.(*sdk.TextContent)
	if !ok || t.Meta != nil || t.Annotations != nil {
		return appendValue(b, c)
	}
	b = json.AppendEscape(append(b, `{"type":"text","text":`...), t.Text, 0)
	return append(b, '}'), nil
}

// appendValue appends a value without line breaks.
func appendValue(b []byte, v any) ([]byte, error) {
	text, err := stdjson.Marshal(v)
	return append(b, text...), err
}
