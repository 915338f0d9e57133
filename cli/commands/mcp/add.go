package mcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// addedServer holds the flags of mcp add.
type addedServer struct {
	scope       string
	transport   string
	env         []string
	headers     []string
	timeout     time.Duration
	trust       bool
	description string
	include     []string
	exclude     []string
	cwd         string
	oauth       bool
	sandbox     bool
}

func mcpAddCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var a addedServer
	var flags own
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME COMMAND-OR-URL [ARGS…]",
		Short: "Add an MCP server to your settings or the project's",
		Long: `Writes a server to your settings file, or with --scope project to the project's
file, and replaces a server of the same name there. An address with http:// or
https:// is a remote server; anything else is a program that uses stdio. The flags
of this command may stand anywhere before --. All other arguments after the program,
and all after --, belong to the program.

A value such as $TOKEN is written verbatim and expanded from the environment when a
session starts, so that the file contains no secret.`,
		Example: `  fettle mcp add files npx -y @modelcontextprotocol/server-filesystem .
  fettle mcp add -e API_KEY='$SHELF_KEY' shelf shelf-server --verbose
  fettle mcp add shelf --env API_KEY='$SHELF_KEY' -- shelf-server --env other
  fettle mcp add --header 'Authorization: Bearer $TOKEN' issues https://mcp.example.org/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, late, err := flags.parse(cmd, args)
			if err != nil {
				return err
			}
			if len(args) < 2 {
				return program.UsageError("The server name and its command or URL are required.", "Example: fettle mcp add files npx -y @modelcontextprotocol/server-filesystem .")
			}
			if len(late) > 0 && !isRemote(args[1]) {
				p.PrintNotice(fmt.Sprintf("%s behind the program was read as a flag of this command. To pass it to the program, write -- before the program's arguments.", strings.Join(late, ", ")))
			}
			value, err := a.value(args[0], args[1], args[2:])
			if err != nil {
				return err
			}
			return userfiles.SetConfig(cmd.Context(), p, g, settings.Layer(a.scope), "mcpServers."+args[0], value, asJSON)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // the remaining ones are read by parse
	f.VarP(program.NewChoice(&a.scope, "user", "project"), "scope", "s", "settings file: user|project")
	transport := program.NewChoice(&a.transport, "stdio", "http", "sse")
	a.transport = ""
	f.VarP(transport, "transport", "t", "transport: stdio|http|sse (default: from the target)")
	g.WithoutShorthand(f)
	f.StringArrayVarP(&a.env, "env", "e", nil, "environment variable of the server, as `KEY=VALUE`; may be repeated")
	f.StringArrayVarP(&a.headers, "header", "H", nil, "HTTP header of requests, as `'Name: value'`; may be repeated")
	f.StringVar(&a.cwd, "dir", "", "working `directory` of the server (default: the session's)")
	f.DurationVar(&a.timeout, "timeout", 0, "request `timeout` (default 10m)")
	f.BoolVar(&a.trust, "trust", false, "run its tools without approval")
	f.StringVar(&a.description, "description", "", "description for the user, as `text`")
	f.StringSliceVar(&a.include, "include-tools", nil, "register only these `tools`")
	f.StringSliceVar(&a.exclude, "exclude-tools", nil, "do not register these `tools`")
	f.BoolVar(&a.sandbox, "sandbox", false, "confine the program, as commands are in the sandbox")
	f.BoolVar(&a.oauth, "oauth", false, "open the browser if the server requires sign-in")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	flags = ownFlags(f)
	return cmd
}

// serverName is the form of server names that can be part of a setting key and of
// tool names.
var serverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
})

// value returns the settings entry.
func (a *addedServer) value(name, target string, args []string) (map[string]any, error) {
	if !serverName().MatchString(name) {
		return nil, program.UsageError(fmt.Sprintf("Invalid server name %q.", name), "Use letters, digits, - and _. To use other characters, edit the settings file.")
	}
	v := map[string]any{}
	put := func(key string, value any, given bool) {
		if given {
			v[key] = value
		}
	}
	remote := isRemote(target)
	switch {
	case remote && a.transport == "stdio":
		return nil, program.UsageError("A URL cannot use the stdio transport.", "Omit --transport, or give a program.")
	case !remote && (a.transport == "http" || a.transport == "sse"):
		return nil, program.UsageError(fmt.Sprintf("The %s transport requires a URL with http:// or https://.", a.transport), "Give a URL, or omit --transport for a program.")
	case remote && a.sandbox:
		return nil, program.UsageError("A server at a URL cannot be confined.", "Omit --sandbox, or give a program.")
	case remote && (len(args) > 0 || len(a.env) > 0 || a.cwd != ""):
		return nil, program.UsageError("A server at a URL has no arguments, environment or directory.", "Omit them, or give a program.")
	case !remote && (len(a.headers) > 0 || a.oauth):
		return nil, program.UsageError("Headers and sign-in require a server at a URL.", "Pass a secret to a program with --env.")
	case a.timeout < 0:
		return nil, program.UsageError("--timeout must not be negative.", "Give a duration such as 30s, or omit the flag.")
	}
	env, err := pairs(a.env, "=", "--env", "KEY=VALUE")
	if err != nil {
		return nil, err
	}
	headers, err := pairs(a.headers, ":", "--header", "'Name: value'")
	if err != nil {
		return nil, err
	}
	if remote {
		put("url", target, true)
		put("type", a.transport, a.transport != "")
	} else {
		put("command", target, true)
	}
	put("args", args, len(args) > 0)
	put("env", env, len(env) > 0)
	put("headers", headers, len(headers) > 0)
	put("cwd", a.cwd, a.cwd != "")
	put("timeout", a.timeout.Milliseconds(), a.timeout > 0)
	put("trust", true, a.trust)
	put("description", a.description, a.description != "")
	put("includeTools", a.include, a.include != nil)
	put("excludeTools", a.exclude, len(a.exclude) > 0)
	put("sandbox", true, a.sandbox)
	put("oauth", map[string]any{"enabled": true}, a.oauth)
	return v, nil
}

func isRemote(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

// pairs parses the values of a repeated flag.
func pairs(given []string, separator, flag, form string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range given {
		key, value, ok := strings.Cut(one, separator)
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, program.UsageError(fmt.Sprintf("%s requires %s.", flag, form), "Quote it for the shell if it contains blanks. Arguments of the program that look like this flag follow --.")
		}
		if separator == ":" {
			value = strings.TrimSpace(value)
		}
		out[key] = value
	}
	return out, nil
}

func mcpRemoveCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	scope := ""
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an MCP server from your settings or the project's",
		Long: `Removes a server from the first settings file that contains it: the project's,
yours, or your mcp-settings.json. --scope selects the file.`,
		Args: program.ExactlyOne("The server name is missing.", "fettle mcp list lists the servers."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeServer(cmd.Context(), p, g, settings.Layer(scope), args[0], asJSON)
		},
	}
	choice := program.NewChoice(&scope, string(settings.LayerUser), string(settings.LayerProject), string(settings.LayerUserServers))
	scope = ""
	cmd.Flags().VarP(choice, "scope", "s", "settings file: user|project|mcp-settings (default: the first that contains it)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func removeServer(ctx context.Context, p *program.Program, g *program.Flags, scope settings.Layer, name string, asJSON bool) error {
	o, err := program.SettingsOptions(ctx, g)
	if err != nil {
		return err
	}
	r, err := settings.Load(ctx, o)
	if err != nil {
		return program.ConfigFailure(err)
	}
	mine := []settings.Layer{settings.LayerProject, settings.LayerUser, settings.LayerUserServers}
	for _, origin := range r.Origins("mcpServers") {
		servers, _ := origin.Value.(map[string]any)
		if _, has := servers[name]; !has || scope != "" && origin.Layer != scope || !slices.Contains(mine, origin.Layer) {
			continue
		}
		return userfiles.SetConfig(ctx, p, g, origin.Layer, "mcpServers."+name, nil, asJSON)
	}
	where := "in your settings files"
	if scope != "" {
		where = "in that file"
	}
	return &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", fmt.Sprintf("There is no MCP server %q %s.", name, where),
		"fettle mcp list lists the servers and their settings files.")}
}
