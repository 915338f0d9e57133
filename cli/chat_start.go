package cli

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// isInteractive reports whether a person sits at stdin and stdout.
func (p *program) isInteractive() bool { return isTerminal(p.in) && isTerminal(p.out) }

// frontEnd shows a session until the person leaves it.
type frontEnd func(ctx context.Context, c *chat, set settings.Settings) error

// interactive is a session with the person at the terminal.
func (p *program) interactive(ctx context.Context, g *globalFlags, f *headlessFlags, show frontEnd) error {
	ctx, stop := untilHungUp(ctx)
	defer stop()
	c := &chat{talk: p.talk(f), global: g, started: time.Now()}
	silent := *p
	silent.err = &c.notices // the screen is the front end's
	c.program, c.warn = &silent, c.notices.add
	if err := c.check(); err != nil {
		return err
	}
	err := c.withModels(ctx, g, func(s session) error { return c.show(ctx, s, show) })
	for _, text := range c.notices.take() {
		p.complain(errors.New(text))
	}
	if err == nil && ctx.Err() != nil {
		return interrupted()
	}
	return err
}

// show has a front end show the session.
func (c *chat) show(ctx context.Context, s session, front frontEnd) (err error) {
	c.session, c.config = s, s.Config()
	c.log = slog.New(slog.DiscardHandler)
	if logged, ok := s.(*configSession); ok {
		c.log = logged.log
	}
	set, err := c.config.Settings()
	if err != nil {
		return err
	}
	if err := c.records.begin(c.config, c.hide, c.complain); err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	defer c.records.end(context.WithoutCancel(ctx))
	if c.kept, c.client, err = c.converse(ctx, c.config); err != nil {
		return err
	}
	defer func() { c.kept.close(ctx) }() // which may be another one by then
	c.kept.cleanUp(ctx, set.General.SessionRetention)
	if storage, err := c.config.Storage(); err == nil {
		c.inputs.open(storage.ProjectTempDir)
	}
	if _, err := c.loadCommands(ctx); err != nil { // what is wrong with some is told at the start
		return err
	}
	c.noteBranch()
	defer func() {
		for _, text := range c.endHeard(ctx, c.ending()) {
			c.notices.add(text) // which are told once the screen is down
		}
	}()
	return front(ctx, c, set)
}

// atTerminal is the front end that fits the terminal.
func (p *program) atTerminal(ctx context.Context, c *chat, set settings.Settings) error {
	if err := theme.Check(set.UI.Theme); err != nil {
		c.notices.add(lineOf(err))
	}
	if c.flags.plain || set.UI.Accessibility.ScreenReader || showsLinesOnly(os.Getenv("TERM")) {
		return p.runLines(ctx, c, c.flags.first)
	}
	in, _ := p.in.(*os.File)
	out, _ := p.out.(*os.File)
	return tui.Run(ctx, tui.Options{
		Session: c, In: in, Out: out, Environ: os.Environ(), First: c.flags.first,
		Theme: theme.New(theme.Options{Name: set.UI.Theme, Profile: theme.Profile(os.Environ(), true), Light: theme.Light(os.Environ())}), NoAnimation: !set.UI.Animations,
		Edit: (&terminal{tty: in, screen: &screen{w: out}}).inEditor, OnDefect: c.onDefect,
	})
}

func (c *chat) onDefect(err error) { c.notices.add("A defect: " + oneLine(err.Error())) }

// Start implements [interactive.Session].
func (c *chat) Start(ctx context.Context) iter.Seq[interactive.Event] {
	return c.working(ctx, func(ctx context.Context, w *work) {
		source := "startup"
		if c.kept.resumed {
			source = "resume"
			w.send(interactive.Event{Kind: interactive.EventHistory, History: c.itemsOf(c.conversation().History())})
		}
		w.Progress("Starting")
		c.tellProblems(c.session)
		for _, notice := range slices.Concat(projectNotices(c.config), agentNotices(c.config), hookNotices(c.config), c.session.Recover(ctx)) {
			c.notices.add(notice)
		}
		w.tellNotices()
		w.Progress("Connecting to MCP servers")
		for _, missing := range c.session.ConnectServers(ctx, serversForPrompt) {
			c.notices.add(lineOf(missing))
		}
		if problems, err := c.loadCommands(ctx); err == nil { // with the prompts of servers
			for _, problem := range problems {
				c.notices.add(problem.String())
			}
		}
		w.Progress("")
		if message := (chatHooks{c}).SessionStart(ctx, source); message != "" {
			w.message(interactive.LevelInfo, "%s", message)
		}
	})
}
