package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// session is what the commands need of a running Config.
type session interface {
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
	Decide(policy.Call) policy.Decision // of a call in this session's folder
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

// sessionOptions say which session to open.
type sessionOptions struct {
	flags  *globalFlags
	watch  bool           // settings files are read again when they change: for a session that lasts
	alone  bool           // neither the person's settings count nor the machine's, nor the environment
	log    *slog.Logger   // set by withSession
	hide   *redact.Masker // what the log and errors do not show; nil: what the environment holds of such
	signIn *signIn        // of the person that servers may ask to sign in; nil: nobody
	// adjust has the last word on the Parameters. nil: nothing.
	adjust func(*config.Parameters)
}

// withSession opens a session, hands it to use and closes it, log included.
func (p *program) withSession(ctx context.Context, o sessionOptions, use func(session) error) (err error) {
	if o.hide == nil {
		o.hide = &redact.Masker{}
	}
	o.hide.Add(secretsOf(os.Environ())...)
	p.secrets = o.hide
	log, closeLog, err := p.openLog(o.flags, o.hide)
	if err != nil {
		return err
	}
	defer closeLog()
	o.log = log
	adjust := o.adjust
	o.adjust = func(p *config.Parameters) {
		p.SecretsFound = o.hide.Add
		if adjust != nil {
			adjust(p)
		}
	}
	s, err := p.open(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted()
		}
		if fault.CodeOf(err) == fault.UntrustedFolder {
			return &exitError{code: exitUntrusted, err: err}
		}
		return &exitError{code: exitConfig, err: err}
	}
	defer func() {
		if closeErr := s.Close(); err == nil && closeErr != nil {
			err = closeErr
		}
	}()
	return use(s)
}

// withCalls is withSession for commands that may change files of the person's,
// who watches them and is asked at the terminal; stdinTaken says that stdin holds no answers.
func (p *program) withCalls(ctx context.Context, o sessionOptions, stdinTaken bool, use func(session) error) error {
	return p.withSession(ctx, o, func(s session) error {
		s, detach := p.attachPerson(ctx, s, stdinTaken)
		defer detach()
		p.tellProblems(s)
		p.tellHookProblems(s)
		for _, notice := range s.Recover(ctx) {
			p.complain(errors.New(notice))
		}
		if ctx.Err() != nil {
			return interrupted()
		}
		return use(s)
	})
}

// openLog returns the debug log: stderr or a file with --debug or
// --debug-file, nothing without. Secrets in it are masked (CF-08).
func (p *program) openLog(g *globalFlags, hide *redact.Masker) (*slog.Logger, func(), error) {
	var w io.Writer
	closeLog := func() {}
	switch {
	case g.debugFile != "":
		f, err := os.OpenFile(g.debugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, &exitError{code: exitConfig, err: fault.Wrap(fault.InvalidConfig, "cli",
				sentence("the debug file cannot be opened: "+err.Error()), "Give --debug-file a file in a folder that you may write to.", err)}
		}
		w, closeLog = f, func() { _ = f.Close() }
	case g.debug:
		w = p.err
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
