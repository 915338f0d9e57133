package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Prompts returns the servers' prompts, keyed by server. Servers without prompts
// are omitted.
func (m *Manager) Prompts() map[string][]Prompt {
	all := make(map[string][]Prompt)
	for _, s := range m.all() {
		if list := s.offered().prompts; len(list) > 0 {
			all[s.Name] = slices.Clone(list)
		}
	}
	return all
}

// maxPrompt is the maximum number of bytes of a prompt's messages.
const maxPrompt = 4 << 20

// Prompt has a server fill in a prompt. The error has code invalid_tool_params
// for an unknown prompt or a missing required argument; mcp_server_unavailable,
// mcp_sign_in_required or mcp_tool_error; invalid_config for an unknown server;
// or cancelled.
func (m *Manager) Prompt(ctx context.Context, server, name string, args map[string]string) (PromptMessages, error) {
	s, err := m.server(server)
	if err != nil {
		return PromptMessages{}, err
	}
	if list := s.offered().prompts; len(list) > 0 {
		i := slices.IndexFunc(list, func(p Prompt) bool { return p.Name == name })
		if i < 0 {
			return PromptMessages{}, fault.New(fault.InvalidToolParams, "mcp.prompt",
				fmt.Sprintf("The MCP server %s has no prompt %s.", quoted(server), quoted(name)), "It has "+promptNames(list)+".")
		}
		if err := list[i].complete(args); err != nil {
			return PromptMessages{}, err
		}
	}
	var messages PromptMessages
	err = s.request(ctx, "fill in a prompt", "its prompt "+quoted(name), func(ctx context.Context, session Session) (err error) {
		messages, err = session.Prompt(ctx, name, args)
		return err
	})
	if err != nil {
		return PromptMessages{}, forModel(err)
	}
	size := 0
	for _, message := range messages.Messages {
		for _, p := range message.Content.Parts {
			size += len(p.Text)
			if p.Resource != nil {
				size += len(p.Resource.Text) + len(p.Resource.Blob)
			}
			if p.InlineData != nil {
				size += len(p.InlineData.Data)
			}
		}
	}
	if size > maxPrompt {
		return PromptMessages{}, fault.New(fault.MCPToolError, "mcp.prompt",
			fmt.Sprintf("The prompt %s of the MCP server %s has %d bytes, more than %d.", quoted(name), quoted(server), size, maxPrompt), "Pass other arguments.")
	}
	return messages, nil
}

// promptNames lists a bounded number of names.
func promptNames(list []Prompt) string {
	const most = 20
	var names []string
	for _, p := range list[:min(len(list), most)] {
		names = append(names, escape.Plain(p.Name, 100))
	}
	if len(list) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// complete returns an error that names the missing required arguments.
func (p Prompt) complete(args map[string]string) error {
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := args[a.Name]; a.Required && !ok {
			missing = append(missing, "--"+a.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.InvalidToolParams, "mcp.prompt",
		fmt.Sprintf("The prompt %s requires the arguments %s.", quoted(p.Name), strings.Join(missing, ", ")), p.usage())
}

// usage describes the prompt's arguments as a command.
func (p Prompt) usage() string {
	if len(p.Arguments) == 0 {
		return "It has no arguments."
	}
	var b strings.Builder
	b.WriteString("Write")
	for _, a := range p.Arguments {
		form := fmt.Sprintf(`--%s="…"`, a.Name)
		if !a.Required {
			form = "[" + form + "]"
		}
		b.WriteString(" " + form)
	}
	return b.String() + "."
}
