package dialogs

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

const wide = "日本語 e\u0301 👩‍👩‍👧 text that is longer than a narrow terminal\t"

// all returns a dialog of each kind.
func all() map[string]Dialog {
	outcomes := []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.Cancel}
	call := bus.ToolCall{Name: wide}
	command := bus.ToolConfirmationRequest{
		ToolCall: call, Outcomes: outcomes, Subagent: wide, Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{wide, wide}}},
		Details: bus.Confirmation{Type: confirmation.Exec, Title: wide, ExecDetails: &confirmation.ExecDetails{Command: strings.Repeat(wide, 5)}},
	}
	edit := bus.ToolConfirmationRequest{
		ToolCall: call, Outcomes: outcomes,
		Details: bus.Confirmation{Type: confirmation.Edit, Title: wide, EditDetails: &confirmation.EditDetails{FileName: wide, FilePath: wide, FileDiff: "--- a\n+++ b\n@@ -1 +1,2 @@\n-" + wide + "\n+" + wide + "\n+x\n"}},
	}
	options := []bus.UserOption{{Label: wide, Description: wide}, {Label: "b"}}
	return map[string]Dialog{
		"command": NewConfirmation(command, wide, nil),
		"edit":    NewConfirmation(edit, "", nil),
		"yes no":  NewForm(bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: wide, Header: wide, Type: bus.QuestionYesNo}}}),
		"choice":  NewForm(bus.AskUserRequest{Server: wide, Questions: []bus.UserQuestion{{Question: wide, Type: bus.QuestionChoice, MultiSelect: true, Options: options}, {Question: wide, Type: bus.QuestionText}}}),
		"text":    NewForm(bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: wide, Type: bus.QuestionText, Placeholder: wide, Default: wide}}}),
		"empty":   NewForm(bus.AskUserRequest{}),
	}
}

// UI-02: on a terminal of 20×5 the dialog of a command shows a part of it, each answer by its
// letter, and words of the selected one.
func TestSmallestApproval(t *testing.T) {
	d := NewConfirmation(bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "run_shell_command"}, Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.Cancel},
		Details: bus.Confirmation{Type: confirmation.Exec, Title: "Confirm Shell Command", ExecDetails: &confirmation.ExecDetails{Command: "rm -rf build"}},
	}, "", nil)
	v := blocks.Style{Columns: 20, Theme: new(theme.Theme), Colours: highlight.New()}
	for _, selected := range []string{"[y] [a] [s] > [n]o", "[y] [a] > [s]av… [n]", "[y] > [a]lw… [s] [n]", "> [y]es… [a] [s] [n]"} {
		lines, _ := d.View(v, 4, true)
		text := strings.Join(lines, "\n")
		require.LessOrEqual(t, len(lines), 4, text)
		require.Contains(t, text, "rm -rf build")
		require.Contains(t, text, selected)
		d.Key(tea.KeyPressMsg{Code: tea.KeyUp})
	}
}

// UI-02: on a terminal of 20×5 a question shows the option that Enter answers.
func TestSmallestForm(t *testing.T) {
	options := []bus.UserOption{{Label: "SQLite", Description: "a file"}, {Label: "Other"}}
	d := NewForm(bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: "Which database is used?", Type: bus.QuestionChoice, Options: options}}})
	v := blocks.Style{Columns: 20, Theme: new(theme.Theme), Colours: highlight.New()}
	lines, _ := d.View(v, 4, true)
	require.Equal(t, []string{"Which database", "> 1  SQLite"}, lines[1:3])
	d.Key(tea.KeyPressMsg{Code: tea.KeyDown})
	lines, _ = d.View(v, 4, true)
	require.Contains(t, strings.Join(lines, "\n"), "> 2  Other")
}

// UI-02: a dialog is within the columns at every size, the cursor is on it, and its way out
// is visible while it is resized.
func TestSizes(t *testing.T) {
	for name, d := range all() {
		for _, key := range []tea.KeyPressMsg{{Code: tea.KeyF12}, {Code: 'n', Text: "n"}} {
			t.Run(fmt.Sprint(name, " ", key.Code), func(t *testing.T) {
				d.Key(key)
				for columns := 20; columns < 160; columns += 7 {
					for rows := 4; rows < 40; rows += 3 {
						v := blocks.Style{Columns: columns, Theme: new(theme.Theme), Colours: highlight.New()}
						lines, cursor := d.View(v, rows, true)
						require.NotEmpty(t, lines)
						for _, line := range lines {
							require.LessOrEqual(t, display.Width(line), columns, "%dx%d: %q", columns, rows, line)
						}
						if cursor != nil {
							require.Less(t, cursor.X, columns, "%dx%d", columns, rows)
							require.Less(t, cursor.Y, len(lines), "%dx%d", columns, rows)
						}
					}
				}
			})
		}
	}
}
