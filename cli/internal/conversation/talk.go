// Package conversation begins a conversation with a model, as a headless run and a
// session at the terminal both do: flags, recording, traffic, telemetry, statistics.
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

// Talk is what a conversation of the program is made with, be it one prompt or a
// session at the terminal.
type Talk struct {
	*program.Program
	Flags   *Flags
	Numbers *Statistics
	Hide    *redact.Masker
	Traffic *traffic
	Records records
	Warn    func(message string) // tells the person something that ends nothing
}

// New makes one of the flags; warn is for the caller to set.
func New(p *program.Program, f *Flags) Talk {
	return Talk{Program: p, Flags: f, Numbers: NewStatistics(), Hide: &redact.Masker{}}
}

// Check refuses flags that mean nothing.
func (t *Talk) Check() error {
	if t.Flags.SessionID != "" {
		if err := transcript.CheckID(t.Flags.SessionID); err != nil {
			return &program.ExitError{Code: program.ExitUsage, Err: err}
		}
	}
	return t.Flags.checkLimits()
}

// WithModels is [program.Program.WithSession] for a session that has models.
func (t *Talk) WithModels(ctx context.Context, g *program.Flags, use func(program.Session) error) (err error) {
	if t.Traffic, err = t.Flags.traffic.open(); err != nil {
		return err
	}
	defer func() {
		if closeErr := t.Traffic.close(); err == nil {
			err = closeErr
		}
	}()
	return t.WithSession(ctx, program.SessionOptions{Flags: g, Watch: true, Hide: t.Hide, Adjust: t.adjust}, use)
}

// adjust makes the Parameters those of a conversation.
func (t *Talk) adjust(p *config.Parameters) {
	t.Traffic.wire(p, t.Hide)
	t.Numbers.modelName = t.Traffic.Shown
	p.Secrets = t.Hide.Values()
	p.SessionID = t.Flags.SessionID
	p.Conversation.Observer = agent.Observers(t.Numbers, &t.Records)
	p.Observe = append(p.Observe, t.Numbers.observeCall, t.Records.call)
	p.Conversation.Limits.PromptTurns = t.Flags.maxTurns
	p.Conversation.Limits.Time = t.Flags.maxTime
}

// Begin starts the telemetry, which is for the caller to end, tells what a person
// should know of the session, and connects its servers.
func (t *Talk) Begin(ctx context.Context, s program.Session, notices []string) error {
	c := s.Config()
	if err := t.Records.Begin(c, t.Hide, t.Complain); err != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	t.TellProblems(s)
	for _, notice := range ProjectNotices(c) {
		t.Say(notice)
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

// Converse begins the conversation that the flags ask for, recorded as they say;
// the record is for the caller to close.
func (t *Talk) Converse(ctx context.Context, c *config.Config) (*Record, *agent.Client, error) {
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
