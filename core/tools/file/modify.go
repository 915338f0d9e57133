package file

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools"
)

// proposal is the model's proposed change that the user replaced.
type proposal struct {
	text  string
	model patch.Stat // from the base to text
	user  patch.Stat // from text to the written content
}

// amendment is the result of a user's edit, for the parameters of the edited call.
type amendment struct {
	base mutation.Base
	text string
	diff string // from base to text, as a unified diff
}

// Modify returns the same change with newContent as the whole new text of the file. The change is planned again, from
// the base of the proposal and with the same checks, and fails like any other: with code edit_no_change if it would
// leave the file unchanged. An existing file keeps its line endings, and a new one gets those of newContent, unless
// write_file was called with line endings. Modify fails if the proposal itself failed.
func (c *change) Modify(ctx context.Context, newContent string) (tools.ToolInvocation, error) {
	plan := c.planned(ctx)
	if refused := plan.Refused(); refused != nil {
		return nil, refused
	}
	base := plan.Base()
	text := withEndings(newContent, base, c.endings)
	p := c.proposal
	if p == nil {
		p = &proposal{text: plan.NewText(), model: plan.Diff().Stat()}
	}
	shown, edited := base.Text, text
	if bom := plan.BOM(); bom != nil { // a byte-order mark that the proposal adds or removes stays added or removed
		shown, _ = plan.Texts()
		text = strings.TrimPrefix(text, byteOrderMark)
		if edited = text; *bom {
			edited = byteOrderMark + text
		}
	}
	diff := patch.Between(shown, edited)
	params, err := c.amend(c.params, amendment{base, text, diff.Unified(c.names(base))})
	if err != nil {
		return nil, asFault(ctx, "file.modify", fault.ExecutionFailed, err)
	}
	request := c.request
	request.From = &base
	request.Edited = text != p.text
	request.Compute = func(mutation.Base) (mutation.Change, *fault.Error) {
		if base.Exists && edited == shown {
			return mutation.Change{}, fault.New(fault.EditNoChange, "file.modify",
				c.request.Path.String()+" is unchanged: the user changed the proposal back to the current content of the file.",
				"Ask the user what to do instead.")
		}
		return mutation.Change{Text: text, Diff: diff, BOM: plan.BOM()}, nil
	}
	return &change{
		services: c.services, request: request, params: params, action: c.action, done: c.done, amend: c.amend, endings: c.endings, files: c.files,
		proposal: &proposal{text: p.text, model: p.model, user: patch.Between(p.text, text).Stat()},
	}, nil
}

// editedMessage reports to the model that the written content differs from its proposal.
func editedMessage(created, shown bool) string {
	message := "File changed"
	if created {
		message = "File created"
	}
	message += ", with changes that the user made to your proposal before it was applied."
	if shown {
		return message + " latest_file_state has the written content."
	}
	return message + " The written content cannot be shown here: read the file before you change it again."
}

func amendPatch(params json.RawMessage, a amendment) (json.RawMessage, error) {
	return tools.Amend(params, map[string]any{"unified_diff": a.diff})
}

func amendWrite(params json.RawMessage, a amendment) (json.RawMessage, error) {
	return tools.Amend(params, map[string]any{"content": a.text})
}

// amendEdit replaces the whole file, which occurs once in itself.
func amendEdit(params json.RawMessage, a amendment) (json.RawMessage, error) {
	return tools.Amend(params, map[string]any{"old_string": a.base.Text, "new_string": a.text}, "expected_replacements")
}
