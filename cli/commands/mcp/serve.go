package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/httpserve"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/tools"
)

// serveFlags are the flags of mcp serve.
type serveFlags struct {
	httpserve.Flags
	stateless bool
	idle      time.Duration
	sessions  int
	allTools  bool
	outputs   bool
}

func mcpServeCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools to an MCP client, such as another agent or an editor",
		Long: `Serves the tools to MCP clients under the policy of this session: over stdin and
stdout to the program that started fettle, or with --http to clients that connect
to http://ADDR/mcp, each in its own session.

Approval requests are sent to the client. If the client cannot ask its user, the
call is denied, and the denial names the flag or rule that would allow it.

The server ends when its client disconnects, or with Ctrl-C. Stdout carries only
the protocol.`,
		Example: `  fettle mcp serve
  fettle --cwd ~/src/shelf --approval-mode auto_edit mcp serve
  FETTLE_TOKEN=$(cat token) fettle mcp serve --http 127.0.0.1:7337 --token-env FETTLE_TOKEN`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed); err != nil {
				return err
			}
			tokens, err := f.Tokens()
			if err != nil {
				return err
			}
			return serveMCP(cmd.Context(), p, g, &f, tokens)
		},
	}
	flags := cmd.Flags()
	f.Register(flags, "serve over HTTP at `ADDR`, HOST:PORT of a loopback address; port 0 selects a free port")
	flags.BoolVar(&f.stateless, "stateless", false, "keep no sessions: requests are independent, and only hashes prove prior reads")
	flags.DurationVar(&f.idle, "session-idle", 30*time.Minute, "`duration` after which an idle session ends")
	flags.IntVar(&f.sessions, "max-sessions", 1000, "maximum `number` of sessions, or of concurrent requests with --stateless")
	flags.BoolVar(&f.allTools, "all-tools", false, "also serve the tools for fettle's own conversations, such as write_todos")
	flags.BoolVar(&f.outputs, "output-schemas", false, "also declare the schemas of results, for clients that run code on them")
	return cmd
}

// serveMCP serves until ctx ends or the client disconnects; neither is an error.
func serveMCP(ctx context.Context, p *program.Program, g *program.Flags, f *serveFlags, tokens []string) error {
	// Otherwise a write to a disconnected client would kill the process with SIGPIPE,
	// and the processes that calls have started would remain.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	s := &mcpServing{Program: p, flags: f, hide: &redact.Masker{}}
	s.server, s.alone = os.LookupEnv(mcp.StartedVariable)
	s.hide.Add(tokens...)
	s.options = program.SessionOptions{Flags: g, Watch: f.Addr == "" || f.stateless, Hide: s.hide, Adjust: s.adjust}
	err := p.WithSession(ctx, s.options, func(first program.Session) error {
		s.first = first.Config()
		p.ReportProblems(first)
		p.ReportHookProblems(first)
		for _, notice := range first.Recover(ctx) {
			p.PrintError(errors.New(notice))
		}
		if ctx.Err() != nil {
			return nil
		}
		s.printIgnored(first)
		if f.Addr == "" || f.stateless {
			within, stop := context.WithCancel(ctx)
			s.shared = s.connect(within, first)
			defer s.shared.wait()
			defer stop()
		}
		srv := server.New(server.Options{Name: "fettle", Version: program.VersionOf().Version, Open: s.open, OutputSchemas: f.outputs, Logger: s.log.With("component", "MCP_SERVER")})
		if f.Addr == "" {
			return errors.Join(srv.Stdio(ctx, p.In, p.Out), srv.Close())
		}
		return s.listen(ctx, srv, tokens)
	})
	if ctx.Err() != nil && isInterrupted(err) {
		return nil // cancelled before it was ready
	}
	return err
}

func isInterrupted(err error) bool {
	var exit *program.ExitError
	return errors.As(err, &exit) && exit.Code == program.ExitInterrupted
}

// mcpServing is one run of mcp serve.
type mcpServing struct {
	*program.Program
	flags   *serveFlags
	options program.SessionOptions
	hide    *redact.Masker
	log     *slog.Logger
	server  string         // the name under which another fettle started this process
	alone   bool           // it did: use no MCP servers
	shared  *connecting    // connections of first
	first   *config.Config // opened at the start; the Config of the stdio client, and the base of single requests
}

// adjust prevents connections to servers that are this program again, and hides the
// token and this process's own variables from commands.
func (s *mcpServing) adjust(p *config.Parameters) {
	s.log = p.Environment.Logger
	p.Tools.Shell.Withheld = append(p.Tools.Shell.Withheld, mcp.StartedVariable)
	if s.flags.TokenEnv != "" {
		p.Tools.Shell.Withheld = append(p.Tools.Shell.Withheld, s.flags.TokenEnv)
	}
	dial := p.MCP.Dial
	if dial == nil {
		return
	}
	p.MCP.Dial = func(e config.MCPEnvironment) mcp.Dialer { return otherServers{dial(e)} }
}

// otherServers is a dialer that starts no fettle mcp serve, which would start itself
// recursively.
type otherServers struct{ mcp.Dialer }

// Dial connects to a server unless it is fettle mcp serve.
func (d otherServers) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	if servesItself(spec) {
		return nil, fault.New(fault.InvalidConfig, "cli.mcp", fmt.Sprintf("The MCP server %q is not started because it is fettle mcp serve again.", spec.Name),
			fmt.Sprintf("Remove %q from mcpServers, or add it to mcp.excluded.", spec.Name))
	}
	return d.Dialer.Dial(ctx, spec, h)
}

// servesItself reports whether a server is this program with mcp serve among its
// arguments.
func servesItself(spec mcp.ServerSpec) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	name := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }
	at := slices.Index(spec.Args, "mcp")
	return name(spec.Command) == name(self) && at >= 0 && slices.Contains(spec.Args[at:], "serve")
}

// printIgnored reports that the configured servers are not used.
func (s *mcpServing) printIgnored(of program.Session) {
	m, err := of.Config().MCP().Manager()
	if !s.alone || err != nil || m == nil {
		return
	}
	s.PrintError(fault.New(fault.InvalidConfig, "cli.mcp",
		fmt.Sprintf("This process was started as the MCP server %q of another fettle. It uses no MCP servers, because it could be one of them.", s.server),
		fmt.Sprintf("Remove %q from mcpServers, or add it to mcp.excluded, unless this is intended.", s.server)))
}

// serversForFirstList is the time that the first list of tools waits for servers,
// measured from the start of the connections. Later tools are announced to the
// client.
const serversForFirstList = time.Second

// connecting is the connection phase of a session's MCP servers. nil means no
// servers.
type connecting struct {
	listed context.Context // ends when a list of tools no longer waits
	ended  chan struct{}
}

// connect starts connecting the MCP servers of a session and reports the missing
// ones. It returns immediately; its work ends with ctx.
func (s *mcpServing) connect(ctx context.Context, of program.Session) *connecting {
	if s.alone {
		return nil
	}
	c := &connecting{ended: make(chan struct{})}
	listed, cancel := context.WithTimeout(ctx, serversForFirstList)
	c.listed = listed
	go func() {
		defer close(c.ended)
		defer cancel()
		for _, missing := range of.ConnectServers(ctx, program.ServersForPrompt) {
			if ctx.Err() == nil {
				s.PrintError(missing)
			}
		}
	}()
	return c
}

// tools returns list with a short wait for servers.
func (c *connecting) tools(list func() []tools.DeclarativeTool) func() []tools.DeclarativeTool {
	if c == nil {
		return list
	}
	return func() []tools.DeclarativeTool {
		<-c.listed.Done()
		return list()
	}
}

// wait waits until the work of connect has ended. Its ctx must have ended.
func (c *connecting) wait() {
	if c != nil {
		<-c.ended
	}
}

// open returns the service of one client: of the first Config for stdio, of a Config
// derived from it for a single request, otherwise of a new Config.
func (s *mcpServing) open(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
	o := config.MCPServiceOptions{AllTools: s.flags.allTools, Client: c.Name}
	if s.flags.Addr == "" || c.Session == "" {
		o.Stateless = s.flags.Addr != ""
		o.Owned, o.WatchFiles = !o.Stateless, !o.Stateless
		svc, err := s.first.MCP().Serve(o)
		if err != nil {
			return nil, err
		}
		svc.Tools = s.shared.tools(svc.Tools)
		return svc, nil
	}
	own := s.options
	own.Log = s.log
	opened, err := s.Program.Open(ctx, own)
	if err != nil {
		return nil, err
	}
	o.Owned = true
	svc, err := opened.Config().MCP().Serve(o)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	servers := s.connect(ctx, opened)
	svc.Tools = servers.tools(svc.Tools)
	end := svc.Close
	svc.Close = func() error {
		servers.wait() // ctx has ended
		return end()
	}
	return svc, nil
}
