// Package recordings stores conversations as session recordings and resumes them.
package recordings

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/keeper"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transcript"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Store contains the recorded sessions of a project. It converts between them and
// conversations.
type Store struct {
	*transcript.Store
	checkpoints *keeper.Keeper // nil: there are none
}

// New returns a Store. The given checkpoints of a session are deleted with it;
// they may be nil. It does no I/O.
func New(o transcript.Options, checkpoints *keeper.Keeper) *Store {
	return &Store{transcript.New(o), checkpoints}
}

// Conversation is a conversation to record; *config.Config implements it.
type Conversation interface {
	SessionID() string // the ID of the current session, which names the recording
	Model() string     // the name of the model
	// Workspace returns the directories of the session. The first is the recorded project.
	Workspace() (*workspace.Workspace, error)
	// SessionStateService returns the versions of files, whose highest is recorded.
	SessionStateService() (*filestate.SessionStateService, error)
	// StartNewSession continues a recorded session under its ID, with versions above
	// highestVersion. It returns the ID; "" means a random one.
	StartNewSession(id string, highestVersion int64) (string, error)
}

// Recording records a conversation. It is an [agent.Recorder] and safe for
// concurrent use. The caller must close it.
type Recording struct {
	*transcript.Writer
	versions *filestate.SessionStateService
}

var _ agent.Recorder = (*Recording)(nil)

// Record begins to record a conversation under its session ID. The errors are those
// of [transcript.Store.Create] and of the conversation.
func (t *Store) Record(ctx context.Context, c Conversation) (*Recording, error) {
	return t.RecordSubagent(ctx, c, "")
}

// RecordSubagent is Record for the conversation of a subagent; parent is the session
// ID of its caller.
func (t *Store) RecordSubagent(ctx context.Context, c Conversation, parent string) (*Recording, error) {
	versions, err := c.SessionStateService()
	if err != nil {
		return nil, err
	}
	ws, err := c.Workspace()
	if err != nil {
		return nil, err
	}
	h := transcript.Header{
		ID: c.SessionID(), Kind: transcript.KindMain, Project: ws.Target(), Directories: slices.Clone(ws.Directories()[1:]), Model: c.Model(),
	}
	if parent != "" {
		h.Kind, h.Parent = transcript.KindSubagent, parent
	}
	w, err := t.Create(ctx, h)
	if err != nil {
		return nil, err
	}
	return &Recording{Writer: w, versions: versions}, nil
}

// Resume makes a conversation continue a recorded session: it adopts its ID, raises
// the version counter to the highest recorded version, clears the record of shown
// files, and records the continuation. The history is for agent.Options.History;
// invalid turns are omitted and reported in the session's Problems. The errors are
// those of [transcript.Store.Open] and of the conversation, which is unchanged then.
func (t *Store) Resume(ctx context.Context, c Conversation, id string) (*Recording, *transcript.Session, []model.Content, error) {
	versions, err := c.SessionStateService()
	if err != nil {
		return nil, nil, nil, err
	}
	w, session, err := t.Open(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	r := &Recording{Writer: w, versions: versions}
	history, lost := History(session)
	session.Problems = append(session.Problems, lost...)
	if len(lost) > 0 { // so that positions in the recording match the history
		if err := w.Replace(ctx, Contents(history), session.Highest); err != nil {
			return nil, nil, nil, closeAfter(w, err)
		}
	}
	if _, err := c.StartNewSession(session.ID, session.Highest); err != nil {
		return nil, nil, nil, closeAfter(w, err)
	}
	return r, session, history, nil
}

func closeAfter(w *transcript.Writer, err error) error {
	_ = w.Close() // the first error is the one to return
	return err
}

// Append records a turn, with the calls that it answers.
func (r *Recording) Append(ctx context.Context, e agent.Entry) error {
	return r.Writer.Append(ctx, turnOf(e, r.versions.Current()))
}

// Rewind records that only the first keep turns are left.
func (r *Recording) Rewind(ctx context.Context, keep int) error {
	return r.Writer.Rewind(ctx, keep, r.versions.Current())
}

// Replace records a new history.
func (r *Recording) Replace(ctx context.Context, history []model.Content) error {
	return r.Writer.Replace(ctx, Contents(history), r.versions.Current())
}

// Delete removes a session, see [transcript.Store.Delete], and its checkpoints.
func (t *Store) Delete(ctx context.Context, id string) error {
	if err := t.Store.Delete(ctx, id); err != nil || t.checkpoints == nil {
		return err
	}
	return t.checkpoints.Delete(ctx, id)
}

// Cleanup removes old sessions, see [transcript.Store.Cleanup], then checkpoints
// of sessions that are no longer recorded and older than a day, and checkpoints
// beyond the total limit. It returns the IDs of the removed recordings.
func (t *Store) Cleanup(ctx context.Context, r transcript.Retention) ([]string, error) {
	removed, err := t.Store.Cleanup(ctx, r)
	if err != nil || t.checkpoints == nil {
		return removed, err
	}
	list, _, err := t.List(ctx)
	if err != nil {
		return removed, err
	}
	recorded := map[string]bool{}
	for _, sum := range list {
		recorded[sum.ID] = true
	}
	return removed, t.checkpoints.Cleanup(ctx, recorded)
}
