package config

import (
	"context"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/recording"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// chatsFolder is the name of the directory of recorded sessions, below the user's
// directory for the project.
const chatsFolder = "chats"

// Transcripts are the recorded sessions of a project. It converts between them
// and the conversation of a Config.
type Transcripts struct {
	*transcript.Store
	checkpoints *Checkpoints // nil: there are none
}

// NewTranscripts returns the recorded sessions of c's project. The given secrets
// and the sensitive settings of extensions are masked in new recordings;
// [Secrets] finds those of an environment. It does no I/O. The error has code
// not_initialized, or invalid_config without a home directory.
func NewTranscripts(c *Config, secrets []string) (*Transcripts, error) {
	folders, err := c.Storage()
	if err != nil {
		return nil, err
	}
	if folders.ProjectTempDir == "" {
		return nil, fault.New(fault.InvalidConfig, "config.transcripts", "There is no home directory, so sessions cannot be recorded.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	kept, err := c.Checkpoints()
	if err != nil {
		kept = nil // there is no directory for them
	}
	return &Transcripts{transcript.New(transcript.Options{
		Dir: filepath.Join(folders.ProjectTempDir, chatsFolder), Secrets: secrets, MoreSecrets: c.family.extensions.Secrets, Now: c.params().Environment.Now,
	}), kept}, nil
}

// Secrets returns the values in an environment, of entries NAME=VALUE, that must
// be masked in recordings, judged by the variables' names and the form of the
// values. Paths and values that could be a word are not returned, because they
// occur in any text.
func Secrets(environ []string) []string {
	var secrets []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(apply.Needed(), name) || !settings.LooksSecret(name, value) {
			continue
		}
		if value = strings.TrimSpace(value); !ordinary.MatchString(value) {
			secrets = append(secrets, value)
		}
		if address, err := url.Parse(value); err == nil && address.User != nil {
			password, _ := address.User.Password()
			secrets = append(secrets, password)
		}
	}
	return secrets
}

// ordinary matches paths, words, and small numbers.
var ordinary = regexp.MustCompile(`^(~?/|\.|[A-Za-z]:[\\/])|^([A-Za-z]?[a-z]{0,20}|[A-Z]{0,20}|[0-9]{0,11})$`)

// Recording records the conversation of a Config. It is an [agent.Recorder] and
// safe for concurrent use. The caller must close it.
type Recording struct {
	*transcript.Writer
	versions *filestate.SessionStateService
}

var _ agent.Recorder = (*Recording)(nil)

// Record begins to record a Config's conversation under its session ID; that of a
// derived Config is recorded as a subagent's. The errors are those of
// [transcript.Store.Create], or have code not_initialized.
func (t *Transcripts) Record(ctx context.Context, c *Config) (*Recording, error) {
	s, err := c.own("Record")
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
	if c.parent != nil {
		h.Kind, h.Parent = transcript.KindSubagent, c.parent.SessionID()
	}
	w, err := t.Create(ctx, h)
	if err != nil {
		return nil, err
	}
	return &Recording{Writer: w, versions: &s.state.Versions}, nil
}

// Resume makes a Config continue a recorded session: it adopts its ID, raises the
// version counter to the highest recorded version, clears the record of shown
// files, and records the continuation. The history is for agent.Options.History;
// invalid turns are omitted and reported in the session's Problems. The errors
// are those of [transcript.Store.Open], or have code not_initialized; the Config
// is unchanged then.
func (t *Transcripts) Resume(ctx context.Context, c *Config, id string) (*Recording, *transcript.Session, []model.Content, error) {
	s, err := c.own("Resume")
	if err != nil {
		return nil, nil, nil, err
	}
	w, session, err := t.Open(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	r := &Recording{Writer: w, versions: &s.state.Versions}
	history, lost := History(session)
	session.Problems = append(session.Problems, lost...)
	if len(lost) > 0 { // so that positions in the recording match the history
		if err := w.Replace(ctx, recording.Contents(history), session.Highest); err != nil {
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

// History returns a recorded session's turns, and the problems with invalid ones.
func History(s *transcript.Session) ([]model.Content, []fault.Problem) {
	return recording.History(s)
}

// Append records a turn, with the calls that it answers.
func (r *Recording) Append(ctx context.Context, e agent.Entry) error {
	return r.Writer.Append(ctx, recording.Turn(e, r.versions.Current()))
}

// Rewind records that only the first keep turns are left.
func (r *Recording) Rewind(ctx context.Context, keep int) error {
	return r.Writer.Rewind(ctx, keep, r.versions.Current())
}

// Replace records a new history.
func (r *Recording) Replace(ctx context.Context, history []model.Content) error {
	return r.Writer.Replace(ctx, recording.Contents(history), r.versions.Current())
}

// Delete removes a session, see [transcript.Store.Delete], and its checkpoints.
func (t *Transcripts) Delete(ctx context.Context, id string) error {
	if err := t.Store.Delete(ctx, id); err != nil || t.checkpoints == nil {
		return err
	}
	return t.checkpoints.Delete(ctx, id)
}

// Cleanup removes old sessions, see [transcript.Store.Cleanup], then checkpoints
// of sessions that are no longer recorded and older than a day, and checkpoints
// beyond the total limit. It returns the IDs of the removed recordings.
func (t *Transcripts) Cleanup(ctx context.Context, r transcript.Retention) ([]string, error) {
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
	return removed, t.checkpoints.keeper.Cleanup(ctx, recorded)
}

// savedFolder is the name of the directory of conversations saved under a tag,
// below the user's directory for the project.
const savedFolder = "saved"

// savedChats are the conversations of a Config's project that were saved under a
// tag, for /chat.
type savedChats struct {
	c     *Config
	store *transcript.Saved
}

var _ builtin.Chats = (*savedChats)(nil)

// NewSavedChats returns the saved conversations of c's project. The given secrets
// are masked in new ones; [Secrets] finds those of an environment. It does no
// I/O. The errors are those of [NewTranscripts].
func NewSavedChats(c *Config, secrets []string) (builtin.Chats, error) {
	folders, err := c.Storage()
	switch {
	case err != nil:
		return nil, err
	case folders.ProjectTempDir == "":
		return nil, fault.New(fault.InvalidConfig, "config.chats", "There is no home directory, so conversations cannot be saved.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	return &savedChats{c, transcript.NewSaved(transcript.Options{
		Dir: filepath.Join(folders.ProjectTempDir, savedFolder), Secrets: secrets, MoreSecrets: c.family.extensions.Secrets, Now: c.params().Environment.Now,
	})}, nil
}

// List implements [builtin.Chats]. Unreadable ones are omitted.
func (s *savedChats) List(ctx context.Context) ([]builtin.SavedChat, error) {
	saved, _, err := s.store.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]builtin.SavedChat, len(saved))
	for i, chat := range saved {
		all[i] = builtin.SavedChat{Tag: chat.Tag, Saved: chat.Time, Turns: len(chat.History)}
	}
	return all, nil
}

// Save implements [builtin.Chats].
func (s *savedChats) Save(ctx context.Context, tag string, overwrite bool) error {
	session, err := s.c.own("Save")
	if err != nil {
		return err
	}
	client, err := s.c.Client()
	if err != nil {
		return err
	}
	history := client.History()
	if len(history) == 0 {
		return fault.New(fault.InvalidToolParams, "config.chats", "The conversation is empty, so there is nothing to save.", "Save it later.")
	}
	return s.store.Save(ctx, tag, recording.Contents(history), session.state.Versions.Current(), overwrite)
}

// Load implements [builtin.Chats]. A caller that replaces the conversation's
// history with the result must begin a new session above its highest version.
func (s *savedChats) Load(ctx context.Context, tag string) (commands.LoadHistory, error) {
	chat, err := s.store.Load(ctx, tag)
	if err != nil {
		return commands.LoadHistory{}, err
	}
	return commands.LoadHistory{History: chat.History, Highest: chat.Highest}, nil
}

// Delete implements [builtin.Chats].
func (s *savedChats) Delete(ctx context.Context, tag string) error { return s.store.Delete(ctx, tag) }
