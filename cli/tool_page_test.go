package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

var pageSpec = tools.Spec{
	Name: "note_todos", Aliases: []string{"todos"}, GovernedBy: []string{"edit"}, Description: "Notes *all* <todos>.\nAnd | more.", Kind: tools.KindOther,
	Effects: []tools.Effect{tools.EffectNetwork, tools.EffectAskPerson}, StreamsOutput: true, OutputIsMarkdown: true, Parallel: true,
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

const wantPage = `# note_todos

` + generated + `

Notes \*all\* \<todos>.
And | more.

| | |
|---|---|
| display name | note_todos |
| also called | todos |
| kind | other |
| without a rule | asked about |
| effects | network, ask_person |
| governed by | edit: what denies or asks about that holds for this tool too |
| side by side | calls may run at once |
| live output | shown while the call runs |
| display | Markdown |

## Parameters

| parameter | type | required | default | description |
|---|---|---|---|---|
` + "| `todos` | array of object, 1 to 4 items | yes |  | The list \\| all of it. |\n" +
	"| `todos[].status` | string, one of \"open\" \"done\" | yes |  |  |\n" +
	"| `todos[].text` | string, at least 1 character, matches ^a\\|b\\*$ |  |  | Default: none of its own. Say more. |\n" +
	"| `tags` | array of array of string |  |  |  |\n" +
	"| `where` | object |  |  |  |\n" +
	"| `where.line` | integer, at least 1 |  | 5 | Where. |\n" +
	"| `most` | number, at most 2.5 |  | 1 | How many. |\n" +
	"| `anything` | any |  |  |  |\n"

func TestToolPage(t *testing.T) {
	page, err := ToolPage(pageSpec)
	require.NoError(t, err)
	require.Equal(t, wantPage, page)

	page, err = ToolPage(tools.Spec{Name: "x", Kind: tools.KindEdit, Schema: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	require.Contains(t, page, "| without a rule | asked about; not run in plan mode |\n| side by side | one call at a time |\n\n## Parameters\n\nNone.\n")

	page, err = ToolPage(tools.Spec{Name: "exit_plan_mode", Kind: tools.KindOther, Schema: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.Contains(t, page, "| without a rule | asked about |\n| declared | in the approval mode plan |\n")

	_, err = ToolPage(tools.Spec{Name: "x", Schema: json.RawMessage(`{"properties":{"a":1}}`)})
	require.Error(t, err)
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

func TestToolIndex(t *testing.T) {
	index := ToolIndex([]tools.Spec{pageSpec, {Name: "write_todos", Kind: tools.KindThink, Description: "Todos."}})
	require.Contains(t, index, "\n| [note_todos](note_todos.md) | other | Notes \\*all\\* \\<todos>. |  |\n")
	require.Contains(t, index, "| Todos. | registered unless the setting useWriteTodos is false |\n")
}
