package program

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Session is what the commands need of a running Config.
type Session interface {
	Tools() []tools.DeclarativeTool // in listing order
	Lookup(name string) (tools.DeclarativeTool, error)
	Run(context.Context, scheduler.Request) scheduler.Response
	// ConnectServers connects the MCP servers and waits for them so long at the most;
	// it returns what a person should know of those that are not there then.
	ConnectServers(ctx context.Context, wait time.Duration) []error
	// ConnectFor connects the MCP servers without which a call cannot be made. The
	// error says why the one that it most likely is for is not there.
	ConnectFor(ctx context.Context, tool string) error

	// Explain says what policy would decide about a call.
	Explain(context.Context, scheduler.Request, scheduler.Situation) (policy.Decision, error)
	Decide(policy.Call) policy.Decision // of a call in this session's directory
	PolicyRules() []policy.Rule         // in effective order
	PolicyFiles() []rulefile.File
	PolicyProblems() []fault.Problem
	SettingsProblems() []fault.Problem
	DiscoveryProblems() []error // of tools that the person's own programs bring

	MessageBus() *bus.MessageBus // that the session asks on
	Config() *config.Config      // what a conversation is made of
	// Recover finishes what killed runs left half written, and returns what
	// the person should know of it. It changes files.
	Recover(context.Context) []string
	Close() error
}

// SessionOptions say which session to open.
type SessionOptions struct {
	Flags  *Flags
	Watch  bool           // settings files are read again when they change: for a session that lasts
	Alone  bool           // neither the person's settings count nor the machine's, nor the environment
	Log    *slog.Logger   // set by WithSession
	Hide   *redact.Masker // what the log and errors do not show; nil: what the environment holds of such
	SignIn *SignIn        // of the person that servers may ask to sign in; nil: nobody
	// Adjust has the last word on the Parameters. nil: nothing.
	Adjust func(*config.Parameters)
}

// WithSession opens a session, hands it to use and closes it, log included.
func (p *Program) WithSession(ctx context.Context, o SessionOptions, use func(Session) error) (err error) {
	if o.Hide == nil {
		o.Hide = &redact.Masker{}
	}
	o.Hide.Add(secretsOf(os.Environ())...)
	p.secrets = o.Hide
	log, closeLog, err := p.openLog(o.Flags, o.Hide)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Log = log
	adjust := o.Adjust
	o.Adjust = func(p *config.Parameters) {
		p.SecretsFound = o.Hide.Add
		if adjust != nil {
			adjust(p)
		}
	}
	s, err := p.Open(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return Interrupted()
		}
		if fault.CodeOf(err) == fault.UntrustedFolder {
			return &ExitError{Code: ExitUntrusted, Err: err}
		}
		return &ExitError{Code: ExitConfig, Err: err}
	}
	defer func() {
		if closeErr := s.Close(); err == nil && closeErr != nil {
			err = closeErr
		}
	}()
	return use(s)
}

// openLog returns the debug log: stderr or a file with --debug or
// --debug-file, nothing without. Secrets in it are masked.
func (p *Program) openLog(g *Flags, hide *redact.Masker) (*slog.Logger, func(), error) {
	var w io.Writer
	closeLog := func() {}
	switch {
	case g.DebugFile != "":
		f, err := os.OpenFile(g.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
				display.Sentence("the debug file cannot be opened: "+err.Error()), "Give --debug-file a file in a directory that you may write to.", err)}
		}
		w, closeLog = f, func() { _ = f.Close() }
	case g.Debug:
		w = p.Err
	default:
		return slog.New(slog.DiscardHandler), closeLog, nil
	}
	masked, closeFile := redact.NewWriter(w, hide.Text), closeLog
	closeLog = func() {
		_ = masked.Close() // the log is closed: an error cannot be reported
		closeFile()
	}
	return slog.New(slog.NewTextHandler(masked, &slog.HandlerOptions{Level: slog.LevelDebug})), closeLog, nil
}
