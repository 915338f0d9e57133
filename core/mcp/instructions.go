package mcp

import (
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// maxInstructions is the maximum number of bytes kept of a server's instructions.
const maxInstructions = 16 << 10

// instructionsTag is the tag that encloses instructions.
const instructionsTag = "mcp_server_instructions"

// Instructions returns the instructions of the connected servers, keyed by
// server. Each text is enclosed in tags that name the server; the text cannot
// close them. Text beyond 16 KiB is cut off.
func (m *Manager) Instructions() map[string]string {
	all := make(map[string]string)
	for _, s := range m.all() {
		l := s.connection()
		if l == nil {
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(l.info.Instructions, "\ufffd"))
		if text == "" {
			continue
		}
		text = tools.EscapeTag(text, instructionsTag)
		all[s.Name] = "<" + instructionsTag + " server=" + quoted(s.Name) + ">\n" + text + "\n</" + instructionsTag + ">"
	}
	return all
}
