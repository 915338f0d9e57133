package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/core/bus"
)

// external runs a function while the TUI has released the terminal.
type external struct{ work func() }

func (e external) Run() error        { e.work(); return nil }
func (external) SetStdin(io.Reader)  {}
func (external) SetStdout(io.Writer) {}
func (external) SetStderr(io.Writer) {}

// inEditor returns the command that releases the terminal to an editor.
func inEditor(edit func() editedMsg) tea.Cmd {
	var edited editedMsg
	return tea.Exec(external{func() { edited = edit() }}, func(err error) tea.Msg {
		if edited.err == nil {
			edited.err = err
		}
		return edited
	})
}

// editorFor returns a function that opens the proposed content of a call in the
// user's editor, nil if the request cannot be edited. The editor ends with the
// request.
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
