// Program agent is the example of docs/embedding.md: a whole agent.

// code: program
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/standard"
)

func main() {
	p := config.Parameters{
		TargetDir: ".",
		Policy:    config.Policy{ApprovalMode: policy.ModeAutoEdit}, // edits of the workspace need no approval
	}
	p.Environment.Getenv = os.Getenv // has the key of a provider
	if err := work(context.Background(), p, "Explain this project in five lines.", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// work runs a prompt on a model, with all tools, until it has ended.
func work(ctx context.Context, p config.Parameters, prompt string, out io.Writer) error {
	c, err := config.New(standard.Parameters(p))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	for event := range client.Run(ctx, model.TextPart(prompt)) {
		switch {
		case event.Type == agent.EventText:
			fmt.Fprint(out, event.Text)
		case event.Type.Ends() && event.Err != nil:
			return event.Err
		}
	}
	return nil
}

// code: end
