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

// Session is an open session as the commands use it.
type Session interface {
	Tools() []tools.DeclarativeTool // in listing order
	Lookup(name string) (tools.DeclarativeTool, error)
	Run(context.Context, scheduler.Request) scheduler.Response
	// ConnectServers connects the MCP servers and waits at most wait for them. It
	// returns an error for each server that is not connected by then.
	ConnectServers(ctx context.Context, wait time.Duration) []error
	// ConnectFor connects the MCP servers that a call needs. The error is that of the
	// server that most likely has the tool.
	ConnectFor(ctx context.Context, tool string) error

	// Explain returns the decision of the policy about a call, without running it.
	Explain(context.Context, scheduler.Request, scheduler.Situation) (policy.Decision, error)
	// Subject returns the call about which Explain would decide.
	Subject(context.Context, scheduler.Request, scheduler.Situation) (policy.Call, error)
	Decide(policy.Call) policy.Decision // for a call in this session's directory
	PolicyRules() []policy.Rule         // in effective order
	PolicyFiles() []rulefile.File
	PolicyProblems() []fault.Problem
	SettingsProblems() []fault.Problem
	DiscoveryProblems() []error // of tools that discovery commands list

	MessageBus() *bus.MessageBus // carries approval requests
	Config() *config.Config      // for a conversation
	// Recover finishes writes that killed runs left incomplete and returns notices
	// for the user. It changes files.
	Recover(context.Context) []string
	Close() error
}

// SessionOptions configure the session that a command opens.
type SessionOptions struct {
	Flags  *Flags
	Watch  bool           // reload settings files when they change, for a long-running session
	Alone  bool           // ignore user settings, system settings and the environment; fettle's own files are in "none" next to the project
	Log    *slog.Logger   // set by WithSession
	Hide   *redact.Masker // masks secrets in logs and errors; nil: those of the environment
	SignIn *SignIn        // signs in to servers; nil: no user
	// Providers connects to the servers. Set by WithSession; nil: to none.
	Providers Providers
	// Adjust changes the Parameters last; nil: none.
	Adjust func(*config.Parameters)
}

// WithSession opens a session, calls use with it, and closes it and its log.
func (p *Program) WithSession(ctx context.Context, o SessionOptions, use func(Session) error) (err error) {
	if o.Hide == nil {
		o.Hide = &redact.Masker{}
	}
	o.Hide.Add(p.secretsOf(os.Environ())...)
	p.secrets = o.Hide
	p.Keys.OnKey(o.Hide.Add)
	log, closeLog, err := p.openLog(o.Flags, o.Hide)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Log, o.Providers = log, p.Providers
	adjust := o.Adjust
	o.Adjust = func(p *config.Parameters) {
		p.Environment.SecretsFound = o.Hide.Add
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

// openLog returns the debug log: stderr for --debug, a file for --debug-file,
// otherwise none. Secrets are masked.
func (p *Program) openLog(g *Flags, hide *redact.Masker) (*slog.Logger, func(), error) {
	var w io.Writer
	closeLog := func() {}
	switch {
	case g.DebugFile != "":
		f, err := os.OpenFile(g.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
				display.Sentence("cannot open the debug file: "+err.Error()), "Give --debug-file a file in a writable directory.", err)}
		}
		w, closeLog = f, func() { _ = f.Close() }
	case g.Debug:
		w = p.Err
	default:
		return slog.New(slog.DiscardHandler), closeLog, nil
	}
	masked, closeFile := redact.NewWriter(w, hide.Text), closeLog
	closeLog = func() {
		_ = masked.Close() // the log is closed: nowhere is left to report the error
		closeFile()
	}
	return slog.New(slog.NewTextHandler(masked, &slog.HandlerOptions{Level: slog.LevelDebug})), closeLog, nil
}
