package eino_test

import (
	"context"
	"fmt"
	"os"

	"github.com/cloudwego/eino/adk"
	einomodel "github.com/cloudwego/eino/components/model"

	"github.com/fettle-dev/fettle/core/adapters/eino"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// code: agent
// newAgent returns an agent with the tools of a session.
func newAgent(ctx context.Context, c *config.Config, m einomodel.ToolCallingChatModel) (adk.Agent, error) {
	node, err := eino.Toolset{Config: c, Interrupts: true}.Node()
	if err != nil {
		return nil, err
	}
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "editor", Description: "Edits files.", Model: m, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: node},
	})
}

// code: end

// A complete agent: the model reads a file and changes it. Another program has saved
// the file in between, so that the first attempt is refused, with the current file.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-eino-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	story := adaptertest.Story{Dir: dir}
	if err := story.Begin(); err != nil {
		panic(err)
	}
	ctx := context.Background()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		panic(err)
	}
	agent, err := newAgent(ctx, c, actor{next: story.Next})
	if err != nil {
		panic(err)
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Make the greeting one for the evening.")
	for event, more := events.Next(); more; event, more = events.Next() {
		if event.Err != nil {
			panic(event.Err)
		}
		if m, err := event.Output.MessageOutput.GetMessage(); err == nil && m.Role == "assistant" && m.Content != "" {
			fmt.Println(m.Content)
		}
	}
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
