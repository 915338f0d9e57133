// Package headless runs one prompt without an approver and prints the answer as text,
// JSON or a stream of JSON.
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

// Run runs one prompt and prints the result. Calls that need approval are denied.
func Run(ctx context.Context, p *program.Program, g *program.Flags, f *conversation.Flags) error {
	// Otherwise a write to a closed pipe would kill the process.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	work, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &headlessRun{Setup: conversation.New(p, f), out: &answerWriter{w: p.Out, callOff: cancel}}
	h.report = h.reporter(f.Format)
	h.Warn = func(message string) {
		h.PrintError(errors.New(message))
		h.report.warn(display.Line(h.Masked(message)))
	}
	err := h.run(work, g)
	h.report.end(err)
	switch lost := h.out.failure(); {
	case isClosedPipe(lost):
		return nil
	case lost != nil && ctx.Err() == nil: // err is a consequence of it
		return fmt.Errorf("write answer: %w", lost)
	}
	return err
}

// headlessRun is the run of one prompt.
type headlessRun struct {
	conversation.Setup
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
	in, err := readPrompt(ctx, h.Setup.Program, h.Flags.Prompt)
	if err != nil {
		return err
	}
	return h.WithModels(ctx, g, func(s program.Session) (bool, error) { return false, h.inSession(ctx, s, in) })
}

func (h *headlessRun) inSession(ctx context.Context, s program.Session, in promptInput) error {
	c := s.Config()
	set, err := c.Settings().Current()
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
	registry.Unregister(communicate.AskUser) // there is no user

	kept, client, err := h.Converse(ctx, c)
	if err != nil {
		return err
	}
	defer kept.Close(ctx)
	heard := program.ListenHooks(context.WithoutCancel(ctx), c.MessageBus())
	tellHooks := func() { heard.Report(context.WithoutCancel(ctx), h.PrintNotice, h.Warn) }
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
	h.report.begin(beginning{session: c.SessionID(), model: h.Traffic.DisplayName(c.Model()), prompt: in.whole()})
	var last agent.Event
	for e := range client.Run(ctx, parts...) {
		h.report.event(e)
		h.tell(e)
		tellHooks()
		last = e
	}
	if in.piped != "" && kept.Recording != nil && !kept.Resumed && len(client.History()) > 0 {
		_ = kept.Recording.SetTitle(ctx, in.text) // instead of the beginning of the piped input
	}
	return conversation.Ended(last, nil)
}

// startSession runs the session start hooks, and returns the context that they add
// before the prompt.
func (h *headlessRun) startSession(ctx context.Context, c *config.Config, resumed bool) ([]model.Part, error) {
	source := "startup"
	if resumed {
		source = "resume"
	}
	started, err := c.Hooks().SessionStarted(ctx, source)
	if err != nil {
		return nil, err
	}
	for _, message := range started.Messages {
		h.PrintNotice(program.HookLine(message))
	}
	if started.Context == "" {
		return nil, nil
	}
	return []model.Part{model.TextPart(started.Context + "\n\n")}, nil
}

// expand returns the parts of the prompt: its text with mentioned files, or the
// prompt of its command. Piped input is foreign text, whose mentions are not
// expanded.
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

// named expands the files that a text mentions.
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

// behind puts the piped input before the rest of the prompt.
func (in promptInput) behind(parts []model.Part) []model.Part {
	if in.piped == "" {
		return parts
	}
	return append([]model.Part{model.TextPart(in.piped + "\n\n")}, parts...)
}

// tell prints on stderr the events that are not part of the answer.
func (h *headlessRun) tell(e agent.Event) {
	switch e.Type {
	case agent.EventToolResponse:
		for _, notice := range e.Response.Notices { // the report has them with the call
			h.PrintError(errors.New(notice))
		}
	case agent.EventWarning:
		h.Warn(e.Text)
	case agent.EventRetry:
		h.Warn(fmt.Sprintf("Retrying the model in %s, the previous output is discarded: %s", e.Retry.Wait.Round(100*time.Millisecond), e.Retry.Reason.Message))
	case agent.EventStopped:
		h.Warn("The run was stopped: " + e.Text)
	case agent.EventFinished:
		if e.Finish != model.FinishStop && e.Finish != "" {
			h.Warn(fmt.Sprintf("The model stopped early (%s).", e.Finish))
		}
	}
}
