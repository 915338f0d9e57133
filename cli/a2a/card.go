package a2a

import (
	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
)

// cardOf returns the agent card without its URL: the skill of fettle itself, and the enabled skills
// of the session.
func cardOf(c *config.Config, token bool) *protocol.AgentCard {
	card := &protocol.AgentCard{
		Name: "fettle", Description: "A coding agent that reads and changes the files of one directory and runs commands there.",
		Version: program.VersionOf().Version, ProtocolVersion: "0.3.0", PreferredTransport: protocol.TransportProtocolJSONRPC,
		Capabilities:      protocol.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []protocol.AgentSkill{{
			ID: "code", Name: "Code", Description: "Answers questions about the files of the directory, and changes them.", Tags: []string{"code", "files"},
			Examples: []string{"Why does the build fail?", "Add a test for the parser."},
		}},
	}
	if m, err := c.Skills().Manager(); err == nil && m != nil {
		for _, skill := range m.Enabled() {
			card.Skills = append(card.Skills, protocol.AgentSkill{ID: "skill-" + skill.Name, Name: display.Line(skill.Name), Description: display.Line(skill.Description), Tags: []string{"skill"}})
		}
	}
	if token {
		card.SecuritySchemes = protocol.NamedSecuritySchemes{"bearer": protocol.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "The token of the server."}}
		card.Security = []protocol.SecurityRequirements{{"bearer": {}}}
	}
	return card
}
