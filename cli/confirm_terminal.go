package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"os"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/core/bus"
)

// terminal is a person at a terminal who is asked.
type terminal struct {
	lines   *lineReader
	tty     *os.File // the terminal that lines come from; nil: it is none
	screen  *screen
	colour  bool
	columns func() int // how many characters of prose go into a line
	room    func() int // the same where the terminal tells its size, else any number
	edit    func(ctx context.Context, name, content string) (string, error)

	asking chan struct{} // holds one: a question is being asked
}

func newTerminal(in io.Reader, on *screen, colour bool) *terminal {
	t := &terminal{lines: newLineReader(in), screen: on, colour: colour, asking: make(chan struct{}, 1)}
	t.columns = func() int { return usualColumns }
	t.room = func() int { return math.MaxInt }
	t.edit = t.inEditor
	return t
}

// attach subscribes the person to the questions of a bus; they come one at a
// time. The function that ends it returns once nobody is asked any more.
func (t *terminal) attach(ctx context.Context, b *bus.MessageBus) (detach func()) {
	subscriptions := []*bus.Subscription{
		hear(ctx, t, b, t.answer),
		hear(ctx, t, b, t.answerAll),
		bus.Subscribe(ctx, b, func(_ context.Context, u bus.UpdatePolicy) {
			t.screen.say("Remembered: %s\n", approval.Remembered(u))
		}),
	}
	return func() {
		for _, s := range subscriptions {
			s.Unsubscribe()
			<-s.Done()
		}
	}
}

// asked is a question on a bus.
type asked interface {
	bus.Message
	Correlation() string
}

// hear subscribes a person to the questions of one type. ask puts one to the
// person, when no other is, and reports whether it could be shown.
func hear[Q asked](ctx context.Context, t *terminal, b *bus.MessageBus, ask func(context.Context, *bus.MessageBus, Q) bool) *bus.Subscription {
	var s *bus.Subscription
	subscribed := make(chan struct{})
	s = bus.Subscribe(ctx, b, func(ctx context.Context, q Q) {
		select {
		case t.asking <- struct{}{}:
			defer func() { <-t.asking }()
		case <-ctx.Done():
			return
		}
		if ctx.Err() == nil && !ask(ctx, b, q) {
			<-subscribed
			s.Decline(q.Correlation())
		}
	})
	close(subscribed)
	return s
}

// answer puts a question to the person and publishes what the person says. A
// question that ends meanwhile gets none. It reports whether the question could
// be shown; if not, there is no answer either.
func (t *terminal) answer(ctx context.Context, b *bus.MessageBus, q bus.ToolConfirmationRequest) (shown bool) {
	if !t.screen.say("%s", renderQuestion(q, t.room(), t.colour)) {
		return false
	}
	response, ok := t.choose(ctx, q)
	if !ok {
		t.ended(ctx)
		return true
	}
	t.publish(b, response)
	return true
}

// ended leaves a question that has ended without the person's answer.
func (t *terminal) ended(ctx context.Context) {
	if errors.Is(context.Cause(ctx), bus.ErrAnswered) {
		t.screen.say("\nAnswered elsewhere.\n")
		return
	}
	t.screen.say("\n") // what follows begins on a line of its own
}

// publish hands an answer over, and tells the person where it comes too late.
func (t *terminal) publish(b *bus.MessageBus, answer bus.Answer) {
	switch err := b.Publish(answer); {
	case errors.Is(err, bus.ErrAnswered):
		t.screen.say("This was answered elsewhere before; your answer does not count.\n")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		t.screen.say("The call has ended meanwhile; your answer does not count.\n")
	case err != nil:
		t.screen.say("Your answer did not arrive: %s\n", oneLine(err.Error()))
	}
}

// choose reads keys until one stands for an answer. What was typed before all
// of the question was shown does not count. Enter alone, and the end of input,
// are a no. Words behind a no go along.
func (t *terminal) choose(ctx context.Context, q bus.ToolConfirmationRequest) (bus.ToolConfirmationResponse, bool) {
	offered := approval.Replies(q.Outcomes)
	r := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	t.lines.discard(t.tty)
	for {
		t.screen.say("%s", fold(renderKeys(offered, t.colour), "", t.room()))
		line, err := t.lines.read(ctx)
		if ctx.Err() != nil {
			return r, false
		}
		c, feedback, known := replyFor(offered, line)
		switch {
		case !known && err != nil:
			return r, true
		case !known:
			t.screen.say("%s\n", whichKeys(offered))
			t.lines.discard(t.tty)
			continue
		}
		r.Payload.Feedback = feedback
		if c.Outcome == bus.ModifyWithEditor {
			content, err := t.modified(ctx, q)
			if ctx.Err() != nil {
				return r, false
			}
			if err != nil {
				t.screen.say("%s\n", printable(sentence(err.Error())))
				t.lines.discard(t.tty)
				continue
			}
			r.Payload.NewContent = &content
		}
		r.Outcome, r.Confirmed = c.Outcome, c.Outcome != bus.Cancel
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
