package agent_test

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// A prompt is run with any model; here with one that always says the same.
func Example() {
	client, err := agent.New(agent.Options{
		Source: model.Always(inOrder(says("Hello, ", "world."))),
		Model:  func() string { return "fake:greeter" },
	})
	if err != nil {
		panic(err)
	}
	for event := range client.Run(context.Background(), model.TextPart("Say hello.")) {
		if event.Type == agent.EventText {
			fmt.Print(event.Text)
		}
		if event.Err != nil {
			fmt.Println(event.Err.Line())
		}
	}
	// Output: Hello, world.
}
