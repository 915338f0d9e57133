package acp

import (
	"cmp"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/tools"
)

// contentOf returns the content of an ended call: its result, or its live output if the
// result has none, then the error and other facts. A result is never empty, because that
// would keep the earlier content.
func contentOf(e ending, printed string) []sdk.ToolCallContent {
	var all []sdk.ToolCallContent
	d := e.shown
	switch {
	case d.Diff != nil:
		all = append(all, diffContent(d.Diff.FilePath, d.Diff.OriginalContent, d.Diff.NewContent))
	case d.ANSI != nil:
		all = append(all, textContent(fenced(cut(new(display.ANSIFilter).Filter(d.ANSI.ANSI)))))
	case d.Todo != nil: // sent as the plan
	case d.Text != "" && (e.ok || e.failure == nil):
		all = append(all, textContent(cut(d.Text)))
	case printed != "":
		all = append(all, textContent(fenced(printed)))
	}
	if e.preview {
		all = append(all, textContent("Plan mode: nothing was changed."))
	}
	if f := e.failure; f != nil && !e.ok {
		all = append(all, textContent(strings.TrimSpace(f.Message+" "+f.Remedy)))
	}
	for _, notice := range e.notices {
		all = append(all, textContent(notice))
	}
	if len(all) == 0 {
		all = append(all, textContent("Done."))
	}
	return all
}

// textContent returns text as content of a call.
func textContent(text string) sdk.ToolCallContent {
	return sdk.ToolContent(sdk.TextBlock(display.Printable(text)))
}

// diffContent returns a change of a file as content of a call. Texts are those of the
// file, not escaped, so that the editor can compare them.
func diffContent(path string, before *string, after string) sdk.ToolCallContent {
	return sdk.ToolCallContent{Diff: &sdk.ToolCallContentDiff{Path: path, OldText: before, NewText: after, Type: "diff"}}
}

// cut shortens a long text in the middle.
func cut(text string) string { return display.Shortened(text, maxOutput) }

// fenced returns text as a Markdown code block that is safe to display.
func fenced(text string) string { return fence(display.Printable(text)) }

// fence returns text as a Markdown code block, in a fence longer than any in the text.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimSuffix(text, "\n") + "\n" + marks
}

// planOf converts a list of todos to the plan. The protocol has no cancelled entries.
func planOf(list tools.TodoList) sdk.SessionUpdate {
	entries := []sdk.PlanEntry{}
	for _, todo := range list.Todos {
		entry := sdk.PlanEntry{Content: display.Line(todo.Description), Priority: sdk.PlanEntryPriorityMedium}
		switch todo.Status {
		case tools.TodoPending:
			entry.Status = sdk.PlanEntryStatusPending
		case tools.TodoInProgress:
			entry.Status = sdk.PlanEntryStatusInProgress
		case tools.TodoCompleted:
			entry.Status = sdk.PlanEntryStatusCompleted
		case tools.TodoCancelled:
			entry.Status, entry.Content = sdk.PlanEntryStatusCompleted, entry.Content+" (cancelled)"
		}
		entry.Status = cmp.Or(entry.Status, sdk.PlanEntryStatusPending)
		entries = append(entries, entry)
	}
	return sdk.UpdatePlan(entries...)
}
