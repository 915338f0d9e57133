package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// ListBackgroundParams are the parameters of list_background_processes: none.
type ListBackgroundParams struct{}

func newListBackground() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ListBackgroundParams]{
		Spec: tools.Spec{
			Name: ListBackground, DisplayName: "List Background Processes",
			Description: "Lists the background processes of this session.",
			Kind:        tools.KindRead, Parallel: true,
		},
		Build: func(s Services, _ ListBackgroundParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &listBackground{s, params}, nil
		},
	})
}

type listBackground struct {
	services Services
	params   json.RawMessage
}

func (c *listBackground) Params() json.RawMessage { return c.params }

func (c *listBackground) Description() string { return "List background processes" }

func (c *listBackground) Locations() []tools.Location { return nil }

func (c *listBackground) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *listBackground) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Fail(failed(ctx, "shell.list", err)), nil
	}
	list := c.services.Reader.List()
	if len(list) == 0 {
		const none = "There are no background processes."
		return tools.Result{LLMContent: tools.Text(none), ReturnDisplay: tools.TextDisplay(none)}, nil
	}
	lines := make([]string, len(list))
	for i, p := range list {
		lines[i] = "- " + state(p)
		if p.Unread > 0 {
			lines[i] += fmt.Sprintf(" (%d bytes unread)", p.Unread)
		}
	}
	text := strings.Join(lines, "\n")
	return tools.Result{LLMContent: tools.Text(text), ReturnDisplay: tools.TextDisplay(text)}, nil
}
