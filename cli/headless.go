package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools/communicate"
)

// headlessFlags are those of a run of one prompt, as they were given.
type headlessFlags struct {
	prompt    string
	format    string // "": the settings'
	resume    string // names a session; "": a new one
	sessionID string // of a new one; "": a random one
	noRecord  bool
	maxTurns  int
	maxTime   time.Duration
	traffic   trafficFlags

	first string // is said first in a session at the terminal
	plain bool   // such a session is led line by line
}

func (f *headlessFlags) register(set *pflag.FlagSet) {
	set.StringVarP(&f.prompt, promptFlag, "p", "", "what is to be done: works on it and ends. What is piped in goes before this `text`")
	format := newChoice(&f.format, formatText, formatJSON, formatStream)
	f.format = ""
	set.VarP(format, formatFlag, "o", "how the answer is printed: text|json|stream-json (default text)")
	set.BoolVar(&f.noRecord, "no-record", false, "do not record the session")
	set.IntVar(&f.maxTurns, "max-turns", 0, "how many `requests` to the model the prompt may make (default 100; -1: any number)")
	set.DurationVar(&f.maxTime, "max-time", 0, "how `long` the prompt may take, as 10m (default: any time)")
	f.traffic.register(set)
}

// resumeFlag may stand alone, or before what names a session.
const resumeFlag = "resume"

const (
	sessionIDFlag = "session-id"
	firstFlag     = "prompt-interactive"
	plainFlag     = "plain"
	promptFlag    = "prompt"
	formatFlag    = "output-format"
)

// registerSession registers the flags that say which session a prompt is part of.
func (f *headlessFlags) registerSession(root *cobra.Command) {
	set := root.Flags()
	set.StringVarP(&f.resume, resumeFlag, "r", "", "go on with a recorded `session`: latest, or its index or id as fettle sessions lists them, or how its id begins")
	set.Lookup(resumeFlag).NoOptDefVal = latestSession
	set.StringVarP(&f.first, firstFlag, "i", "", "begin a session at the terminal with this `text`")
	set.BoolVar(&f.plain, plainFlag, false, "a session at the terminal: print lines one after the other, as for a screen reader")
	set.StringVar(&f.sessionID, sessionIDFlag, "", "the `id` of the new session (default: a random one)")
}

// checkSession refuses a session that is named by nothing, as by a variable that
// is not set: a new one would begin where another is meant.
func (f *headlessFlags) checkSession(given *pflag.FlagSet) error {
	switch {
	case given.Changed(resumeFlag) && strings.TrimSpace(f.resume) == "":
		return usageError("--resume is given an empty name.", "Name a session as fettle sessions list does, or give --resume alone for the latest.")
	case given.Changed(sessionIDFlag) && f.sessionID == "":
		return usageError("--session-id is given an empty id.", "Give an id, or leave the flag out for a random one.")
	}
	return nil
}

// checkLimits refuses limits that mean nothing.
func (f *headlessFlags) checkLimits() error {
	switch {
	case f.maxTurns < -1:
		return usageError(fmt.Sprintf("--max-turns cannot be %d.", f.maxTurns), "Give a number of requests, or -1 for any number.")
	case f.maxTime < 0:
		return usageError(fmt.Sprintf("--max-time cannot be %s.", f.maxTime), "Give a time as 10m, or leave the flag out for any time.")
	}
	return nil
}

// start begins a session where a person sits at the terminal and no prompt is
// given, and else runs the prompt of the command line or stdin. Without any of it,
// and without a flag that belongs to it, as --model does, it prints the help.
func (p *program) start(cmd *cobra.Command, g *globalFlags, f *headlessFlags) error {
	if err := f.checkSession(cmd.Flags()); err != nil {
		return err
	}
	if f.resume != "" && f.sessionID != "" {
		return usageError("A session that is gone on with has its id already.", "Leave out --session-id or --resume.")
	}
	given := cmd.Flags().Changed
	switch {
	case !given(promptFlag) && !given(formatFlag) && p.isInteractive():
		return p.interactive(cmd.Context(), g, f, p.atTerminal)
	case given(promptFlag) && (given(firstFlag) || given(plainFlag)):
		return usageError("-p runs one prompt and ends; --"+firstFlag+" and --"+plainFlag+" are for a session at the terminal.", "Leave out one or the other.")
	case given(firstFlag) || given(plainFlag):
		return usageError("There is no terminal for a session.", "Run it at one, or give a prompt with -p TEXT.")
	}
	asked := given(modelFlag)
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { asked = asked || flag.Changed })
	if !asked && !p.isPiped() {
		return cmd.Help()
	}
	err := p.headless(cmd.Context(), g, f)
	if !asked && errors.Is(err, errNoPrompt) {
		return cmd.Help()
	}
	return err
}

// headless works on one prompt, and prints what comes of it. Nobody is asked.
func (p *program) headless(ctx context.Context, g *globalFlags, f *headlessFlags) error {
	// Without this a write to a pipe that nobody reads would kill the process.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	work, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &headlessRun{talk: p.talk(f), out: &answerWriter{w: p.out, callOff: cancel}}
	h.report = h.reporter(f.format)
	h.warn = func(message string) {
		h.complain(errors.New(message))
		h.report.warn(oneLine(h.masked(message)))
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
	talk
	out    *answerWriter
	report reporter
}

func (h *headlessRun) reporter(format string) reporter {
	return newReporter(format, h.out, isTerminal(h.program.out), h.numbers, h.masked)
}

func (h *headlessRun) run(ctx context.Context, g *globalFlags) error {
	if err := h.check(); err != nil {
		return err
	}
	in, err := h.readPrompt(ctx, h.flags.prompt)
	if err != nil {
		return err
	}
	return h.withModels(ctx, g, func(s session) error { return h.inSession(ctx, s, in) })
}

func (h *headlessRun) inSession(ctx context.Context, s session, in promptInput) error {
	c := s.Config()
	set, err := c.Settings()
	if err != nil {
		return err
	}
	if h.flags.format == "" {
		h.report = h.reporter(set.Output.Format)
	}
	if err := h.begin(ctx, s, in.notices); err != nil {
		return err
	}
	defer h.records.end(ctx)
	registry, err := c.ToolRegistry()
	if err != nil {
		return err
	}
	registry.Unregister(communicate.AskUser) // there is nobody

	kept, client, err := h.converse(ctx, c)
	if err != nil {
		return err
	}
	defer kept.close(ctx)
	heard := hearHooks(context.WithoutCancel(ctx), c.MessageBus())
	tellHooks := func() { heard.tell(context.WithoutCancel(ctx), h.say, h.warn) }
	defer tellHooks()
	defer endSession(ctx, c, "exit")
	started, err := h.startSession(ctx, c, kept.resumed)
	if err != nil {
		return err
	}
	kept.cleanUp(ctx, set.General.SessionRetention)
	parts, err := h.expand(ctx, c, in)
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return err
	}
	if err != nil {
		return ended(agent.Event{Type: agent.EventError, Err: fault.As(err)}, err)
	}
	parts = append(started, parts...)
	h.report.begin(beginning{session: c.SessionID(), model: h.traffic.shown(c.Model()), prompt: in.whole()})
	var last agent.Event
	for e := range client.Run(ctx, parts...) {
		h.report.event(e)
		h.tell(e)
		tellHooks()
		last = e
	}
	if in.piped != "" && kept.recording != nil && !kept.resumed && len(client.History()) > 0 {
		_ = kept.recording.SetTitle(ctx, in.text) // in place of the first words of what was piped in
	}
	return ended(last, nil)
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
		h.say(hookLine(message))
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
	beginTurn(c, in.whole())
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
		h.warn(n.Name + ": " + n.Message)
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
			h.complain(errors.New(notice))
		}
	case agent.EventWarning:
		h.warn(e.Text)
	case agent.EventRetry:
		h.warn(fmt.Sprintf("The model is asked again in %s, and what came of this answer is void: %s", e.Retry.Wait.Round(100*time.Millisecond), e.Retry.Reason.Message))
	case agent.EventStopped:
		h.warn("The run was stopped: " + e.Text)
	case agent.EventFinished:
		if e.Finish != model.FinishStop && e.Finish != "" {
			h.warn(fmt.Sprintf("The model ended its answer before it was done (%s).", e.Finish))
		}
	}
}

// ended returns what a run that ended so is to the caller of the program: nil if
// it is done. err is what to tell where the event has no error of its own.
func ended(last agent.Event, err error) error {
	switch last.Type {
	case agent.EventDone, agent.EventStopped:
		return nil
	case agent.EventCancelled:
		return interrupted()
	case agent.EventBlocked:
		return fault.New(fault.StopExecution, "cli", "The prompt was refused: "+last.Text, "")
	}
	if last.Err != nil {
		err = last.Err
	}
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return interrupted()
	case fault.InvalidConfig:
		return &exitError{code: exitConfig, err: err}
	case fault.LimitReached:
		return &exitError{code: exitLimit, err: err}
	}
	return &exitError{code: exitToolError, err: err}
}
