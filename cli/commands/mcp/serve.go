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

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/tools"
)

// serveFlags say how fettle serves MCP clients.
type serveFlags struct {
	http        string // "": over stdin and stdout
	allowRemote bool
	tokenEnv    string
	tokenFile   string
	hosts       []string
	origins     []string
	stateless   bool
	idle        time.Duration
	sessions    int
	allTools    bool
}

func mcpServeCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the tools to an MCP client, as another agent or an editor",
		Long: `Serves the tools to MCP clients, under this session's policy: over stdin and
stdout to the program that has started fettle, or with --http to programs that
connect to http://ADDR/mcp, each in a session of its own.

What a person has to approve is asked through the client. Where it cannot ask,
the call is refused, and the refusal names the flag or rule that would allow it.

It ends when its client goes, or by Ctrl-C. Stdout holds nothing but the protocol.`,
		Example: `  fettle mcp serve
  fettle --cwd ~/src/shelf --approval-mode auto_edit mcp serve
  FETTLE_TOKEN=$(cat token) fettle mcp serve --http 127.0.0.1:7337 --token-env FETTLE_TOKEN`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed); err != nil {
				return err
			}
			tokens, err := f.tokens()
			if err != nil {
				return err
			}
			return serveMCP(cmd.Context(), p, g, &f, tokens)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "serve over HTTP at this `ADDR`, HOST:PORT of a loopback address; port 0 takes a free one")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "let ADDR be one that other machines reach; it takes a token")
	flags.StringVar(&f.tokenEnv, "token-env", "", "the `VARIABLE` that holds the token which clients must bear")
	flags.StringVar(&f.tokenFile, "token-file", "", "a `file` that holds it, or several, one a line")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "`hosts` by which clients may call this server, beside loopback ones and that of ADDR")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "`origins` of web pages that may use it, as https://example.org, beside loopback ones")
	flags.BoolVar(&f.stateless, "stateless", false, "keep no sessions: each request stands alone, and only hashes prove what was read")
	flags.DurationVar(&f.idle, "session-idle", 30*time.Minute, "how `long` a session lasts in which nothing happens")
	flags.IntVar(&f.sessions, "max-sessions", 1000, "how `many` sessions there may be at once; with --stateless requests")
	flags.BoolVar(&f.allTools, "all-tools", false, "offer also the tools that serve a conversation which fettle has itself, as write_todos")
	return cmd
}

// serveMCP serves until ctx ends or the client goes; neither is an error.
func serveMCP(ctx context.Context, p *program.Program, g *program.Flags, f *serveFlags, tokens []string) error {
	// Without this a write to a client that has gone would kill the process, and
	// leave behind what its calls have started.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	s := &mcpServing{Program: p, flags: f, hide: &redact.Masker{}}
	s.server, s.alone = os.LookupEnv(mcp.StartedVariable)
	s.hide.Add(tokens...)
	s.options = program.SessionOptions{Flags: g, Watch: f.http == "" || f.stateless, Hide: s.hide, Adjust: s.adjust}
	err := p.WithSession(ctx, s.options, func(first program.Session) error {
		s.first = first.Config()
		p.TellProblems(first)
		p.TellHookProblems(first)
		for _, notice := range first.Recover(ctx) {
			p.Complain(errors.New(notice))
		}
		if ctx.Err() != nil {
			return nil
		}
		s.tellAlone(first)
		if f.http == "" || f.stateless {
			within, stop := context.WithCancel(ctx)
			s.shared = s.connect(within, first)
			defer s.shared.wait()
			defer stop()
		}
		srv := server.New(server.Options{Name: "fettle", Version: program.VersionOf().Version, Open: s.open, Logger: s.log.With("component", "MCP_SERVER")})
		if f.http == "" {
			return errors.Join(srv.Stdio(ctx, p.In, p.Out), srv.Close())
		}
		return s.listen(ctx, srv, tokens)
	})
	if ctx.Err() != nil && isInterrupted(err) {
		return nil // it was asked to end before it was ready
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
	server  string         // as which another session has started this program
	alone   bool           // one has: no servers are used
	shared  *connecting    // those of first
	first   *config.Config // opened at the start; the one client's of stdio, and what those of single requests derive from
}

// adjust has the Config connect to no server that would be this one again, and
// keeps the token from what commands inherit, and what is said of this process
// alone.
func (s *mcpServing) adjust(p *config.Parameters) {
	s.log = p.Logger
	p.Commands.Withheld = append(p.Commands.Withheld, mcp.StartedVariable)
	if s.flags.tokenEnv != "" {
		p.Commands.Withheld = append(p.Commands.Withheld, s.flags.tokenEnv)
	}
	dial := p.MCP.Dial
	if dial == nil {
		return
	}
	p.MCP.Dial = func(e config.MCPEnvironment) mcp.Dialer { return otherServers{dial(e)} }
}

// otherServers is a dialer that starts no fettle mcp serve, which would start
// another one in its turn.
type otherServers struct{ mcp.Dialer }

// Dial connects to a server that is no fettle mcp serve.
func (d otherServers) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	if servesItself(spec) {
		return nil, fault.New(fault.InvalidConfig, "cli.mcp", fmt.Sprintf("The MCP server %q is not started, as it is fettle mcp serve again.", spec.Name),
			fmt.Sprintf("Take %q out of mcpServers, or add it to mcp.excluded.", spec.Name))
	}
	return d.Dialer.Dial(ctx, spec, h)
}

// servesItself reports whether a server is fettle's own program with mcp serve
// among its arguments.
func servesItself(spec mcp.ServerSpec) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	name := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }
	at := slices.Index(spec.Args, "mcp")
	return name(spec.Command) == name(self) && at >= 0 && slices.Contains(spec.Args[at:], "serve")
}

// tellAlone tells that no servers are used although there are some.
func (s *mcpServing) tellAlone(of program.Session) {
	m, err := of.Config().MCP()
	if !s.alone || err != nil || m == nil {
		return
	}
	s.Complain(fault.New(fault.InvalidConfig, "cli.mcp",
		fmt.Sprintf("This program was started as the MCP server %q of another fettle. It uses no MCP servers of its own, as it may be one of them.", s.server),
		fmt.Sprintf("Take %q out of mcpServers, or add it to mcp.excluded, unless it is meant to be.", s.server)))
}

// serversForFirstList is how long a client waits for its tools while servers are
// being connected, from when that has begun. It is told of tools that come later.
const serversForFirstList = time.Second

// connecting is the beginning of a session's connections to its MCP servers. nil
// is that of no servers.
type connecting struct {
	listed context.Context // ends when a list of tools waits no longer
	ended  chan struct{}
}

// connect begins to connect the MCP servers of a session, and tells which are
// missing. It returns at once; what it has begun ends with ctx.
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
				s.Complain(missing)
			}
		}
	}()
	return c
}

// tools returns list, waiting for servers for a moment.
func (c *connecting) tools(list func() []tools.DeclarativeTool) func() []tools.DeclarativeTool {
	if c == nil {
		return list
	}
	return func() []tools.DeclarativeTool {
		<-c.listed.Done()
		return list()
	}
}

// wait waits for the end of what connect has begun. Its ctx has ended.
func (c *connecting) wait() {
	if c != nil {
		<-c.ended
	}
}

// open makes the service of one client: of the first Config over stdin, of one
// derived from it for a single request, else of a Config of the client's own.
func (s *mcpServing) open(ctx context.Context, c mcp.Client) (*mcp.Service, error) {
	o := config.MCPServiceOptions{AllTools: s.flags.allTools, Client: c.Name}
	if s.flags.http == "" || c.Session == "" {
		o.Stateless = s.flags.http != ""
		o.Owned, o.WatchFiles = !o.Stateless, !o.Stateless
		svc, err := s.first.MCPService(o)
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
	svc, err := opened.Config().MCPService(o)
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
