package mcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// addedServer is what mcp add writes.
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
}

func mcpAddCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var a addedServer
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME COMMAND-OR-URL [ARGS…]",
		Short: "Add an MCP server to your settings or the project's",
		Long: `Writes a server to your settings file, or with --scope project to the project's,
in place of one of the same name there. What begins with http:// or https:// is
the address of a server, anything else a program that is spoken to over its stdin
and stdout. Flags stand before NAME; all that follows the program belongs to it.

A value such as $TOKEN is written as it stands, and filled in from the environment
when a session begins, so that no secret has to stand in a file.`,
		Example: `  fettle mcp add files npx -y @modelcontextprotocol/server-filesystem .
  fettle mcp add -e API_KEY='$SHELF_KEY' shelf shelf-server --verbose
  fettle mcp add --header 'Authorization: Bearer $TOKEN' issues https://mcp.example.org/mcp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return program.UsageError("The name of the server and its command or URL are needed.", "As in fettle mcp add files npx -y @modelcontextprotocol/server-filesystem .")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.value(args[0], args[1], args[2:])
			if err != nil {
				return err
			}
			return userfiles.SetConfig(cmd.Context(), p, g, settings.Layer(a.scope), "mcpServers."+args[0], value, asJSON)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows belongs to the server
	f.VarP(program.NewChoice(&a.scope, "user", "project"), "scope", "s", "whose file: user|project")
	transport := program.NewChoice(&a.transport, "stdio", "http", "sse")
	a.transport = ""
	f.VarP(transport, "transport", "t", "how it is spoken to: stdio|http|sse (default: by what it is)")
	g.WithoutShorthand(f)
	f.StringArrayVarP(&a.env, "env", "e", nil, "a variable of its environment, as `KEY=VALUE`; may be repeated")
	f.StringArrayVarP(&a.headers, "header", "H", nil, "a header of requests, as `'Name: value'`; may be repeated")
	f.StringVar(&a.cwd, "dir", "", "the `directory` that it runs in (default: the session's)")
	f.DurationVar(&a.timeout, "timeout", 0, "how `long` a request may take (default 10m)")
	f.BoolVar(&a.trust, "trust", false, "run its tools without asking")
	f.StringVar(&a.description, "description", "", "what it is, for people")
	f.StringSliceVar(&a.include, "include-tools", nil, "the only tools of it to register")
	f.StringSliceVar(&a.exclude, "exclude-tools", nil, "tools of it not to register")
	f.BoolVar(&a.oauth, "oauth", false, "open the browser where the server wants a person to sign in")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// serverName is what a server may be called here: a name that stands in the path
// of a setting, and in the names of tools.
var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// value is the entry in the settings.
func (a *addedServer) value(name, target string, args []string) (map[string]any, error) {
	if !serverName.MatchString(name) {
		return nil, program.UsageError(fmt.Sprintf("A server cannot be called %q.", name), "Use letters, digits, - and _. A name with other characters can be written into the file by hand.")
	}
	v := map[string]any{}
	put := func(key string, value any, given bool) {
		if given {
			v[key] = value
		}
	}
	remote := strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
	switch {
	case remote && a.transport == "stdio":
		return nil, program.UsageError("A URL is not spoken to over stdio.", "Leave --transport out, or give a program.")
	case !remote && (a.transport == "http" || a.transport == "sse"):
		return nil, program.UsageError(fmt.Sprintf("A server over %s needs a URL that begins with http:// or https://.", a.transport), "Give its address, or leave --transport out for a program.")
	case remote && (len(args) > 0 || len(a.env) > 0 || a.cwd != ""):
		return nil, program.UsageError("A server at a URL takes no arguments, environment or directory.", "Leave them out, or give a program.")
	case !remote && (len(a.headers) > 0 || a.oauth):
		return nil, program.UsageError("Headers and signing in are for servers at a URL.", "Give such a secret to a program with --env.")
	case a.timeout < 0:
		return nil, program.UsageError("--timeout cannot be less than nothing.", "Give a time as 30s, or leave it out.")
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
	put("oauth", map[string]any{"enabled": true}, a.oauth)
	return v, nil
}

// pairs reads what a repeated flag gives.
func pairs(given []string, separator, flag, form string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range given {
		key, value, ok := strings.Cut(one, separator)
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, program.UsageError(fmt.Sprintf("%s takes %s.", flag, form), "Quote it for the shell if it has blanks.")
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
		Short: "Take an MCP server out of your settings or the project's",
		Long: `Takes a server out of the settings file that has it: the project's, yours, or
your mcp-settings.json, in this order; --scope says which.`,
		Args: program.ExactlyOne("The name of a server is needed.", "fettle mcp list shows those that there are."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeServer(cmd.Context(), p, g, settings.Layer(scope), args[0], asJSON)
		},
	}
	choice := program.NewChoice(&scope, string(settings.LayerUser), string(settings.LayerProject), string(settings.LayerUserServers))
	scope = ""
	cmd.Flags().VarP(choice, "scope", "s", "which file: user|project|mcp-settings (default: the first that has it)")
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
		"fettle mcp list shows the servers, and where each comes from.")}
}
