// Package openai provides the tools of a session to a program with its own agent loop
// that uses OpenAI's models, or compatible servers, through
// github.com/openai/openai-go: [Chat] for the Chat Completions API, [Responses] for
// the Responses API.
package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// declared returns a session's tools with the raw members of each schema, so that
// numbers keep their digits.
func declared(c *config.Config) ([]model.Tool, []map[string]any, error) {
	list, err := c.Declarations(model.DialectOpenAI)
	if err != nil {
		return nil, nil, err
	}
	schemas := make([]map[string]any, len(list))
	for i, d := range list {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(d.Parameters, &keys); err != nil {
			return nil, nil, fmt.Errorf("read the schema of %s: %w", d.Name, err)
		}
		schemas[i] = make(map[string]any, len(keys))
		for key, value := range keys {
			schemas[i][key] = value
		}
	}
	return list, schemas, nil
}

// run runs calls, if there are any.
func run(ctx context.Context, c *config.Config, calls []model.FunctionCall) ([]model.FunctionResponse, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	answers, _, err := c.RunCalls(ctx, calls)
	return answers, err
}

// picture returns an image as a URL, "" for data of another type, with a text that
// describes it.
func picture(d model.Data) (url, text string) {
	if strings.HasPrefix(d.MIMEType, "image/") {
		return "data:" + d.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(d.Bytes), ""
	}
	return "", fmt.Sprintf("[data of type %s, %d bytes, which cannot be shown to this model]", d.MIMEType, len(d.Bytes))
}
