// Package conversation sets up a conversation with a model. Headless runs and
// interactive sessions share it: flags, recording, traffic files, telemetry and
// statistics.
package conversation

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Setup holds the parts of a conversation, for one prompt or an interactive session.
type Setup struct {
	*program.Program
	Flags   *Flags
	Numbers *Statistics
	Hide    *redact.Masker
	Traffic *traffic
	Records records
	Warn    func(message string) // reports a problem that does not end the run
	// Adjust changes the Parameters last; nil: none.
	Adjust func(*config.Parameters)

	warned bool // about the stored keys
}

// New returns a Setup for the flags. The caller sets Warn.
func New(p *program.Program, f *Flags) Setup {
	return Setup{Program: p, Flags: f, Numbers: NewStatistics(), Hide: &redact.Masker{}}
}

// Check rejects invalid flags.
func (t *Setup) Check() error {
	if t.Flags.SessionID != "" {
		if err := transcript.CheckID(t.Flags.SessionID); err != nil {
			return &program.ExitError{Code: program.ExitUsage, Err: err}
		}
	}
	return t.Flags.checkLimits()
}

// WithModels is [program.Program.WithSession] for a session with models. While use
// returns again and no error, another session is opened.
func (t *Setup) WithModels(ctx context.Context, g *program.Flags, use func(program.Session) (again bool, err error)) (err error) {
	if t.Traffic, err = t.Flags.traffic.open(); err != nil {
		return err
	}
	defer func() {
		if closeErr := t.Traffic.close(); err == nil {
			err = closeErr
		}
	}()
	for again := true; again && err == nil; {
		again = false
		err = t.WithSession(ctx, program.SessionOptions{Flags: g, Watch: true, Hide: t.Hide, Adjust: t.adjust}, func(s program.Session) (err error) {
			again, err = use(s)
			return err
		})
	}
	return err
}

// adjust sets the Parameters of a conversation.
func (t *Setup) adjust(p *config.Parameters) {
	t.Traffic.wire(t.Providers, t.Keys, p, t.Hide)
	t.Numbers.modelName = t.Traffic.DisplayName
	p.Environment.Secrets = t.Hide.Values()
	p.Session.ID = t.Flags.SessionID
	p.Conversation.Observer = agent.Observers(t.Numbers, &t.Records)
	p.Calls.Observe = append(p.Calls.Observe, t.Numbers.observeCall, t.Records.call)
	p.Conversation.Limits.PromptTurns = t.Flags.maxTurns
	p.Conversation.Limits.Time = t.Flags.maxTime
	if t.Flags.Adjust != nil {
		t.Flags.Adjust(p)
	}
	if t.Adjust != nil {
		t.Adjust(p)
	}
}

// Begin starts telemetry, which the caller must end, reports notices to the user, and
// connects the MCP servers.
func (t *Setup) Begin(ctx context.Context, s program.Session, notices []string) error {
	c := s.Config()
	if err := t.Records.Begin(c, t.Hide, t.PrintError); err != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	t.ReportProblems(s)
	for _, notice := range ProjectNotices(c) {
		t.PrintNotice(notice)
	}
	for _, notice := range slices.Concat(program.AgentNotices(c), program.HookNotices(c), s.Recover(ctx), notices) {
		t.Warn(notice)
	}
	for _, missing := range s.ConnectServers(ctx, program.ServersForPrompt) {
		t.Warn(fault.Line(missing))
	}
	if ctx.Err() != nil {
		return program.Interrupted()
	}
	return nil
}

// Converse starts the conversation that the flags select and its recording. The
// caller must close the record.
func (t *Setup) Converse(ctx context.Context, c *config.Config) (*Record, *agent.Client, error) {
	if err := t.CheckModel(ctx, c.Model()); err != nil {
		return nil, nil, err
	}
	t.noteModel(c.Model())
	kept, opening, err := t.openRecord(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	kept.Resumed = len(opening.History) > 0
	client, err := c.Converse(opening)
	if err == nil {
		if failure := client.Initialize(ctx); failure != nil {
			err = Ended(agent.Event{Type: agent.EventError, Err: fault.As(failure)}, failure)
		}
	}
	if err != nil {
		kept.Close(ctx)
		return nil, nil, err
	}
	return kept, client, nil
}
