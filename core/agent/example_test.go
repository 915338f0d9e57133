package agent_test

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

// A prompt runs with any model; this one plays a script.
func Example() {
	lines, err := script.Parse("hello.json", []byte(`{"turns": [{"text": "Hello, world."}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := agent.New(agent.Options{
		Source: model.Always(script.New(lines, script.Options{})),
		Model:  func() string { return "script:hello.json" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event := range client.Run(context.Background(), model.TextPart("Say hello.")) {
		switch {
		case event.Type == agent.EventText:
			fmt.Print(event.Text)
		case event.Err != nil:
			fmt.Println(event.Err.Line())
		}
	}
	// Output: Hello, world.
}
