package tooltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// recorder is a testing.TB that keeps failures instead of failing the test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// failuresOf runs the checks and returns the reported failures.
func failuresOf(t *testing.T, tool tools.DeclarativeTool, c tooltest.Cases) string {
	t.Helper()
	r := &recorder{TB: t}
	tooltest.Run(r, tool, c)
	return strings.Join(r.failures, "\n")
}

type echoParams struct {
	Text  string `json:"text" jsonschema_description:"What to say."`
	Times int    `json:"times,omitempty" jsonschema:"minimum=1,maximum=9" jsonschema_description:"How often."`
}

func echo(_ context.Context, p echoParams) (tools.Result, error) {
	return tools.Result{LLMContent: tools.Text(strings.Repeat(p.Text, max(1, p.Times)))}, nil
}

func define[P any](t *testing.T, kind tools.Kind, run func(context.Context, P) (tools.Result, error), opts ...tools.Option) tools.DeclarativeTool {
	t.Helper()
	tool, err := tools.Define("sample", "Does something.", kind, run, opts...)
	require.NoError(t, err)
	return tool
}

func args(texts ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		list[i] = json.RawMessage(text)
	}
	return list
}

var examples = args(`{"text":"a"}`, `{"text":"b","times":3}`)
