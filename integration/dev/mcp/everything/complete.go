package main

import (
	"context"
	"strings"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
)

// complete suggests values for arguments.
func complete(_ context.Context, c mcpservice.Completion) ([]string, error) {
	var values []string
	switch {
	case c.Prompt == "test_prompt_with_arguments" && c.Argument == "arg1":
		values = []string{"paris", "park", "party", "test", "testing"}
	case c.Prompt == "test_prompt_with_embedded_resource" && c.Argument == "resourceUri":
		values = []string{binaryURI, textURI, watchedURI}
	case c.Template == templatePrefix+"{id}"+templateSuffix && c.Argument == "id":
		values = []string{"1", "2", "3"}
	}
	fitting := []string{}
	for _, v := range values {
		if strings.HasPrefix(v, c.Value) {
			fitting = append(fitting, v)
		}
	}
	return fitting, nil
}
