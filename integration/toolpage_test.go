package integration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/commands/calls"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/tools"
)

// toolPage returns the page of a tool for docs/tools, in Markdown: all fields of its
// Spec. It fails if a schema is not valid JSON.
func toolPage(s tools.Spec) (string, error) {
	parameters, err := calls.ParametersIn(s.Schema)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n\n| | |\n|---|---|\n", s.Name, toolPageNote, asIs(strings.TrimSpace(s.Description)))
	for _, f := range calls.FactsOf(s) {
		fmt.Fprintf(&b, "| %s | %s |\n", f.Name, cell(f.Text))
	}
	b.WriteString("\n## Parameters\n\n")
	if len(parameters) == 0 {
		b.WriteString("None.\n")
		return b.String(), nil
	}
	b.WriteString("| parameter | type | required | default | description |\n|---|---|---|---|---|\n")
	for _, p := range parameters {
		required := ""
		if p.Required {
			required = "yes"
		}
		kind := strings.Join(append([]string{p.Kind}, p.Bounds...), ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, cell(kind), required, cell(p.DefaultsTo), cell(p.Description))
	}
	return b.String(), nil
}

// toolIndex returns the index page of the tools, in Markdown.
func toolIndex(all []tools.Spec) string {
	var b strings.Builder
	b.WriteString("# Tools\n\n" + toolPageNote + "\n\nThe built-in tools, a page for each. `fettle tools` lists those that are registered, and `fettle tools NAME` prints one.\n\n" +
		"| tool | kind | what it does | if not always, when it is there |\n|---|---|---|---|\n")
	for _, s := range all {
		var there []string
		for _, f := range calls.ExistenceOf(s.Name) {
			there = append(there, f.Name+" "+f.Text)
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", s.Name, s.Name, s.Kind, cell(display.FirstSentence(s.Description)), cell(strings.Join(there, "; ")))
	}
	return b.String()
}

const toolPageNote = "<!-- Written by a test from what the tool says of itself: go test ./integration -run TestToolPages -update -->"

// cell escapes text for a Markdown table cell.
func cell(s string) string {
	return strings.ReplaceAll(asIs(strings.Join(strings.Fields(s), " ")), "|", `\|`)
}

// asIs escapes the special characters of globs and placeholders in Markdown.
func asIs(s string) string { return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(s) }

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

const wantPage = `# note_todos

` + toolPageNote + `

Notes \*all\* \<todos>.
And | more.

| | |
|---|---|
| display name | note_todos |
| also called | todos |
| kind | other |
| without a rule | needs approval |
| effects | network, ask_person |
| governed by | edit: rules that deny or ask for that tool apply to this tool too |
| concurrency | concurrent calls allowed |
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
	page, err := toolPage(pageSpec)
	require.NoError(t, err)
	require.Equal(t, wantPage, page)

	page, err = toolPage(tools.Spec{Name: "x", Kind: tools.KindEdit, Schema: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	require.Contains(t, page, "| without a rule | needs approval; not run in plan mode |\n| concurrency | one call at a time |\n\n## Parameters\n\nNone.\n")

	page, err = toolPage(tools.Spec{Name: "exit_plan_mode", Kind: tools.KindOther, Schema: json.RawMessage(`{}`)})
	require.NoError(t, err)
	require.Contains(t, page, "| without a rule | needs approval |\n| declared | in the approval mode plan |\n")

	_, err = toolPage(tools.Spec{Name: "x", Schema: json.RawMessage(`{"properties":{"a":1}}`)})
	require.Error(t, err)
}

func TestToolIndex(t *testing.T) {
	index := toolIndex([]tools.Spec{pageSpec, {Name: "write_todos", Kind: tools.KindThink, Description: "Todos."}})
	require.Contains(t, index, "\n| [note_todos](note_todos.md) | other | Notes \\*all\\* \\<todos>. |  |\n")
	require.Contains(t, index, "| Todos. | registered unless the setting useWriteTodos is false |\n")
}
