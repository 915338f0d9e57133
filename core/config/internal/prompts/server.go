package prompts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// OfServer fills in the prompt of a server that text names as a command. ok is
// false for text that names none.
func OfServer(ctx context.Context, servers *mcp.Manager, text string) (content tools.Content, ok bool, err error) {
	command, rest, isCommand := commandOf(text)
	if !isCommand || servers == nil {
		return tools.Content{}, false, nil
	}
	server, prompt, ok := namedPrompt(servers.Prompts(), command)
	if !ok {
		return tools.Content{}, false, nil
	}
	content, err = Fill(ctx, servers, server, prompt, rest)
	return content, true, err
}

// Fill has a server fill in its prompt, with arguments as typed.
func Fill(ctx context.Context, servers *mcp.Manager, server string, prompt mcp.Prompt, arguments string) (content tools.Content, err error) {
	args, err := prompt.ParseArguments(arguments)
	if err != nil {
		return tools.Content{}, err
	}
	filled, err := servers.Prompt(ctx, server, prompt.Name, args)
	if err != nil {
		return tools.Content{}, err
	}
	for _, m := range filled.Messages {
		if m.Role == host.RoleAssistant {
			content.Parts = append(content.Parts, tools.Part{Text: "Your previous messages:"})
		}
		content.Parts = append(content.Parts, m.Content.Parts...)
	}
	return content, nil
}

// CommandName returns the name of the command for a prompt: the prompt's name
// without surrounding blanks, and with "-" in place of blanks within it.
func CommandName(p mcp.Prompt) string { return strings.Join(strings.Fields(p.Name), "-") }

// commandOf splits "/NAME REST".
func commandOf(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	return text[:end], strings.TrimSpace(text[end:]), end > 0
}

// namedPrompt finds the prompt named by a command.
func namedPrompt(by map[string][]mcp.Prompt, command string) (server string, p mcp.Prompt, ok bool) {
	names := slices.Sorted(maps.Keys(by))
	for _, qualified := range []bool{false, true} {
		for _, server := range names {
			for _, p := range by[server] {
				name := CommandName(p)
				if qualified {
					name = server + "." + name
				}
				if name == command {
					return server, p, true
				}
			}
		}
	}
	return "", mcp.Prompt{}, false
}
