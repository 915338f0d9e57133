package genai_test

import (
	"context"
	"fmt"
	"os"

	sdk "google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/adapters/genai"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// code: loop
// work runs a prompt on a model with the tools of a session, until the model stops calling them.
func work(ctx context.Context, client *sdk.Client, name string, c *config.Config, prompt string) (string, error) {
	toolset := genai.Toolset{Config: c}
	history := []*sdk.Content{sdk.NewContentFromText(prompt, sdk.RoleUser)}
	for {
		tools, err := toolset.Tools()
		if err != nil {
			return "", err
		}
		response, err := client.Models.GenerateContent(ctx, name, history, &sdk.GenerateContentConfig{Tools: tools})
		if err != nil {
			return "", err
		}
		calls := response.FunctionCalls()
		if len(calls) == 0 {
			return response.Text(), nil
		}
		answers, err := toolset.Answer(ctx, calls)
		if err != nil {
			return "", err
		}
		history = append(history, response.Candidates[0].Content, answers)
	}
}

// code: end

// A complete agent: the model reads a file and changes it. Another program has saved
// the file in between, so that the first attempt is refused, with the current file.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-genai-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	story := adaptertest.Story{Dir: dir}
	if err := story.Begin(); err != nil {
		panic(err)
	}
	ctx := context.Background()
	client, closeServer := connect(ctx, story) // of a test server
	defer closeServer()

	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	text, err := work(ctx, client, "gemini-3-pro", c, "Make the greeting one for the evening.")
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
