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

// Terminal asks the user at a terminal for approvals and answers.
type Terminal struct {
	Lines   *lineReader
	Tty     *os.File // the terminal that lines are read from; nil: not a terminal
	Screen  *display.Screen
	colour  bool
	Columns func() int // characters per line of prose
	Bell    bool       // rings before a question
	Room    func() int // the same if the terminal reports its size, otherwise unlimited
	SavedIn string     // the file of saved approvals, as displayed; "": unknown
	edit    func(ctx context.Context, name, content string) (string, error)

	Asking chan struct{} // capacity 1: a request is being shown
}

// NewTerminal returns a Terminal that reads from in and writes to a screen.
func NewTerminal(in io.Reader, on *display.Screen, colour bool) *Terminal {
	t := &Terminal{Lines: newLineReader(in), Screen: on, colour: colour, Asking: make(chan struct{}, 1)}
	t.Columns = func() int { return display.UsualColumns }
	t.Room = func() int { return math.MaxInt }
	t.edit = t.InEditor
	return t
}

// Attach subscribes to the requests of a bus and shows them one at a time. detach
// returns once no request is shown.
func (t *Terminal) Attach(ctx context.Context, b *bus.MessageBus) (detach func()) {
	subscriptions := []*bus.Subscription{
		hear(ctx, t, b, t.answer),
		hear(ctx, t, b, t.answerAll),
		bus.Subscribe(ctx, b, func(_ context.Context, u bus.UpdatePolicy) {
			t.Screen.Printf("Remembered: %s\n", Remembered(u))
		}),
	}
	return func() {
		for _, s := range subscriptions {
			s.Unsubscribe()
			<-s.Done()
		}
	}
}

// asked is a request on a bus.
type asked interface {
	bus.Message
	Correlation() string
}

// hear subscribes to the requests of one type. ask shows one request while no other
// is shown, and reports whether it could be shown.
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

// answer shows an approval request and publishes the answer. A request that ends
// meanwhile gets none. It reports whether the request could be shown; if not, there
// is no answer either.
func (t *Terminal) answer(ctx context.Context, b *bus.MessageBus, q bus.ToolConfirmationRequest) (shown bool) {
	t.ring()
	if !t.Screen.Printf("%s", renderQuestion(q, t.SavedIn, t.Room(), t.colour)) {
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

// ring rings the bell of the terminal.
func (t *Terminal) ring() {
	if t.Bell {
		t.Screen.Printf("\a")
	}
}

// ended closes a request that ended without an answer of this user.
func (t *Terminal) ended(ctx context.Context) {
	if errors.Is(context.Cause(ctx), bus.ErrAnswered) {
		t.Screen.Printf("\nAnother approver has answered.\n")
		return
	}
	t.Screen.Printf("\n") // the next text starts a new line
}

// publish publishes an answer, and reports if it is too late.
func (t *Terminal) publish(b *bus.MessageBus, answer bus.Answer) {
	switch err := b.Publish(answer); {
	case errors.Is(err, bus.ErrAnswered):
		t.Screen.Printf("Another approver has already answered; your answer has no effect.\n")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		t.Screen.Printf("The call has ended; your answer has no effect.\n")
	case err != nil:
		t.Screen.Printf("Your answer was not delivered: %s\n", display.Line(err.Error()))
	}
}

// choose reads lines until one is an answer. Text typed before the request was shown
// completely does not count. Enter alone and the end of input are a no. A no may
// carry a comment.
func (t *Terminal) choose(ctx context.Context, q bus.ToolConfirmationRequest) (bus.ToolConfirmationResponse, bool) {
	offered := Replies(q.Outcomes)
	r := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	t.Lines.discard(t.Tty)
	for {
		t.Screen.Prompt(ctx, display.Fold(renderKeys(offered, t.colour), "", t.Room()))
		line, err := t.Lines.Read(ctx)
		t.Screen.Answered()
		if ctx.Err() != nil {
			return r, false
		}
		c, feedback, known := replyFor(offered, line)
		switch {
		case !known && err != nil:
			return r, true
		case !known:
			t.Screen.Printf("%s\n", whichKeys(offered))
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
				t.Screen.Printf("%s\n", display.Printable(display.Sentence(err.Error())))
				t.Lines.discard(t.Tty)
				continue
			}
			r.Payload.NewContent = &content
		}
		r.Outcome, r.Confirmed = c.Outcome, c.Outcome != bus.Cancel
		return r, true
	}
}

// modified opens the proposed content in the user's editor.
func (t *Terminal) modified(ctx context.Context, q bus.ToolConfirmationRequest) (string, error) {
	details := q.Details.EditDetails
	if details == nil {
		return "", errors.New("no content to edit")
	}
	content, err := t.edit(ctx, details.FileName, details.NewContent)
	if err == nil && content == details.NewContent {
		err = errors.New("no change was made in the editor")
	}
	return content, err
}
