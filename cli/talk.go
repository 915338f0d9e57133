package cli

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// talk is what a conversation of the program is made with, be it one prompt or a
// session at the terminal.
type talk struct {
	*program
	flags   *headlessFlags
	numbers *statistics
	hide    *redact.Masker
	traffic *traffic
	records records
	warn    func(message string) // tells the person something that ends nothing
}

// talk makes one of the flags; warn is for the caller to set.
func (p *program) talk(f *headlessFlags) talk {
	return talk{program: p, flags: f, numbers: newStatistics(), hide: &redact.Masker{}}
}

// check refuses flags that mean nothing.
func (t *talk) check() error {
	if t.flags.sessionID != "" {
		if err := transcript.CheckID(t.flags.sessionID); err != nil {
			return &exitError{code: exitUsage, err: err}
		}
	}
	return t.flags.checkLimits()
}

// withModels is withSession for a session that has models.
func (t *talk) withModels(ctx context.Context, g *globalFlags, use func(session) error) (err error) {
	if t.traffic, err = t.flags.traffic.open(); err != nil {
		return err
	}
	defer func() {
		if closeErr := t.traffic.close(); err == nil {
			err = closeErr
		}
	}()
	return t.withSession(ctx, sessionOptions{flags: g, watch: true, hide: t.hide, adjust: t.adjust}, use)
}

// adjust makes the Parameters those of a conversation.
func (t *talk) adjust(p *config.Parameters) {
	t.traffic.wire(p, t.hide)
	t.numbers.modelName = t.traffic.shown
	p.Secrets = t.hide.Values()
	p.SessionID = t.flags.sessionID
	p.Conversation.Observer = agent.Observers(t.numbers, &t.records)
	p.Observe = append(p.Observe, t.numbers.observeCall, t.records.call)
	p.Conversation.Limits.PromptTurns = t.flags.maxTurns
	p.Conversation.Limits.Time = t.flags.maxTime
}

// begin starts the telemetry, which is for the caller to end, tells what a person
// should know of the session, and connects its servers.
func (t *talk) begin(ctx context.Context, s session, notices []string) error {
	c := s.Config()
	if err := t.records.begin(c, t.hide, t.complain); err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	t.tellProblems(s)
	for _, notice := range projectNotices(c) {
		t.say(notice)
	}
	for _, notice := range slices.Concat(agentNotices(c), hookNotices(c), s.Recover(ctx), notices) {
		t.warn(notice)
	}
	for _, missing := range s.ConnectServers(ctx, serversForPrompt) {
		t.warn(lineOf(missing))
	}
	if ctx.Err() != nil {
		return interrupted()
	}
	return nil
}

// converse begins the conversation that the flags ask for, recorded as they say;
// the record is for the caller to close.
func (t *talk) converse(ctx context.Context, c *config.Config) (*record, *agent.Client, error) {
	kept, opening, err := t.openRecord(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	kept.resumed = len(opening.History) > 0
	client, err := c.Converse(opening)
	if err == nil {
		if failure := client.Initialize(ctx); failure != nil {
			err = ended(agent.Event{Type: agent.EventError, Err: fault.As(failure)}, failure)
		}
	}
	if err != nil {
		kept.close(ctx)
		return nil, nil, err
	}
	return kept, client, nil
}
