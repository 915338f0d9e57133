package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// promptList is the prompts, in order. It is safe for concurrent use.
type promptList struct {
	mu      *sync.Mutex
	prompts []prompt
}

// prompt is a prompt with its template function.
type prompt struct {
	mcp.Prompt
	fill func(ctx context.Context, args map[string]string) ([]host.Message, error)
}

func newPromptList() promptList {
	return promptList{mu: new(sync.Mutex), prompts: []prompt{
		{
			mcp.Prompt{Name: "test_simple_prompt", Title: "Simple prompt", Description: "A prompt without arguments."},
			func(context.Context, map[string]string) ([]host.Message, error) {
				return user(tools.Part{Text: "This is a simple prompt for testing."}), nil
			},
		},
		{
			mcp.Prompt{Name: "test_prompt_with_arguments", Title: "Prompt with arguments", Description: "A prompt that repeats its arguments.", Arguments: []mcp.PromptArgument{
				{Name: "arg1", Description: "First test argument", Required: true},
				{Name: "arg2", Description: "Second test argument", Required: true},
			}},
			func(_ context.Context, args map[string]string) ([]host.Message, error) {
				return user(tools.Part{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])}), nil
			},
		},
		{
			mcp.Prompt{Name: "test_prompt_with_embedded_resource", Title: "Prompt with a resource", Description: "A prompt with a resource.", Arguments: []mcp.PromptArgument{
				{Name: "resourceUri", Description: "URI of the resource to embed", Required: true},
			}},
			func(_ context.Context, args map[string]string) ([]host.Message, error) {
				return user(
					tools.Part{Resource: &tools.Resource{URI: args["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
					tools.Part{Text: "Please process the embedded resource above."}), nil
			},
		},
		{
			mcp.Prompt{Name: "test_prompt_with_image", Title: "Prompt with an image", Description: "A prompt with an image."},
			func(context.Context, map[string]string) ([]host.Message, error) {
				return user(
					tools.Part{InlineData: &tools.InlineData{MIMEType: "image/png", Data: redDot()}},
					tools.Part{Text: "Please analyze the image above."}), nil
			},
		},
		{ // a prompt may send requests, too
			mcp.Prompt{Name: "test_input_required_result_prompt", Title: "Prompt that asks", Description: "A prompt that asks the user for its context."},
			func(ctx context.Context, _ map[string]string) ([]host.Message, error) {
				replies, err := host.FromContext(ctx).Ask(ctx, elicit("user_context", "What context should the prompt use?",
					`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`))
				if err != nil {
					return nil, err
				}
				return user(tools.Part{Text: "Context: " + field(replies[0], "context")}), nil
			},
		},
	}}
}

// user returns a user message for each part.
func user(parts ...tools.Part) []host.Message {
	messages := make([]host.Message, len(parts))
	for i, p := range parts {
		messages[i] = host.Message{Role: host.RoleUser, Content: tools.Content{Parts: []tools.Part{p}}}
	}
	return messages
}

func (l *promptList) list(context.Context) ([]mcp.Prompt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	listed := make([]mcp.Prompt, len(l.prompts))
	for i, p := range l.prompts {
		listed[i] = p.Prompt
	}
	return listed, nil
}

func (l *promptList) fill(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
	p, ok := l.find(name)
	if !ok {
		return mcp.PromptMessages{}, fault.New(fault.InvalidToolParams, "everything.prompt",
			fmt.Sprintf("Prompt %q does not exist.", name), "List the prompts.")
	}
	for _, a := range p.Arguments {
		if _, given := args[a.Name]; a.Required && !given {
			return mcp.PromptMessages{}, fault.New(fault.InvalidToolParams, "everything.prompt",
				fmt.Sprintf("The prompt %s needs the argument %s.", name, a.Name), "Pass all of its arguments.")
		}
	}
	messages, err := p.fill(ctx, args)
	return mcp.PromptMessages{Description: p.Description, Messages: messages}, err
}

func (l *promptList) find(name string) (prompt, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.prompts, func(p prompt) bool { return p.Name == name })
	if i < 0 {
		return prompt{}, false
	}
	return l.prompts[i], true
}

// toggle adds a prompt, or removes it if present.
func (l *promptList) toggle() {
	const name = "test_transient_prompt"
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.prompts)
	l.prompts = slices.DeleteFunc(l.prompts, func(p prompt) bool { return p.Name == name })
	if len(l.prompts) < before {
		return
	}
	l.prompts = append(l.prompts, prompt{
		mcp.Prompt{Name: name, Description: "Added and removed by test_trigger_prompt_change."},
		func(context.Context, map[string]string) ([]host.Message, error) {
			return user(tools.Part{Text: "The prompt exists now."}), nil
		},
	})
}
