package bus_test

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/bus"
)

// A whole front end: it shows the question, and answers it.
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
		Details:  bus.Confirmation{Type: bus.ConfirmExec, Title: "Run make?", ExecDetails: &bus.ExecDetails{Command: "make"}},
		Decision: bus.Explanation{Decision: "ask_user", Reason: "It makes changes."},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
	})
	fmt.Println(answer.Outcome, err)
	// Output:
	// Run make? - It makes changes.
	// proceed_once <nil>
}
