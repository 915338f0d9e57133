package chat

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/clipboard"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/pathlist"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/lines"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// frontEnd displays a session until the user leaves it.
type frontEnd func(ctx context.Context, c *chat, set settings.Settings) error

// Run runs an interactive session with the front end that fits the terminal.
func Run(ctx context.Context, p *program.Program, g *program.Flags, f *conversation.Flags) error {
	return runInteractive(ctx, p, g, f, atTerminal)
}

// runInteractive runs an interactive session with the given front end.
func runInteractive(ctx context.Context, p *program.Program, g *program.Flags, f *conversation.Flags, show frontEnd) error {
	ctx, stop := untilHungUp(ctx)
	defer stop()
	c := newChat(p, g, f)
	err := c.open(ctx, g, show)
	c.leftOver(p)
	if err == nil && ctx.Err() != nil {
		return program.Interrupted()
	}
	return err
}

// show runs the front end on the session.
func (c *chat) show(ctx context.Context, s program.Session, front frontEnd) (err error) {
	c.session, c.config = s, s.Config()
	c.carried, c.again, c.left = c.again, nil, ""
	opened := openedWith{c.config.Model(), c.config.ApprovalMode()}
	c.log = slog.New(slog.DiscardHandler)
	if logged, ok := s.(interface{ Logger() *slog.Logger }); ok {
		c.log = logged.Logger()
	}
	set, err := c.config.Settings().Current()
	if err != nil {
		return err
	}
	if set.Tools.Sandbox.Confines() {
		c.sandbox = "the sandbox"
	}
	if err := c.Records.Begin(c.config, c.Hide, c.PrintError); err != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	defer c.Records.End(context.WithoutCancel(ctx))
	if c.Flags.Resume == conversation.Choose && c.Flags.First == "" && !c.plain(set) {
		c.Flags.Resume, c.Flags.First = "", "/resume"
	}
	if err := c.readyModel(ctx); err != nil {
		return err
	}
	if c.kept, c.client, err = c.Converse(ctx, c.config); err != nil {
		return err
	}
	defer func() { c.kept.Close(ctx) }() // the recording may have changed by then
	c.kept.CleanUp(ctx, set.General.SessionRetention)
	if storage, err := c.config.Storage(); err == nil {
		c.inputs.open(storage.ProjectTempDir)
	}
	c.files = pathlist.New(ctx, c.listFiles, time.Now)
	defer c.files.Close()
	if _, err := c.loadCommands(ctx); err != nil { // their problems are reported at the start
		return err
	}
	if err := c.bringOver(ctx); err != nil {
		return err
	}
	c.noteBranch()
	defer func() {
		for _, text := range c.endMessages(ctx, c.ending()) {
			c.notices.add(text) // printed once the screen is closed
		}
	}()
	if err = front(ctx, c, set); err != nil || ctx.Err() != nil {
		c.again = nil
	}
	if c.again != nil {
		c.carryOver(opened)
	}
	return err
}

// untilHungUp returns a context that ends when the terminal closes or the program is
// terminated, but not with Ctrl-C, which is an ordinary key in a session.
func untilHungUp(ctx context.Context) (context.Context, context.CancelFunc) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt) // otherwise a second one would end the process
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	return ctx, func() {
		stop()
		signal.Stop(pressed)
	}
}

// showsLinesOnly reports whether a terminal type, as in TERM, cannot move its cursor.
// The Windows terminal needs no name.
func showsLinesOnly(term string) bool {
	return term == "dumb" || term == "unknown" || term == "" && runtime.GOOS != "windows"
}

// plain reports whether the session is displayed line by line.
func (c *chat) plain(set settings.Settings) bool {
	return c.Flags.Plain || set.UI.Accessibility.ScreenReader || showsLinesOnly(os.Getenv("TERM"))
}

// atTerminal selects and runs the front end that fits the terminal.
func atTerminal(ctx context.Context, c *chat, set settings.Settings) error {
	if err := theme.Check(set.UI.Theme); err != nil {
		c.notices.add(fault.Line(err))
	}
	if c.plain(set) {
		lines.Run(ctx, lines.Options{
			Session: c, In: c.In, Out: c.Out, First: c.Flags.First, SavedIn: program.ApprovalsFile(c.config), Bell: set.UI.Notifications == string(tui.NotifyBell),
		})
		return nil
	}
	c.lists = true
	in, _ := c.In.(*os.File)
	out, _ := c.Out.(*os.File)
	look := theme.Options{Name: theme.Default, Profile: theme.Profile(os.Environ(), true), Light: theme.Light(os.Environ()), ASCII: theme.ASCII(os.Environ())}
	themes := func(name string, light bool) theme.Theme {
		named := look
		named.Name, named.Light = name, light
		return theme.New(named)
	}
	var background func(bool) theme.Theme
	if look.AsksBackground() { // also with a fixed theme, because another one can be selected
		background = func(light bool) theme.Theme { return themes(set.UI.Theme, light) }
	}
	return tui.Run(ctx, tui.Options{
		Session: c, In: in, Out: out, Environ: os.Environ(), First: c.Flags.First,
		Theme: themes(set.UI.Theme, look.Light), Light: look.Light, Background: background, Themes: themes, NoAnimation: !set.UI.Animations, Notify: tui.Notification(set.UI.Notifications),
		Edit: (&approval.Terminal{Tty: in, Screen: display.NewScreen(out)}).InEditor, SavedIn: program.ApprovalsFile(c.config), OnDefect: c.onDefect,
		ReadImage: clipboard.Reader{OS: runtime.GOOS, Look: exec.LookPath}.Image,
	})
}

func (c *chat) onDefect(err error) { c.notices.add("A defect: " + display.Line(err.Error())) }

// Start implements [interactive.Session].
func (c *chat) Start(ctx context.Context) iter.Seq[interactive.Event] {
	return c.working(ctx, func(ctx context.Context, w *work) {
		source := "startup"
		switch {
		case c.carried != nil:
			if len(c.conversation().History()) > 0 {
				source = "resume"
			}
			if w.lists { // lines are still displayed
				w.send(interactive.Event{Kind: interactive.EventHistory, History: c.shownItems(ctx)})
			}
		case c.kept.Resumed:
			source = "resume"
			w.send(interactive.Event{Kind: interactive.EventHistory, History: c.shownItems(ctx)})
		}
		w.Progress("Starting")
		c.ReportProblems(c.session)
		for _, notice := range slices.Concat(conversation.ProjectNotices(c.config), program.AgentNotices(c.config), program.HookNotices(c.config), c.session.Recover(ctx)) {
			c.notices.add(notice)
		}
		w.printNotices()
		w.Progress("Connecting to MCP servers")
		for _, missing := range c.session.ConnectServers(ctx, program.ServersForPrompt) {
			c.notices.add(fault.Line(missing))
		}
		if problems, err := c.loadCommands(ctx); err == nil { // includes the prompts of servers
			for _, problem := range problems {
				c.notices.add(problem.String())
			}
		}
		w.Progress("")
		if message := (chatHooks{c}).SessionStart(ctx, source); message != "" {
			w.message(interactive.LevelInfo, "%s", message)
		}
		if c.carried != nil {
			w.reopened()
		}
	})
}
