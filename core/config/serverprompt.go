package config

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// ServerPrompt fills in the prompt of a connected MCP server that text names as a
// command: /NAME ARGUMENTS or, where several servers have one of that name,
// /SERVER.NAME ARGUMENTS; the plain name then means that of the first server by
// name. The arguments are those of [mcp.Prompt.ParseArguments]. ok is false, and
// nothing is done, for text that names none.
//
// content is what is to be said to the model in the place of text: all messages of
// the prompt, one after the other, those of the model's side marked as such. The
// error is a *fault.Error: of code not_initialized, of arguments that do not fit,
// or what the server says.
func (c *Config) ServerPrompt(ctx context.Context, text string) (content tools.Content, ok bool, err error) {
	sh, err := c.services("ServerPrompt")
	if err != nil {
		return tools.Content{}, false, err
	}
	command, rest, isCommand := commandOf(text)
	if !isCommand || sh.servers.Load() == nil {
		return tools.Content{}, false, nil
	}
	server, prompt, ok := namedPrompt(sh.servers.Load().Prompts(), command)
	if !ok {
		return tools.Content{}, false, nil
	}
	content, err = fillPrompt(ctx, sh.servers.Load(), server, prompt, rest)
	return content, true, err
}

// fillPrompt has a server fill in its prompt.
func fillPrompt(ctx context.Context, servers *mcp.Manager, server string, prompt mcp.Prompt, arguments string) (content tools.Content, err error) {
	args, err := prompt.ParseArguments(arguments)
	if err != nil {
		return tools.Content{}, err
	}
	filled, err := servers.Prompt(ctx, server, prompt.Name, args)
	if err != nil {
		return tools.Content{}, err
	}
	for _, m := range filled.Messages {
		if m.Role == tools.RoleAssistant {
			content.Parts = append(content.Parts, tools.Part{Text: "What you have said before:"})
		}
		content.Parts = append(content.Parts, m.Content.Parts...)
	}
	return content, nil
}

// commandOf takes "/NAME REST" apart.
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

// namedPrompt finds the prompt that a command means.
func namedPrompt(by map[string][]mcp.Prompt, command string) (server string, p mcp.Prompt, ok bool) {
	names := slices.Sorted(maps.Keys(by))
	for _, qualified := range []bool{false, true} {
		for _, server := range names {
			for _, p := range by[server] {
				name := p.CommandName()
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
