package cookbook

// code: events
import (
	"context"
	"encoding/json"
	"io"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// streamEvents runs a prompt and writes each event as a line of JSON.
func streamEvents(ctx context.Context, c *config.Config, prompt string, out io.Writer) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for e := range client.Run(ctx, model.TextPart(prompt)) {
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// code: end
