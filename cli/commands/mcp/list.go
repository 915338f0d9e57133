package mcp

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// serverListing is the JSON output for an MCP server.
type serverListing struct {
	Name         string         `json:"name"`
	State        mcp.State      `json:"state"`
	Transport    mcp.Transport  `json:"transport,omitempty"`
	Source       string         `json:"source,omitempty"`  // the layer that configures it
	Sandbox      bool           `json:"sandbox,omitempty"` // its program is confined
	Server       string         `json:"server,omitempty"`  // its self-reported name and version
	Protocol     string         `json:"protocol,omitempty"`
	ConnectMS    int64          `json:"connectMs"` // until it was connected and listed, or failed
	Tools        []string       `json:"tools"`     // server-side names
	Resources    int            `json:"resources"`
	Prompts      []string       `json:"prompts"`
	Instructions string         `json:"instructions,omitempty"`
	Error        *fault.Error   `json:"error,omitempty"`
	Dropped      []*fault.Error `json:"dropped,omitempty"` // tools that were rejected
	Stderr       []string       `json:"stderr,omitempty"`  // the last lines, if it is not connected
	Registered   []toolOfServer `json:"registered,omitempty"`
}

// toolOfServer is a tool of a server, as registered in the session.
type toolOfServer struct {
	Name        string `json:"name"` // registered name
	Tool        string `json:"tool"` // server-side name
	Kind        string `json:"kind"`
	Mutates     bool   `json:"mutates"`
	Description string `json:"description"`
}

func serverListingOf(c *config.Config, s mcp.Status) serverListing {
	l := serverListing{
		Name: s.Name, State: s.State, Transport: s.Transport, Source: s.Source, Protocol: s.Info.Protocol, ConnectMS: s.Took.Milliseconds(),
		Tools: append([]string{}, s.Tools...), Resources: s.Resources, Prompts: append([]string{}, s.Prompts...), Instructions: s.Info.Instructions,
		Server: strings.TrimSpace(s.Info.Name + " " + s.Info.Version),
	}
	if spec, _, err := c.MCP().Server(s.Name); err == nil {
		l.Sandbox = spec.Sandbox && spec.Command != ""
	}
	if s.Error != nil {
		l.Error = program.AsFault(s.Error)
		l.Stderr = s.Stderr
	}
	for _, d := range s.Dropped {
		l.Dropped = append(l.Dropped, program.AsFault(d))
	}
	return l
}

// transport is the transport for display, and whether the program is confined.
func (l serverListing) transport() string {
	if l.Sandbox {
		return string(l.Transport) + " in the sandbox"
	}
	return string(l.Transport)
}

func mcpListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	wait := program.ServersForList
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Connect to the configured MCP servers and show their state",
		Long: `Connects to all MCP servers of the settings concurrently and lists them: their
state, their tools, and the time to connect. A server that fails is listed with the
reason. A server listed as "connecting" had not answered within --wait.
At a terminal, a server that requires sign-in and whose settings enable it
(oauth.enabled) opens its sign-in page.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait <= 0 {
				return program.UsageError("--wait must be positive.", "Give a duration such as 10s.")
			}
			return withServers(cmd.Context(), p, g, func(ctx context.Context, c *config.Config, m *mcp.Manager, at *program.SignIn) error {
				list := []serverListing{}
				if m == nil {
					if off := fault.As(program.ServersDisabled(c)); off != nil && !asJSON {
						_, err := fmt.Fprintln(p.Out, display.Line(off.Line()))
						return err
					}
				} else {
					m.Start(context.WithoutCancel(ctx))
					at.Settled(ctx, m, wait)
					for _, s := range m.Status() {
						list = append(list, serverListingOf(c, s))
					}
				}
				if ctx.Err() != nil {
					return program.Interrupted()
				}
				if asJSON {
					return program.PrintJSON(p.Out, list)
				}
				return listServers(p, list)
			})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", wait, "maximum `duration` to wait for servers, such as 10s")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withServers opens a session whose servers are not connected yet; its Manager is nil
// if there are none. A user at the terminal may be asked to sign in.
func withServers(ctx context.Context, p *program.Program, g *program.Flags, use func(context.Context, *config.Config, *mcp.Manager, *program.SignIn) error) error {
	at := p.SignIn()
	return p.WithSession(ctx, program.SessionOptions{Flags: g, SignIn: at}, func(s program.Session) error {
		p.ReportProblems(s)
		m, err := s.Config().MCP().Manager()
		if err != nil {
			return err
		}
		return use(ctx, s.Config(), m, at)
	})
}

func listServers(p *program.Program, list []serverListing) error {
	if len(list) == 0 {
		_, err := io.WriteString(p.Out, "No MCP server is configured. Add one with fettle mcp add NAME COMMAND-OR-URL.\n")
		return err
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tTRANSPORT\tTOOLS\tRESOURCES\tPROMPTS\tTIME\tFROM")
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", display.Line(s.Name), s.State, s.transport(), len(s.Tools), s.Resources, len(s.Prompts),
			shownTime(s.ConnectMS), display.Line(s.Source))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if err := printServer(p, s); err != nil {
			return err
		}
	}
	return nil
}

// printServer prints the error of a server below the list.
func printServer(p *program.Program, s serverListing) error {
	var b strings.Builder
	switch {
	case s.Error != nil:
		fmt.Fprintf(&b, "\n%s: %s\n", display.Line(s.Name), display.Line(s.Error.Line()))
	case s.State == mcp.StateConnecting:
		fmt.Fprintf(&b, "\n%s: Not connected yet. Use --wait 1m to wait longer.\n", display.Line(s.Name))
	}
	for _, d := range s.Dropped {
		fmt.Fprintf(&b, "\n%s: %s\n", display.Line(s.Name), display.Line(d.Line()))
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

func shownTime(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

func mcpTestCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Connect to one MCP server and show its features",
		Long: `Connects to one MCP server of the settings and shows its features: instructions,
tools as registered in a session, resources and prompts. If the connection fails or
the server is disabled, it prints the reason and exits with code 1.`,
		Args: program.ExactlyOne("The server name is missing.", "fettle mcp list lists the servers."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServers(cmd.Context(), p, g, func(ctx context.Context, c *config.Config, m *mcp.Manager, _ *program.SignIn) error {
				return testServer(ctx, p, c, m, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func testServer(ctx context.Context, p *program.Program, c *config.Config, m *mcp.Manager, name string, asJSON bool) error {
	if off := program.ServersDisabled(c); m == nil && off != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: off}
	}
	if m == nil || !m.Has(name) {
		return &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", fmt.Sprintf("Unknown MCP server %q.", name),
			"fettle mcp list lists the servers; fettle mcp add adds one.")}
	}
	m.Start(context.WithoutCancel(ctx), name) // the Config ends it
	if !m.Settled(ctx, name) {
		return program.Interrupted()
	}
	var l serverListing
	var failed error
	for _, s := range m.Status() {
		if s.Name == name {
			l, failed = serverListingOf(c, s), s.Error
		}
	}
	l.Registered = registeredOf(c, name)
	if asJSON {
		if err := program.PrintJSON(p.Out, l); err != nil {
			return err
		}
	} else if failed == nil {
		if err := showServer(p, l); err != nil {
			return err
		}
	}
	if failed != nil {
		return &program.ExitError{Code: program.ExitToolError, Err: failed}
	}
	return nil
}

// registeredOf returns the tools of a server that the session has registered.
func registeredOf(c *config.Config, server string) []toolOfServer {
	r, err := c.ToolRegistry()
	if err != nil {
		return nil
	}
	var list []toolOfServer
	for _, t := range r.All() {
		spec := t.Spec()
		if spec.Origin.Group != tools.GroupMCP || spec.Origin.Server != server {
			continue
		}
		list = append(list, toolOfServer{Name: spec.Name, Tool: spec.Origin.Tool, Kind: string(spec.Kind), Mutates: spec.Mutates(), Description: spec.Description})
	}
	return list
}

func showServer(p *program.Program, l serverListing) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s: %s over %s, protocol %s, in %s\n", display.Line(l.Name), l.State, display.Line(l.Server), l.transport(), display.Line(l.Protocol), shownTime(l.ConnectMS))
	if l.Instructions != "" {
		fmt.Fprintf(&b, "\nInstructions:\n%s\n", printableLines(l.Instructions))
	}
	fmt.Fprintf(&b, "\nTools (%d, %d of them registered):\n", len(l.Tools), len(l.Registered))
	width := 0
	for _, t := range l.Registered {
		width = max(width, len(t.Name))
	}
	for _, t := range l.Registered {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, t.Name, escape.Clip(display.Printable(display.FirstSentence(t.Description)), display.ListingWidth))
	}
	if l.Resources > 0 {
		fmt.Fprintf(&b, "\nResources: %d\n", l.Resources)
	}
	if len(l.Prompts) > 0 {
		fmt.Fprintf(&b, "\nPrompts: %s\n", display.Line(strings.Join(l.Prompts, ", ")))
	}
	for _, d := range l.Dropped {
		fmt.Fprintf(&b, "\nRejected: %s\n", display.Line(d.Line()))
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// printableLines is printable for a text of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = display.Printable(line)
	}
	return strings.Join(lines, "\n")
}
