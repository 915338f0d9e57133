package lists

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Servers returns the list of MCP servers.
func Servers(servers []builtin.Server) interactive.Pick {
	p := interactive.Pick{Title: "MCP servers", Usage: "/mcp show NAME shows a server.", Empty: "There are no MCP servers. fettle mcp add adds one."}
	for _, s := range servers {
		contents := []string{amount(len(s.Tools), "tool")}
		if n := len(s.Prompts); n > 0 {
			contents = append(contents, amount(n, "prompt"))
		}
		if s.Resources > 0 {
			contents = append(contents, amount(s.Resources, "resource"))
		}
		if s.Confinement != "" {
			contents = append(contents, s.Confinement)
		}
		item := interactive.PickItem{
			Name: s.Name, State: s.State, Description: cmp.Or(s.Problem, strings.Join(contents, ", ")), Submit: "/mcp show " + s.Name,
			Detail: strings.Join(contents, ", "),
		}
		for _, text := range []string{s.Description, s.Problem} {
			if text != "" {
				item.Detail += "\n" + text
			}
		}
		p.Items = append(p.Items, item)
	}
	return p
}

func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Server returns the list of an MCP server: the commands for it, then its tools.
func Server(s builtin.Server) interactive.Pick {
	p := interactive.Pick{Title: "MCP server " + s.Name + " (" + s.State + ")"}
	do := func(name, about, command string) {
		p.Items = append(p.Items, interactive.PickItem{Name: name, Description: about, Detail: s.Problem, Submit: "/mcp " + command + " " + s.Name})
	}
	switch mcp.State(s.State) {
	case mcp.StateBlocked: // by settings, which no command of a session overrides
		p.Items = append(p.Items, interactive.PickItem{Name: "Blocked", Description: "the settings do not allow this server", Detail: s.Problem})
	case mcp.StateDisabled:
		do("Enable", "for this session", "enable")
	default:
		do("Reconnect", "ends the connection and opens it again", "enable")
		do("Disable", "for this session", "disable")
		if s.Confinement == "" { // at a URL
			do("Sign in", "opens the page of the server", "auth")
		}
	}
	for _, t := range s.Tools {
		p.Items = append(p.Items, interactive.PickItem{Name: t.Name, State: "tool", Description: escape.FirstSentence(t.Description), Detail: t.Description})
	}
	return p
}
