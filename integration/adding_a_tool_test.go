package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// code: count-words
// countWordsParams are the arguments; their tags give the schema.
type countWordsParams struct {
	Text   string `json:"text" jsonschema_description:"Text to count the words of."`
	Unique bool   `json:"unique,omitempty" jsonschema_description:"Count a word that comes twice only once."`
}

func newCountWords() (tools.DeclarativeTool, error) {
	return tools.Define("count_words", "Counts the words of a text.", tools.KindThink, countWords,
		tools.WithSpec(func(s *tools.Spec) { s.DisplayName = "CountWords" }), tools.WithParallel())
}

func countWords(_ context.Context, p countWordsParams) (tools.Result, error) {
	words := strings.Fields(p.Text)
	if p.Unique {
		slices.Sort(words)
		words = slices.Compact(words)
	}
	content, err := tools.JSON(map[string]int{"words": len(words)})
	display := fmt.Sprintf("%d words", len(words))
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

// code: end

// code: count-words-test
func TestCountWords(t *testing.T) {
	tool, err := newCountWords()
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, tool, tooltest.Cases{
		Examples: []json.RawMessage{
			json.RawMessage(`{"text": "to be or not to be"}`),
			json.RawMessage(`{"text": "to be or not to be", "unique": true}`),
		},
		Bad: []json.RawMessage{json.RawMessage(`{"text": ["to", "be"]}`)},
	})
}

// code: end
