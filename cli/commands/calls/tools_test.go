package calls

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

var pageSpec = tools.Spec{
	Name: "note_todos", Aliases: []string{"todos"}, GovernedBy: []string{"edit"}, Description: "Notes *all* <todos>.\nAnd | more.", Kind: tools.KindOther,
	Effects: []tools.Effect{tools.EffectNetwork, tools.EffectAskUser}, StreamsOutput: true, OutputIsMarkdown: true, Parallel: true,
	Schema: json.RawMessage(`{"type":"object","required":["todos"],"properties":{
		"todos":{"type":"array","minItems":1,"maxItems":4,"description":"The list | all of it.","items":{"type":"object","required":["status"],"properties":{
			"status":{"type":"string","enum":["open","done"]},
			"text":{"type":"string","minLength":1,"pattern":"^a|b*$","description":"Default: none of its own. Say more."}}}},
		"tags":{"type":"array","items":{"type":"array","items":{"type":"string"}}},
		"where":{"type":"object","properties":{"line":{"type":"integer","minimum":1,"default":5,"description":"Where. Default: 7."}}},
		"most":{"type":"number","maximum":2.5,"description":"How many. Default: 1."},
		"anything":{}
	}}`),
}

func TestToolText(t *testing.T) {
	text, err := toolText(pageSpec, 20, false)
	require.NoError(t, err)
	require.Contains(t, text, `note_todos
  display name:    note_todos
  also called:     todos
`)
	require.Contains(t, text, `
Notes *all* <todos>.
And | more.

Parameters:
  todos  array of object, required, 1 to 4 items
      The list | all
      of it.
  todos[].status  string, required, one of "open" "done"
`)
	require.Contains(t, text, "\nAs JSON schema:\n{\n  \"type\": \"object\",\n")
	text, err = toolText(tools.Spec{Name: "x", Schema: json.RawMessage(`{}`)}, 80, false)
	require.NoError(t, err)
	require.Contains(t, text, "\nParameters: none\n\nAs JSON schema:\n{}\n")
}
