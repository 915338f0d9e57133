package gemini_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/gemini"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
)

// Any response of a server is either one whose calls can be answered, or a *model.Error.
func FuzzStream(f *testing.F) {
	f.Add(stream)
	for _, s := range []string{
		"", "data: [DONE]\n\n", `data: {"candidates":[null]}`, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"args":5}}]},"finishReason":"STOP"}]}`,
		`data: {"promptFeedback":{"blockReason":5}}`, `data: {"error":{"code":"x","details":[{"retryDelay":"x","violations":[{}]}]}}`, `data: {"error":5}`, `[{"error":{}}]`, `data: {"usageMetadata":5}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		g, err := gemini.New(gemini.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(body)}}})
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
