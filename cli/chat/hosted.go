package chat

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/tools"
)

// HostOptions configure [Host].
type HostOptions struct {
	Program *program.Program    // only its providers, keys and functions are used; none of its streams
	Global  *program.Flags      // with the directory of the session
	Flags   *conversation.Flags // of the conversation
	// Adjust changes the Parameters last; nil: none.
	Adjust func(p *config.Parameters, hide *redact.Masker)
	// Unsupported lists the built-in commands that the front end cannot serve.
	Unsupported []string
}

// Hosted is a session whose front end is another program, such as an editor. Its
// methods may be called from any goroutine, except that only one Submit may run at a
// time.
type Hosted struct {
	interactive.Session
	chat *chat
	o    HostOptions
}

// Host opens a session, calls use with it, and closes it. Nothing is read from or
// written to the streams of the program. Notices after use are dropped.
func Host(ctx context.Context, o HostOptions, use func(ctx context.Context, s *Hosted) error) error {
	p := *o.Program
	p.In, p.Out = strings.NewReader(""), io.Discard
	c := newChat(&p, o.Global, o.Flags)
	if o.Adjust != nil {
		c.Adjust = func(parameters *config.Parameters) { o.Adjust(parameters, c.Hide) }
	}
	return c.open(ctx, o.Global, func(ctx context.Context, c *chat, _ settings.Settings) error {
		c.left = "exit" // no input of a terminal ends
		return use(ctx, &Hosted{c, c, o})
	})
}

// Config returns the Config of the session.
func (h *Hosted) Config() *config.Config { return h.chat.config }

// Masked returns text without the secrets of the session.
func (h *Hosted) Masked(text string) string { return h.chat.Masked(text) }

// Tool returns a tool of the session. The error is for an unknown name.
func (h *Hosted) Tool(name string) (tools.DeclarativeTool, error) { return h.chat.session.Lookup(name) }

// SetMode sets the approval mode, in either spelling. The error gives the reason for a
// refusal.
func (h *Hosted) SetMode(mode string) error {
	parsed, err := policy.ParseApprovalMode(mode)
	if err != nil {
		return err
	}
	return h.chat.config.SetApprovalMode(parsed)
}

// Commands returns the slash commands that the front end can offer, by name.
func (h *Hosted) Commands() []*commands.Command {
	return slices.DeleteFunc(h.chat.commandSet().List(), func(c *commands.Command) bool {
		return c.Hidden || h.unsupported(c)
	})
}

func (h *Hosted) unsupported(c *commands.Command) bool {
	return c.Kind == commands.KindBuiltIn && slices.Contains(h.o.Unsupported, c.Name)
}

// Submit processes an input with content in addition: a command after "/", otherwise a
// prompt. Text that names no command is a prompt, also after "!": the front end has no
// shell line.
func (h *Hosted) Submit(ctx context.Context, text string, more ...model.Part) iter.Seq[interactive.Event] {
	return h.chat.working(ctx, func(ctx context.Context, w *work) {
		text = strings.TrimSpace(text)
		if len(more) > 0 {
			w.addContext(more...)
		}
		conversation.BeginTurn(w.config, text)
		m := w.commandSet().Parse(text)
		switch {
		case m.Command != nil && h.unsupported(m.Command), m.IsCommand && m.Command == nil && slices.Contains(builtin.Names(), m.Name):
			w.fail(ctx, fault.New(fault.InvalidToolParams, "cli", "The command /"+m.Name+" is not available in this editor.", "Use it in a terminal, with fettle."))
		case m.Command != nil:
			w.command(ctx, text, agreed{})
		default:
			w.prompt(ctx, text)
		}
	})
}

// open opens the session, and calls front with it.
func (c *chat) open(ctx context.Context, g *program.Flags, front frontEnd) error {
	if err := c.Check(); err != nil {
		return err
	}
	return c.WithModels(ctx, g, func(s program.Session) (again bool, err error) {
		err = c.show(ctx, s, front)
		return c.again != nil, err
	})
}

// newChat returns a session that keeps its messages for the front end.
func newChat(p *program.Program, g *program.Flags, f *conversation.Flags) *chat {
	c := &chat{Setup: conversation.New(p, f), global: g, started: time.Now()}
	silent := *p
	silent.Err, silent.Notify = &c.notices, c.notices.inform // the output belongs to the front end
	c.Program, c.Warn = &silent, c.notices.add
	return c
}

// leftOver prints the notices that the front end has not shown.
func (c *chat) leftOver(p *program.Program) {
	for _, n := range c.notices.take() {
		p.PrintError(errors.New(n.text))
	}
}
