package openai_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
	"github.com/fettle-dev/fettle/core/model/openai"
)

// Any response of a server is either one whose calls can be answered, or a *model.Error.
func FuzzStream(f *testing.F) {
	f.Add(stream)
	f.Add(answerBody)
	for _, s := range []string{
		"", "data: [DONE]\n\n", `data: {"choices":[{"delta":{"tool_calls":[{"index":-1},{"index":9}]},"finish_reason":"stop"}]}`, `data: {"choices":[null]}`,
		`data: {"choices":[{"delta":{"content":{}},"error":"x"}]}`, `data: {"error":[]}`, `data: {"usage":[]}`, `data: {"error":5}`, `data: {"choices":[{"error":""}]}`,
		`data: {"choices":[{"delta":{"function_call":{"arguments":5}},"finish_reason":5}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		g, err := openai.New(openai.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(body)}}})
		require.NoError(t, err)
		r, err := model.Collect(g.Stream(t.Context(), ask("hi")))
		if err != nil {
			require.NotEmpty(t, asError(t, err).Kind)
			return
		}
		for _, c := range r.Content.Calls() {
			require.NotEmpty(t, c.ID)
		}
		_, err = g.Generate(t.Context(), ask("hi"))
		if err != nil {
			asError(t, err)
		}
	})
}
