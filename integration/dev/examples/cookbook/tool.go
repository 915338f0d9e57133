// Package cookbook holds the programs of docs/cookbook.md. Each file has one purpose.
package cookbook

// code: tool
import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

type reverseParams struct {
	Text string `json:"text" jsonschema_description:"Text to reverse."`
}

// callOwnTool runs one call of an own tool, with checked arguments and policy.
func callOwnTool(ctx context.Context, dir, args string) (scheduler.Response, error) {
	reverse, err := tools.Define("reverse", "Reverses a text.", tools.KindThink,
		func(_ context.Context, p reverseParams) (tools.Result, error) {
			r := []rune(p.Text)
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
				r[i], r[j] = r[j], r[i]
			}
			return tools.Result{LLMContent: tools.Text(string(r))}, nil
		})
	if err != nil {
		return scheduler.Response{}, err
	}
	c, err := config.New(config.Parameters{TargetDir: dir, Tools: config.Tools{Own: []tools.DeclarativeTool{reverse}}})
	if err != nil {
		return scheduler.Response{}, err
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		return scheduler.Response{}, err
	}
	calls, err := c.Scheduler()
	if err != nil {
		return scheduler.Response{}, err
	}
	return calls.Run(ctx, scheduler.Request{CallID: "1", Tool: "reverse", Args: json.RawMessage(args)}), nil
}

// code: end
