// Package acp serves sessions to an editor over the Agent Client Protocol, on stdin and
// stdout. The session itself is that of package chat; this package converts the requests
// of the editor to inputs, the events of the session to updates, and the questions of the
// bus to permission requests. It does not know how a session works, and it makes no
// decision about a call.
//
// The Go SDK of the protocol decodes and routes the messages. In front of it, package
// frames answers the messages that the SDK would drop, and reports prompts and cancellations in their
// order of arrival.
package acp

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/acp/frames"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// Command returns the fettle acp command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	var f conversation.Flags
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor over the Agent Client Protocol (ACP)",
		Long: `Serves an editor that speaks the Agent Client Protocol, such as Zed, a JetBrains
IDE, Neovim or Emacs, over stdin and stdout. The editor starts this command, creates
sessions in its directories and answers approval requests.

The command ends when the editor closes stdin, or with Ctrl-C. Stdout carries only
the protocol.`,
		Example: `  fettle acp
  fettle --model gemini-2.5-pro --approval-mode auto_edit acp`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), p, g, f)
		},
	}
	cmd.Flags().BoolVar(&f.NoRecord, "no-record", false, "do not record the sessions, so that they cannot be loaded later")
	return cmd
}

// endGrace is the time that sessions may take to end after the editor has gone, and writeGrace
// the time that one message may take to be written meanwhile.
const (
	endGrace   = 10 * time.Second
	writeGrace = time.Second
)

// serve serves until ctx ends or the editor disconnects; neither is an error.
func serve(ctx context.Context, p *program.Program, g *program.Flags, f conversation.Flags) error {
	// Otherwise a write to a closed pipe would kill the process, and the processes that
	// calls have started would remain.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	a := newServer(p, g, f)
	done := a.connect(p.Out, p.In)
	select {
	case <-done:
	case <-a.out.Broken():
	case <-ctx.Done():
	}
	a.endAll()
	return nil
}

// endAll ends the sessions, also if the editor does not read.
func (a *server) endAll() {
	ended := make(chan struct{})
	go func() { defer close(ended); a.closeAll(endGrace) }()
	tick := time.NewTicker(writeGrace / 10)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			if a.out.Blocked() >= writeGrace {
				a.out.Close()
			}
		}
	}
}

// connect connects the agent to an editor. done is closed when the editor has gone.
func (a *server) connect(w io.Writer, r io.Reader) (done <-chan struct{}) {
	a.out = frames.NewWriter(w)
	in := frames.NewReader(r, a.out, a)
	start := make(chan struct{})
	a.conn = sdk.NewAgentSideConnection(a, a.out, gated{start, in})
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would contain messages of the editor
	close(start)
	return a.conn.Done()
}

// gated is a reader whose first read waits until the connection is configured.
type gated struct {
	start <-chan struct{}
	io.Reader
}

func (g gated) Read(p []byte) (int, error) {
	<-g.start
	return g.Reader.Read(p)
}
