package adk_test

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	adkmodel "google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/adapters/adk"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// code: toolset
// newRunner returns a runner for an agent with the tools of a session.
func newRunner(c *config.Config, m adkmodel.LLM) (*runner.Runner, error) {
	editor, err := llmagent.New(llmagent.Config{
		Name: "editor", Description: "Edits files.", Model: m, Toolsets: []tool.Toolset{adk.New(c, adk.Options{})},
	})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: "editor", Agent: editor, SessionService: session.InMemoryService(), AutoCreateSession: true})
}

// send sends a message to the agent, whose calls run in the model's order, and
// passes each event to handle.
func send(ctx context.Context, r *runner.Runner, message *genai.Content, handle func(*session.Event)) error {
	for event, err := range r.Run(adk.InOrder(ctx), "user", "session", message, agent.RunConfig{}) {
		if err != nil {
			return err
		}
		handle(event)
	}
	return nil
}

// code: end

// A complete agent: the model reads a file and changes it. Another program has saved
// the file in between, so that the first attempt is refused, with the current file.
func Example() {
	dir, err := os.MkdirTemp("", "fettle-adk-")
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
	r, err := newRunner(c, actor{next: story.Next})
	if err != nil {
		panic(err)
	}
	err = send(ctx, r, genai.NewContentFromText("Make the greeting one for the evening.", genai.RoleUser), func(e *session.Event) {
		if e.IsFinalResponse() {
			fmt.Println(e.Content.Parts[0].Text)
		}
	})
	if err != nil {
		panic(err)
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
