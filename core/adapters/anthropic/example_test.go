package anthropic_test

import (
	"context"
	"fmt"
	"os"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/fettle-dev/fettle/core/adapters/anthropic"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// code: loop
// work runs a prompt on a model with the tools of a session, until the model stops calling them.
func work(ctx context.Context, client *sdk.Client, name string, c *config.Config, prompt string) (string, error) {
	toolset := anthropic.Toolset{Config: c}
	messages := []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock(prompt))}
	for {
		tools, err := toolset.Tools()
		if err != nil {
			return "", err
		}
		answer, err := client.Messages.New(ctx, sdk.MessageNewParams{Model: name, MaxTokens: 8192, Messages: messages, Tools: tools})
		if err != nil {
			return "", err
		}
		answers, err := toolset.Answer(ctx, answer.Content)
		if err != nil {
			return "", err
		}
		if len(answers) == 0 {
			return answer.Content[len(answer.Content)-1].Text, nil
		}
		messages = append(messages, answer.ToParam(), sdk.NewUserMessage(answers...))
	}
}

// code: end

// A complete agent: the model reads a file and changes it. Another program has saved
// the file in between, so that the first attempt is refused, with the current file.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-anthropic-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	story := adaptertest.Story{Dir: dir}
	if err := story.Begin(); err != nil {
		panic(err)
	}
	client, closeServer := connect(story) // of a test server
	defer closeServer()

	ctx := context.Background()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	text, err := work(ctx, client, "claude-sonnet-4-5", c, "Make the greeting one for the evening.")
	if err != nil {
		panic(err)
	}
	fmt.Println(text)
	file, err := story.File()
	if err != nil {
		panic(err)
	}
	fmt.Print(file)
	// Output:
	// done, version 1; file_changed_since_read, version 2; done, version 3
	// Good evening
	// world
	// and you
}
