package cookbook

// code: events
import (
	"context"
	"encoding/json"
	"io"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// line is an event for a client.
type line struct {
	Type  agent.EventType     `json:"type"`
	Text  string              `json:"text,omitempty"`
	Call  *model.FunctionCall `json:"call,omitempty"`
	Error error               `json:"error,omitempty"`
}

// streamEvents runs a prompt and writes each event as a line of JSON.
func streamEvents(ctx context.Context, c *config.Config, prompt string, out io.Writer) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for e := range client.Run(ctx, model.TextPart(prompt)) {
		l := line{Type: e.Type, Text: e.Text, Call: e.Call}
		if e.Err != nil { // an interface with a nil pointer would not be omitted
			l.Error = e.Err
		}
		if err := lines.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// code: end
