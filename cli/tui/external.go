package tui

import (
	"context"
	"errors"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
	"github.com/fettle-dev/fettle/core/bus"
)

// external runs a function while the TUI has released the terminal.
type external struct{ work func() }

func (e external) Run() error        { e.work(); return nil }
func (external) SetStdin(io.Reader)  {}
func (external) SetStdout(io.Writer) {}
func (external) SetStderr(io.Writer) {}

// terminalEndedMsg reports that a program has returned the terminal.
type terminalEndedMsg struct{}

// inEditor returns the command that releases the terminal to an editor; nil for none.
func inEditor(edit func() editedMsg) tea.Cmd {
	if edit == nil {
		return nil
	}
	var edited editedMsg
	return tea.Exec(external{func() { edited = edit() }}, func(err error) tea.Msg {
		if edited.err == nil {
			edited.err = err
		}
		return edited
	})
}

// editorFor returns a function that opens the proposed content of a call in the user's
// editor, nil if the request cannot be edited. The editor ends with the request.
func (m *screen) editorFor(ctx context.Context, q bus.ToolConfirmationRequest) func() editedMsg {
	details := q.Details.EditDetails
	if m.o.Edit == nil || details == nil {
		return nil
	}
	return func() editedMsg {
		edited := editedMsg{id: q.CorrelationID}
		edited.content, edited.err = m.o.Edit(ctx, details.FileName, details.NewContent)
		if edited.err == nil && edited.content == details.NewContent {
			edited.err = errors.New("no change was made in the editor")
		}
		return edited
	}
}

// inputEditedMsg is the input as edited in the user's editor.
type inputEditedMsg struct {
	text string
	err  error
}

// editInput opens the input in the user's editor, with pastes as text.
func (m *screen) editInput() tea.Cmd {
	if m.o.Edit == nil {
		m.notice = "this session has no editor"
		return nil
	}
	var edited inputEditedMsg
	return tea.Exec(external{func() { edited = m.editedInput() }}, func(err error) tea.Msg {
		if edited.err == nil {
			edited.err = err
		}
		return edited
	})
}

// editedInput runs the editor.
func (m *screen) editedInput() (edited inputEditedMsg) {
	m.h.during(func(ctx context.Context) {
		edited.text, edited.err = m.o.Edit(ctx, "input.md", m.input.Value())
	})
	return edited
}

// inputEdited shows the edited input. Editors end a file with a line feed, which is no
// part of the input.
func (m *screen) inputEdited(msg inputEditedMsg) {
	m.completion.dismiss()
	if msg.err != nil {
		m.note(interactive.LevelWarning, "The input is unchanged: "+msg.err.Error())
		return
	}
	text := textfield.Clean(strings.TrimRight(msg.text, "\r\n"))
	if text == m.input.Value() {
		return
	}
	m.input.Show(text)
	m.typedAt = m.h.now()
}
