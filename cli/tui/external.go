package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/core/bus"
)

// external runs a function that has the terminal meanwhile.
type external struct{ work func() }

func (e external) Run() error        { e.work(); return nil }
func (external) SetStdin(io.Reader)  {}
func (external) SetStdout(io.Writer) {}
func (external) SetStderr(io.Writer) {}

// inEditor is the command that lends the terminal to an editor.
func inEditor(edit func() editedMsg) tea.Cmd {
	var edited editedMsg
	return tea.Exec(external{func() { edited = edit() }}, func(err error) tea.Msg {
		if edited.err == nil {
			edited.err = err
		}
		return edited
	})
}

// editorFor returns what has the person edit the content that a call proposes, nil
// where that cannot be. It ends with the question.
func (m *screen) editorFor(ctx context.Context, q bus.ToolConfirmationRequest) func() editedMsg {
	details := q.Details.EditDetails
	if m.o.Edit == nil || details == nil {
		return nil
	}
	return func() editedMsg {
		edited := editedMsg{id: q.CorrelationID}
		edited.content, edited.err = m.o.Edit(ctx, details.FileName, details.NewContent)
		if edited.err == nil && edited.content == details.NewContent {
			edited.err = errors.New("nothing was changed in the editor")
		}
		return edited
	}
}
