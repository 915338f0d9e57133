package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// mirror adds the headers that repeat parts of a message, as required from the
// revision 2026-07-28 on.
func (h *remote) mirror(header http.Header, m *message) {
	header.Set("Mcp-Method", m.method)
	params := m.params()
	switch m.method {
	case "resources/read":
		header.Set("Mcp-Name", headerValue(text(params["uri"])))
	case "prompts/get":
		header.Set("Mcp-Name", headerValue(text(params["name"])))
	case methodCall:
		header.Set("Mcp-Name", headerValue(text(params["name"])))
		for _, b := range h.bound(text(params["name"])) {
			value := params["arguments"]
			for _, name := range b.path {
				value = members(value)[name]
			}
			var v any
			if json.Unmarshal(value, &v) != nil {
				continue
			}
			switch v := v.(type) {
			case string:
				header.Set("Mcp-Param-"+b.header, headerValue(v))
			case bool, float64:
				header.Set("Mcp-Param-"+b.header, string(bytes.TrimSpace(value)))
			}
		}
	}
}

// headerValue returns a text as a header carries it.
func headerValue(s string) string {
	plain := s != "" && strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?base64?")
	if plain && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
