// Package a2a serves sessions to other agents over the Agent2Agent protocol, version 0.3, as
// JSON-RPC over HTTP. A context of the protocol is a session, and a task is a prompt. The session
// itself is that of package chat; this package converts the events of a prompt to events of its
// task, and the questions of the bus to the state input-required. It does not know how a session
// works, and it makes no decision about a call.
package a2a

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/log"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/httpserve"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	mcp "github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Command returns the fettle a2a command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "a2a",
		Short: "Serve other agents over the Agent2Agent protocol (A2A)",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serveCommand(p, g))
	return cmd
}

// serveFlags are the flags of a2a serve.
type serveFlags struct {
	web      httpserve.Flags
	talk     conversation.Flags // of each session
	sessions int
}

func serveCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve sessions to A2A clients, such as another agent",
		Long: `Serves sessions of this directory to clients of the Agent2Agent protocol 0.3, over
HTTP. The agent card is at http://ADDR/.well-known/agent-card.json. Each context of a
client is a session, and each task is a prompt.

A call that needs approval sets its task to input-required; the client answers with
the next message of the task. The server ends with Ctrl-C.`,
		Example: `  fettle a2a serve --http 127.0.0.1:7338
  FETTLE_TOKEN=$(cat token) fettle a2a serve --http 127.0.0.1:7338 --token-env FETTLE_TOKEN`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch err := f.web.Check(cmd.Flags().Changed); {
			case err != nil:
				return err
			case f.web.Addr == "":
				return program.UsageError("a2a serve requires --http ADDR.", "Example: fettle a2a serve --http 127.0.0.1:7338.")
			case f.sessions <= 0:
				return program.UsageError("--max-sessions must be at least 1.", "")
			}
			tokens, err := f.web.Tokens()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), p, g, &f, tokens)
		},
	}
	f.web.Register(cmd.Flags(), "serve over HTTP at `ADDR`, HOST:PORT of a loopback address; port 0 selects a free port")
	cmd.Flags().IntVar(&f.sessions, "max-sessions", 16, "maximum `number` of open sessions; an idle one is closed for a new one if it is recorded")
	cmd.Flags().BoolVar(&f.talk.NoRecord, "no-record", false, "do not record the sessions, so that they cannot be continued after a restart")
	return cmd
}

// endGrace is the time that sessions may take to end at shutdown.
const endGrace = 10 * time.Second

// maxBody is the largest size of a request in bytes.
const maxBody = 8 << 20

// serve serves until ctx ends, which is no error.
func serve(ctx context.Context, p *program.Program, g *program.Flags, f *serveFlags, tokens []string) error {
	broken := make(chan os.Signal, 1) // a write to a closed pipe would kill the process
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	hide := &redact.Masker{}
	hide.Add(tokens...)
	err := p.WithSession(ctx, program.SessionOptions{Flags: g, Hide: hide}, func(first program.Session) error {
		p.ReportProblems(first)
		if ctx.Err() != nil {
			return nil
		}
		l, err := f.web.Listen(ctx)
		if err != nil {
			return err
		}
		s := newServer(p, g, f)
		s.secrets = tokens
		s.recorded = func(ctx context.Context, id string) (string, bool) { return recordedIn(ctx, first.Config(), hide, id) }
		card := cardOf(first.Config(), len(tokens) > 0)
		_, _ = fmt.Fprintf(p.Err, "fettle: serving A2A at http://%s/\n", l.Addr())
		guarded := mcp.HTTPOptions{Tokens: tokens, Hosts: f.web.Names(), Origins: f.web.Origins}
		return httpserve.Serve(ctx, l, s.handler(card, guarded), func() error {
			s.closeAll(endGrace)
			return nil
		})
	})
	if exit := (*program.ExitError)(nil); ctx.Err() != nil && errors.As(err, &exit) && exit.Code == program.ExitInterrupted {
		return nil // cancelled before it was ready
	}
	return err
}

// recordedIn returns the side directory of the recorded session with an id.
func recordedIn(ctx context.Context, c *config.Config, hide *redact.Masker, id string) (dir string, ok bool) {
	store, err := config.NewTranscripts(c, hide.Values())
	if err != nil {
		return "", false
	}
	list, _, err := store.List(ctx)
	if err != nil || !slices.ContainsFunc(list, func(one transcript.Summary) bool { return one.ID == id }) {
		return "", false
	}
	dir, err = store.SideDir(id)
	return dir, err == nil
}

// handler serves the card and the requests of clients. The card requires no token, because a client
// learns from it that requests do.
func (s *server) handler(card *protocol.AgentCard, o mcp.HTTPOptions) http.Handler {
	open := o
	open.Tokens = nil
	rpc := checked(a2asrv.NewJSONRPCHandler(s))
	quiet := slog.New(slog.DiscardHandler) // it would contain messages of the client
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, open.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := *card
		here.URL = "http://" + r.Host + "/" // an accepted name of this server, by which the client reaches it
		a2asrv.NewStaticAgentCardHandler(&here).ServeHTTP(w, r)
	})))
	mux.Handle("POST /{$}", o.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		rpc.ServeHTTP(w, r.WithContext(log.WithLogger(r.Context(), quiet)))
	})))
	return mux
}
