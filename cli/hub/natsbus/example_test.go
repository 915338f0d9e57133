package natsbus_test

import (
	"context"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

// code: natsbus
// A session asks, and a front end on another connection answers.
func Example() {
	ctx := context.Background()
	s, _ := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	s.Start()
	defer s.Shutdown()
	nc, _ := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1))
	defer nc.Close()

	b := bus.New(bus.Options{}) // or the MessageBus of a Config
	bridge, _ := natsbus.Attach(ctx, nc, b, natsbus.Options{Session: "s1"})
	viewer, _ := natsbus.Watch(ctx, nc, natsbus.WatchOptions{Actor: "ann", Question: func(q *natsbus.Question) {
		fmt.Println(q.Session, "asks:", q.Message.(bus.ToolConfirmationRequest).Details.Title)
		go func() { _ = q.Answer(ctx, bus.ToolConfirmationResponse{CorrelationID: q.ID, Outcome: bus.Cancel}) }()
	}})

	answer, err := bus.Ask(ctx, b, bus.ToolConfirmationRequest{Details: bus.Confirmation{Title: "Run make?"}})
	fmt.Println(answer.Outcome, err)
	_, _ = viewer.Close(), bridge.Close()
	// Output:
	// s1 asks: Run make?
	// cancel <nil>
}

// code: end
