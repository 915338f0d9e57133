package mcp

import (
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// maxInstructions is how many bytes of a server's instructions are taken.
const maxInstructions = 16 << 10

// instructionsTag is the tag around instructions.
const instructionsTag = "mcp_server_instructions"

// Instructions returns what the connected servers say of their tools, by server,
// each between tags that name the server and that its text cannot close. What is
// longer than 16 KiB is cut.
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
