package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
)

// terminal is a person at a terminal who answers confirmations.
type terminal struct {
	lines  *lineReader
	tty    *os.File // the terminal that lines come from; nil: it is none
	colour bool
	edit   func(ctx context.Context, name, content string) (string, error)

	mu  sync.Mutex // guards out
	out io.Writer
}

func newTerminal(in io.Reader, out io.Writer, colour bool) *terminal {
	t := &terminal{lines: newLineReader(in), out: out, colour: colour}
	t.edit = t.inEditor
	return t
}

// attach subscribes the person to the questions of a bus; they come one at a
// time. The function that ends it returns once nobody is asked any more.
func (t *terminal) attach(ctx context.Context, b *bus.MessageBus) (detach func()) {
	var questions *bus.Subscription
	subscribed := make(chan struct{})
	questions = bus.Subscribe(ctx, b, func(ctx context.Context, q bus.ToolConfirmationRequest) {
		if !t.answer(ctx, b, q) {
			<-subscribed
			questions.Decline(q.CorrelationID)
		}
	})
	close(subscribed)
	rules := bus.Subscribe(ctx, b, func(_ context.Context, u bus.UpdatePolicy) {
		t.say("Remembered: %s\n", describeRule(u))
	})
	return func() {
		for _, s := range []*bus.Subscription{questions, rules} {
			s.Unsubscribe()
			<-s.Done()
		}
	}
}

// say prints a line or more. It reports whether that was shown.
func (t *terminal) say(format string, args ...any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := fmt.Fprintf(t.out, format, args...)
	return err == nil
}

// answer puts a question to the person and publishes what the person says. A
// question that ends meanwhile gets none. It reports whether the question could
// be shown; if not, there is no answer either.
func (t *terminal) answer(ctx context.Context, b *bus.MessageBus, q bus.ToolConfirmationRequest) (shown bool) {
	if !t.say("%s", renderQuestion(q, t.colour)) {
		return false
	}
	response, ok := t.choose(ctx, q)
	if !ok {
		if errors.Is(context.Cause(ctx), bus.ErrAnswered) {
			t.say("\nAnswered elsewhere.\n")
		} else {
			t.say("\n") // what follows begins on a line of its own
		}
		return true
	}
	switch err := b.Publish(response); {
	case errors.Is(err, bus.ErrAnswered):
		t.say("This was answered elsewhere before; your answer does not count.\n")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		t.say("The call has ended meanwhile; your answer does not count.\n")
	case err != nil:
		t.say("Your answer did not arrive: %s\n", oneLine(err.Error()))
	}
	return true
}

// choose reads keys until one stands for an answer. What was typed before all
// of the question was shown does not count. Enter alone, and the end of input,
// are a no.
func (t *terminal) choose(ctx context.Context, q bus.ToolConfirmationRequest) (bus.ToolConfirmationResponse, bool) {
	offered := repliesOf(q.Outcomes)
	r := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	t.lines.discard(t.tty)
	for {
		t.say("%s", renderKeys(offered, t.colour))
		line, err := t.lines.read(ctx)
		if ctx.Err() != nil {
			return r, false
		}
		c, known := replyFor(offered, line)
		switch {
		case !known && err != nil:
			return r, true
		case !known:
			continue
		}
		if c.outcome == bus.ModifyWithEditor {
			content, err := t.modified(ctx, q)
			if ctx.Err() != nil {
				return r, false
			}
			if err != nil {
				t.say("%s\n", printable(sentence(err.Error())))
				t.lines.discard(t.tty)
				continue
			}
			r.Payload.NewContent = &content
		}
		r.Outcome, r.Confirmed = c.outcome, c.outcome != bus.Cancel
		return r, true
	}
}

// modified lets the person edit the proposed content.
func (t *terminal) modified(ctx context.Context, q bus.ToolConfirmationRequest) (string, error) {
	details := q.Details.EditDetails
	if details == nil {
		return "", errors.New("there is no content to edit")
	}
	content, err := t.edit(ctx, details.FileName, details.NewContent)
	if err == nil && content == details.NewContent {
		err = errors.New("nothing was changed in the editor")
	}
	return content, err
}
