package cookbook

// code: resume
import (
	"encoding/json"
	"os"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// save writes the history of a conversation to a file.
func save(client *agent.Client, file string) error {
	data, err := json.Marshal(client.History())
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// resume continues a saved conversation, in another process too.
func resume(c *config.Config, file string) (*agent.Client, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var history []model.Content
	if err := json.Unmarshal(data, &history); err != nil {
		return nil, err
	}
	return c.Converse(config.Opening{History: history})
}

// code: end
