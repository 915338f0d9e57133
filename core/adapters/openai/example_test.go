package openai_test

import (
	"context"
	"fmt"
	"os"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/fettle-dev/fettle/core/adapters/openai"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// code: loop
// work runs a prompt on a model with the tools of a session, until the model stops calling them.
func work(ctx context.Context, client *sdk.Client, name string, c *config.Config, prompt string) (string, error) {
	toolset := openai.Chat{Config: c}
	messages := []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(prompt)}
	for {
		tools, err := toolset.Tools()
		if err != nil {
			return "", err
		}
		completion, err := client.Chat.Completions.New(ctx, sdk.ChatCompletionNewParams{Model: name, Messages: messages, Tools: tools})
		if err != nil {
			return "", err
		}
		answer := completion.Choices[0].Message
		if len(answer.ToolCalls) == 0 {
			return answer.Content, nil
		}
		answers, err := toolset.Answer(ctx, answer.ToolCalls)
		if err != nil {
			return "", err
		}
		messages = append(append(messages, answer.ToParam()), answers...)
	}
}

// code: end

// code: responses
// workByResponses does the same with the responses API, which keeps the history.
func workByResponses(ctx context.Context, client *sdk.Client, name string, c *config.Config, prompt string) (string, error) {
	toolset := openai.Responses{Config: c}
	request := responses.ResponseNewParams{Model: name}
	request.Input.OfString = sdk.String(prompt)
	for {
		var err error
		if request.Tools, err = toolset.Tools(); err != nil {
			return "", err
		}
		response, err := client.Responses.New(ctx, request)
		if err != nil {
			return "", err
		}
		answers, err := toolset.Answer(ctx, response.Output)
		if err != nil || len(answers) == 0 {
			return response.OutputText(), err
		}
		request.PreviousResponseID = sdk.String(response.ID)
		request.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: answers}
	}
}

// code: end

// A complete agent: the model reads a file and changes it. Another program has saved
// the file in between, so that the first attempt is refused, with the current file.
func Example() {
	for _, work := range []func(context.Context, *sdk.Client, string, *config.Config, string) (string, error){work, workByResponses} {
		dir, err := os.MkdirTemp("", "fettle-openai-")
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
		text, err := work(ctx, client, "gpt-5", c, "Make the greeting one for the evening.")
		if err != nil {
			panic(err)
		}
		fmt.Println(text)
		file, err := story.File()
		if err != nil {
			panic(err)
		}
		fmt.Print(file)
	}
	// Output:
	// done, version 1; file_changed_since_read, version 2; done, version 3
	// Good evening
	// world
	// and you
	// done, version 1; file_changed_since_read, version 2; done, version 3
	// Good evening
	// world
	// and you
}
