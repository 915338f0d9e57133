package bus_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// A complete front end: it shows the question, and answers it.
func Example() {
	ctx := context.Background()
	b := bus.New(bus.Options{})
	defer func() { _ = b.Close() }()

	bus.Subscribe(ctx, b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		fmt.Println(q.Details.Title, "-", q.Decision.Reason)
		answer := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true, Outcome: bus.ProceedOnce}
		if err := b.Publish(answer); err != nil {
			fmt.Println("too late:", err)
		}
	})

	// The core asks.
	answer, err := bus.Ask(ctx, b, bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "run_shell_command", Args: []byte(`{"command":"make"}`)},
		Details:  bus.Confirmation{Type: confirmation.Exec, Title: "Run make?", ExecDetails: &confirmation.ExecDetails{Command: "make"}},
		Decision: confirmation.Explanation{Decision: "ask_user", Reason: "It makes changes."},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
	})
	fmt.Println(answer.Outcome, err)
	// Output:
	// Run make? - It makes changes.
	// proceed_once <nil>
}

// A front end in another process needs no Go: messages cross as JSON in both directions.
func ExampleMarshal() {
	data, err := bus.Marshal(bus.ToolOutput{CallID: "call-1", Chunk: "a < b\n"})
	fmt.Println(string(data), err)

	m, err := bus.Unmarshal([]byte(`{"type":"tool-confirmation-response","correlationId":"9f2c","confirmed":false,"outcome":"cancel"}`))
	fmt.Println(m.(bus.ToolConfirmationResponse).Outcome, err)
	// Output:
	// {"type":"tool-output","callId":"call-1","chunk":"a < b\n"} <nil>
	// cancel <nil>
}

// Without a subscriber, a question ends at once.
func ExampleAsk() {
	b := bus.New(bus.Options{})
	_, err := bus.Ask(context.Background(), b, bus.AskUserRequest{
		Questions: []bus.UserQuestion{{Question: "Which database?", Header: "Database", Type: bus.QuestionText}},
	})
	fmt.Println(errors.Is(err, bus.ErrNoApprover))
	// Output: true
}

// A dialog closes when its question ends, whichever front end answered it.
func ExampleSubscribe() {
	ctx := context.Background()
	b := bus.New(bus.Options{})
	defer func() { _ = b.Close() }()

	shown := make(chan string)
	closed := make(chan error)
	bus.Subscribe(ctx, b, func(ctx context.Context, q bus.ToolConfirmationRequest) {
		shown <- q.CorrelationID
		<-ctx.Done() // or a key press
		closed <- context.Cause(ctx)
	})
	go func() { _, _ = bus.Ask(ctx, b, bus.ToolConfirmationRequest{}) }()

	// Meanwhile a second front end answers, and then a third.
	id := <-shown
	fmt.Println(b.Publish(bus.ToolConfirmationResponse{CorrelationID: id, Outcome: bus.Cancel}))
	fmt.Println(b.Publish(bus.ToolConfirmationResponse{CorrelationID: id, Confirmed: true}))
	fmt.Println(<-closed)
	// Output:
	// <nil>
	// bus: the question has been answered already
	// bus: the question has been answered already
}
