package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// work is the processing of one input. It implements [commands.UI] and is used by one
// goroutine only, which ranges over the events.
type work struct {
	*chat
	yield  func(interactive.Event) bool
	cancel context.CancelFunc
	left   bool // the consumer stopped reading events
}

// working runs do and yields the events that it sends.
func (c *chat) working(ctx context.Context, do func(context.Context, *work)) iter.Seq[interactive.Event] {
	return func(yield func(interactive.Event) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w := &work{chat: c, yield: yield, cancel: cancel}
		c.now = w
		defer func() { c.now = nil }()
		w.printNotices()
		do(ctx, w)
		w.printNotices()
	}
}

// send yields an event, and reports whether the consumer wants more.
func (w *work) send(e interactive.Event) bool {
	if !w.left && !w.yield(e) {
		w.left = true
		w.cancel()
	}
	return !w.left
}

func (w *work) message(level interactive.Level, format string, args ...any) {
	w.send(interactive.Event{Kind: interactive.EventMessage, Level: level, Text: fmt.Sprintf(format, args...)})
}

// fail sends an error with its remedy.
func (w *work) fail(ctx context.Context, err error) {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		w.message(interactive.LevelInfo, "Called off.")
	default:
		w.message(interactive.LevelError, "%s", fault.Line(err))
	}
}

// Say implements [commands.UI].
func (w *work) Say(m commands.Message) {
	level := cmp.Or(interactive.Level(m.Level), interactive.LevelInfo)
	w.message(level, "%s", m.Text)
}

// Progress implements [commands.UI].
func (w *work) Progress(now string) {
	w.send(interactive.Event{Kind: interactive.EventWorking, Text: now})
}

// say sends a message from within the running input. Only the goroutine of that input
// may call it.
func (c *chat) say(text string) {
	if c.now != nil {
		c.now.message(interactive.LevelInfo, "%s", text)
		return
	}
	c.notices.inform(text)
}

// warn is say for a warning.
func (c *chat) warn(text string) {
	if c.now != nil {
		c.now.message(interactive.LevelWarning, "%s", text)
		return
	}
	c.notices.add(text)
}

// printNotices sends the notices that occurred meanwhile.
func (w *work) printNotices() {
	for _, n := range w.notices.take() {
		w.message(n.level, "%s", n.text)
	}
}

// notices collects notices for the user until they can be shown. The zero value is
// empty. It is safe for concurrent use.
type notices struct {
	mu   sync.Mutex
	list []notice
}

type notice struct {
	level interactive.Level
	text  string
}

const mostNotices = 1000 // more than a user would read

// add adds a warning.
func (n *notices) add(text string) { n.put(notice{interactive.LevelWarning, text}) }

// inform adds a message that is not a warning.
func (n *notices) inform(text string) { n.put(notice{interactive.LevelInfo, text}) }

func (n *notices) put(one notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one.text != "" && len(n.list) < mostNotices {
		n.list = append(n.list, one)
	}
}

// Write accepts the lines that the program prints on stderr.
func (n *notices) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		n.add(strings.TrimPrefix(strings.TrimSpace(line), "fettle: "))
	}
	return len(p), nil
}

func (n *notices) take() []notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// prompt sends the user's prompt to the model.
func (w *work) prompt(ctx context.Context, text string) {
	expanded, err := w.config.Expand(ctx, text)
	if err != nil {
		w.fail(ctx, err)
		return
	}
	for _, n := range expanded.Notices {
		w.message(interactive.LevelWarning, "%s: %s", n.Name, n.Message)
	}
	w.run(ctx, text, agent.Parts(expanded.Content))
}

// run sends a prompt to the model; text is its displayed form.
func (w *work) run(ctx context.Context, text string, parts []model.Part) {
	if !w.send(interactive.Event{Kind: interactive.EventPrompt, Text: text}) {
		return
	}
	w.mu.Lock()
	parts = slices.Concat(parts, w.images.parts(text), w.pending) // the prompt is first, as its title in lists of sessions
	w.pending = nil
	w.prompts++
	client := w.client
	w.mu.Unlock()
	for e := range client.Run(ctx, parts...) {
		w.note(e)
		if !w.send(interactive.Event{Kind: interactive.EventAgent, Agent: &e}) {
			return
		}
	}
}

// note records data of an event that is needed later.
func (c *chat) note(e agent.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Type {
	case agent.EventModel, agent.EventRetry, agent.EventToolResponse:
		c.answer = ""
	case agent.EventText:
		c.answer += e.Text
	case agent.EventFinished:
		if n := e.Usage.Input + e.Usage.Output; n > 0 {
			c.tokens = n
		}
	case agent.EventCompaction:
		if e.Compaction.Status.Changed() {
			c.tokens = e.Compaction.After
		}
	}
}

// confirmed asks the user a question, and reports whether the answer is yes.
func (w *work) confirmed(ctx context.Context, header, question string) bool {
	answer, err := bus.Ask(ctx, w.Bus(), bus.AskUserRequest{Program: true, Questions: []bus.UserQuestion{{
		Question: question, Header: header, Type: bus.QuestionYesNo,
	}}})
	switch {
	case errors.Is(err, bus.ErrNoApprover):
		w.message(interactive.LevelError, "No approver is available for: %s", question)
		return false
	case err != nil:
		w.fail(ctx, fault.Wrap(fault.Cancelled, "cli", "The question was not answered.", "", err))
		return false
	}
	reply := strings.ToLower(strings.TrimSpace(answer.Answers["0"]))
	return !answer.Cancelled && (reply == "y" || reply == "yes")
}
