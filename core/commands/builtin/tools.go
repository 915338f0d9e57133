package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

func toolsCommand(s *Services) *commands.Command {
	show := func(described bool) func(context.Context) (commands.Result, error) {
		return func(context.Context) (commands.Result, error) {
			var b strings.Builder
			all := s.Tools.List()
			fmt.Fprintf(&b, "The model has %s:\n\n", count(len(all), "tool", "tools"))
			for _, t := range all {
				writeTool(&b, t, described)
			}
			if !described {
				b.WriteString("\n/tools desc describes them.\n")
			}
			return info("%s", b.String()), nil
		}
	}
	return &commands.Command{
		Name: "tools", Description: "Lists the tools that the model has; /tools desc describes them.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			if args != "" {
				return nil, fault.New(fault.InvalidToolParams, "builtin.tools", "/tools has no sub-command "+code(args)+".", "Type /tools, /tools desc or /tools nodesc.")
			}
			return show(false)(ctx)
		},
		SubCommands: []*commands.Command{
			plain("desc", "Lists them with their descriptions.", show(true), "descriptions"),
			plain("nodesc", "Lists their names.", show(false), "list"),
		},
	}
}

// writeTool writes a tool as an item of a list.
func writeTool(b *strings.Builder, t Tool, described bool) {
	about := ""
	if !described {
		about = line(escape.FirstSentence(t.Description))
	}
	if t.Server != "" {
		about = strings.TrimSpace(about + " (MCP server " + line(t.Server) + ")")
	}
	item(b, t.Name, about)
	if described && t.Description != "" {
		b.WriteString("\n  " + escaped(escape.Plain(t.Description, 1000)) + "\n\n")
	}
}

func mcpCommand(s *Services) *commands.Command {
	list := func(described, schema bool) func(context.Context) (commands.Result, error) {
		return func(context.Context) (commands.Result, error) {
			all := s.Servers.List()
			if len(all) == 0 {
				return info("There are no MCP servers. %s mcp add adds one.", s.Product), nil
			}
			var b strings.Builder
			for _, server := range all {
				writeServer(&b, server, described, schema)
			}
			return info("%s", b.String()), nil
		}
	}
	names := func(bool) (found []commands.Candidate) {
		for _, server := range s.Servers.List() {
			found = append(found, commands.Candidate{Value: server.Name, Description: server.State})
		}
		return found
	}
	return &commands.Command{
		Name: "mcp", Description: "Lists the MCP servers and their tools, signs in, or reconnects.", AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			if args != "" {
				return nil, fault.New(fault.InvalidToolParams, "builtin.mcp", "/mcp has no sub-command "+code(args)+".", "Type /mcp and one of: list, desc, schema, auth, reload, enable, disable.")
			}
			return list(false, false)(ctx)
		},
		SubCommands: append([]*commands.Command{
			plain("list", "Lists servers and tools.", list(false, false), "ls", "nodesc"),
			plain("desc", "Lists them with their descriptions.", list(true, false), "descriptions"),
			plain("schema", "Lists them with the parameters of the tools.", list(true, true)),
			{
				Name: "auth", Description: "Signs in to a server: /mcp auth SERVER", ShowCompletionLoading: true,
				Action: func(ctx context.Context, _ *commands.Context, server string) (commands.Result, error) {
					if server == "" {
						return nil, missing("name of the server", "Type /mcp auth SERVER; /mcp list lists the servers.")
					}
					note, err := s.Servers.SignIn(ctx, server)
					if err != nil {
						return nil, err
					}
					return info("%s", line(note)), nil
				},
				Completion: func(_ context.Context, _ *commands.Context, partial string) ([]commands.Candidate, error) {
					return beginning(names(true), partial), nil
				},
			},
			plain("reload", "Reconnects the servers.", func(ctx context.Context) (commands.Result, error) {
				if err := s.Servers.Reload(ctx); err != nil {
					return nil, err
				}
				return list(false, false)(ctx)
			}, "refresh"),
		}, switches("server", names, s.setServer)...),
	}
}

func (s *Services) setServer(ctx context.Context, name string, on bool) error {
	return s.Servers.SetEnabled(ctx, name, on)
}

// writeServer writes a server with its tools, prompts and resources.
func writeServer(b *strings.Builder, server Server, described, schema bool) {
	fmt.Fprintf(b, "**%s** — %s", escaped(escape.Plain(server.Name, 80)), line(server.State))
	if server.Extension != "" {
		fmt.Fprintf(b, ", of the extension %s", line(server.Extension))
	}
	if server.Confinement != "" {
		fmt.Fprintf(b, ", %s", line(server.Confinement))
	}
	fmt.Fprintf(b, ", %s", count(len(server.Tools), "tool", "tools"))
	if len(server.Prompts) > 0 {
		fmt.Fprintf(b, ", %s", count(len(server.Prompts), "prompt", "prompts"))
	}
	if server.Resources > 0 {
		fmt.Fprintf(b, ", %s", count(server.Resources, "resource", "resources"))
	}
	b.WriteString("\n\n")
	if server.Problem != "" {
		b.WriteString(escaped(escape.Plain(server.Problem, 500)) + "\n\n")
	}
	if described && server.Description != "" {
		b.WriteString(escaped(escape.Plain(server.Description, 500)) + "\n\n")
	}
	for _, t := range server.Tools {
		t.Server = ""
		writeTool(b, t, described)
		if schema && len(t.Schema) > 0 {
			b.WriteString("\n" + fenced("json", indented(t.Schema)) + "\n\n")
		}
	}
	if len(server.Prompts) > 0 {
		b.WriteString("- prompts: ")
		for i, p := range server.Prompts {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(code("/" + strings.Join(strings.Fields(p), "-")))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// indented returns indented JSON.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
