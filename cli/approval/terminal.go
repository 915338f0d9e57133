package approval

import (
	"context"
	"errors"
	"io"
	"math"
	"os"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// Terminal is a person at a terminal who is asked.
type Terminal struct {
	Lines   *lineReader
	Tty     *os.File // the terminal that lines come from; nil: it is none
	Screen  *display.Screen
	colour  bool
	Columns func() int // how many characters of prose go into a line
	Room    func() int // the same where the terminal tells its size, else any number
	edit    func(ctx context.Context, name, content string) (string, error)

	Asking chan struct{} // holds one: a question is being asked
}

// NewTerminal returns a user who answers on in what is asked on a screen.
func NewTerminal(in io.Reader, on *display.Screen, colour bool) *Terminal {
	t := &Terminal{Lines: newLineReader(in), Screen: on, colour: colour, Asking: make(chan struct{}, 1)}
	t.Columns = func() int { return display.UsualColumns }
	t.Room = func() int { return math.MaxInt }
	t.edit = t.InEditor
	return t
}

// Attach subscribes the person to the questions of a bus; they come one at a
// time. The function that ends it returns once nobody is asked any more.
func (t *Terminal) Attach(ctx context.Context, b *bus.MessageBus) (detach func()) {
	subscriptions := []*bus.Subscription{
		hear(ctx, t, b, t.answer),
		hear(ctx, t, b, t.answerAll),
		bus.Subscribe(ctx, b, func(_ context.Context, u bus.UpdatePolicy) {
			t.Screen.Say("Remembered: %s\n", Remembered(u))
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
func hear[Q asked](ctx context.Context, t *Terminal, b *bus.MessageBus, ask func(context.Context, *bus.MessageBus, Q) bool) *bus.Subscription {
	var s *bus.Subscription
	subscribed := make(chan struct{})
	s = bus.Subscribe(ctx, b, func(ctx context.Context, q Q) {
		select {
		case t.Asking <- struct{}{}:
			defer func() { <-t.Asking }()
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
func (t *Terminal) answer(ctx context.Context, b *bus.MessageBus, q bus.ToolConfirmationRequest) (shown bool) {
	if !t.Screen.Say("%s", renderQuestion(q, t.Room(), t.colour)) {
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
func (t *Terminal) ended(ctx context.Context) {
	if errors.Is(context.Cause(ctx), bus.ErrAnswered) {
		t.Screen.Say("\nAnswered elsewhere.\n")
		return
	}
	t.Screen.Say("\n") // what follows begins on a line of its own
}

// publish hands an answer over, and tells the person where it comes too late.
func (t *Terminal) publish(b *bus.MessageBus, answer bus.Answer) {
	switch err := b.Publish(answer); {
	case errors.Is(err, bus.ErrAnswered):
		t.Screen.Say("This was answered elsewhere before; your answer does not count.\n")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		t.Screen.Say("The call has ended meanwhile; your answer does not count.\n")
	case err != nil:
		t.Screen.Say("Your answer did not arrive: %s\n", display.Line(err.Error()))
	}
}

// choose reads keys until one stands for an answer. What was typed before all
// of the question was shown does not count. Enter alone, and the end of input,
// are a no. Words behind a no go along.
func (t *Terminal) choose(ctx context.Context, q bus.ToolConfirmationRequest) (bus.ToolConfirmationResponse, bool) {
	offered := Replies(q.Outcomes)
	r := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	t.Lines.discard(t.Tty)
	for {
		t.Screen.Say("%s", display.Fold(renderKeys(offered, t.colour), "", t.Room()))
		line, err := t.Lines.Read(ctx)
		if ctx.Err() != nil {
			return r, false
		}
		c, feedback, known := replyFor(offered, line)
		switch {
		case !known && err != nil:
			return r, true
		case !known:
			t.Screen.Say("%s\n", whichKeys(offered))
			t.Lines.discard(t.Tty)
			continue
		}
		r.Payload.Feedback = feedback
		if c.Outcome == bus.ModifyWithEditor {
			content, err := t.modified(ctx, q)
			if ctx.Err() != nil {
				return r, false
			}
			if err != nil {
				t.Screen.Say("%s\n", display.Printable(display.Sentence(err.Error())))
				t.Lines.discard(t.Tty)
				continue
			}
			r.Payload.NewContent = &content
		}
		r.Outcome, r.Confirmed = c.Outcome, c.Outcome != bus.Cancel
		return r, true
	}
}

// modified lets the person edit the proposed content.
func (t *Terminal) modified(ctx context.Context, q bus.ToolConfirmationRequest) (string, error) {
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
