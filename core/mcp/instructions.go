package mcp

import (
	"regexp"
	"strings"
)

// maxInstructions is how many bytes of a server's instructions are taken.
const maxInstructions = 16 << 10

// instructionsTag is how either tag around instructions begins, however it is
// spelt.
var instructionsTag = regexp.MustCompile(`(?i)<(\s*/?\s*mcp_server_instructions)`)

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
		text = instructionsTag.ReplaceAllString(text, "&lt;$1")
		all[s.Name] = "<mcp_server_instructions server=" + quoted(s.Name) + ">\n" + text + "\n</mcp_server_instructions>"
	}
	return all
}
