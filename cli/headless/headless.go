// Package headless works on one prompt without a user, and prints the answer as text,
// as JSON or as a stream of JSON.
package headless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools/communicate"
)

// Run works on one prompt, and prints what comes of it. Nobody is asked.
func Run(ctx context.Context, p *program.Program, g *program.Flags, f *conversation.Flags) error {
	// Without this a write to a pipe that nobody reads would kill the process.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	work, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &headlessRun{Talk: conversation.New(p, f), out: &answerWriter{w: p.Out, callOff: cancel}}
	h.report = h.reporter(f.Format)
	h.Warn = func(message string) {
		h.Complain(errors.New(message))
		h.report.warn(display.Line(h.Masked(message)))
	}
	err := h.run(work, g)
	h.report.end(err)
	switch lost := h.out.failure(); {
	case nobodyReads(lost):
		return nil
	case lost != nil && ctx.Err() == nil: // what err says comes from that
		return fmt.Errorf("the answer could not be written: %w", lost)
	}
	return err
}

// headlessRun is the work on one prompt.
type headlessRun struct {
	conversation.Talk
	out    *answerWriter
	report reporter
}

func (h *headlessRun) reporter(format string) reporter {
	return newReporter(format, h.out, display.IsTerminal(h.Program.Out), h.Numbers, h.Masked)
}

func (h *headlessRun) run(ctx context.Context, g *program.Flags) error {
	if err := h.Check(); err != nil {
		return err
	}
	in, err := readPrompt(ctx, h.Talk.Program, h.Flags.Prompt)
	if err != nil {
		return err
	}
	return h.WithModels(ctx, g, func(s program.Session) error { return h.inSession(ctx, s, in) })
}

func (h *headlessRun) inSession(ctx context.Context, s program.Session, in promptInput) error {
	c := s.Config()
	set, err := c.Settings()
	if err != nil {
		return err
	}
	if h.Flags.Format == "" {
		h.report = h.reporter(set.Output.Format)
	}
	if err := h.Begin(ctx, s, in.notices); err != nil {
		return err
	}
	defer h.Records.End(ctx)
	registry, err := c.ToolRegistry()
	if err != nil {
		return err
	}
	registry.Unregister(communicate.AskUser) // there is nobody

	kept, client, err := h.Converse(ctx, c)
	if err != nil {
		return err
	}
	defer kept.Close(ctx)
	heard := program.HearHooks(context.WithoutCancel(ctx), c.MessageBus())
	tellHooks := func() { heard.Tell(context.WithoutCancel(ctx), h.Say, h.Warn) }
	defer tellHooks()
	defer program.EndSession(ctx, c, "exit")
	started, err := h.startSession(ctx, c, kept.Resumed)
	if err != nil {
		return err
	}
	kept.CleanUp(ctx, set.General.SessionRetention)
	parts, err := h.expand(ctx, c, in)
	if exit := (*program.ExitError)(nil); errors.As(err, &exit) {
		return err
	}
	if err != nil {
		return conversation.Ended(agent.Event{Type: agent.EventError, Err: fault.As(err)}, err)
	}
	parts = append(started, parts...)
	h.report.begin(beginning{session: c.SessionID(), model: h.Traffic.Shown(c.Model()), prompt: in.whole()})
	var last agent.Event
	for e := range client.Run(ctx, parts...) {
		h.report.event(e)
		h.tell(e)
		tellHooks()
		last = e
	}
	if in.piped != "" && kept.Recording != nil && !kept.Resumed && len(client.History()) > 0 {
		_ = kept.Recording.SetTitle(ctx, in.text) // in place of the first words of what was piped in
	}
	return conversation.Ended(last, nil)
}

// startSession runs the hooks of the session's start, and returns what they put
// before the prompt.
func (h *headlessRun) startSession(ctx context.Context, c *config.Config, resumed bool) ([]model.Part, error) {
	source := "startup"
	if resumed {
		source = "resume"
	}
	started, err := c.SessionStarted(ctx, source)
	if err != nil {
		return nil, err
	}
	for _, message := range started.Messages {
		h.Say(program.HookLine(message))
	}
	if started.Context == "" {
		return nil, nil
	}
	return []model.Part{model.TextPart(started.Context + "\n\n")}, nil
}

// expand puts the files that the prompt's text names into it, or takes what a
// command says that the text names. What is piped in is somebody else's text, and
// names none.
func (h *headlessRun) expand(ctx context.Context, c *config.Config, in promptInput) ([]model.Part, error) {
	conversation.BeginTurn(c, in.whole())
	parts, isCommand, err := h.command(ctx, c, in)
	if !isCommand && err == nil {
		parts, err = h.named(ctx, c, in.text)
	}
	if err != nil {
		return nil, err
	}
	return in.behind(parts), nil
}

// named is text with the files that it names.
func (h *headlessRun) named(ctx context.Context, c *config.Config, text string) ([]model.Part, error) {
	expanded, err := c.Expand(ctx, text)
	if err != nil {
		return nil, err
	}
	for _, n := range expanded.Notices {
		h.Warn(n.Name + ": " + n.Message)
	}
	return agent.Parts(expanded.Content), nil
}

// behind puts what is piped in before the rest of the prompt.
func (in promptInput) behind(parts []model.Part) []model.Part {
	if in.piped == "" {
		return parts
	}
	return append([]model.Part{model.TextPart(in.piped + "\n\n")}, parts...)
}

// tell tells a person on stderr what is no part of the answer.
func (h *headlessRun) tell(e agent.Event) {
	switch e.Type {
	case agent.EventToolResponse:
		for _, notice := range e.Response.Notices { // the report has them with the call
			h.Complain(errors.New(notice))
		}
	case agent.EventWarning:
		h.Warn(e.Text)
	case agent.EventRetry:
		h.Warn(fmt.Sprintf("The model is asked again in %s, and what came of this answer is void: %s", e.Retry.Wait.Round(100*time.Millisecond), e.Retry.Reason.Message))
	case agent.EventStopped:
		h.Warn("The run was stopped: " + e.Text)
	case agent.EventFinished:
		if e.Finish != model.FinishStop && e.Finish != "" {
			h.Warn(fmt.Sprintf("The model ended its answer before it was done (%s).", e.Finish))
		}
	}
}
