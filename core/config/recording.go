package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// chatsFolder is where sessions are recorded, below the user's folder for the
// project.
const chatsFolder = "chats"

// Transcripts are the recorded sessions of a project, with what turns a Config's
// conversation into one and back.
type Transcripts struct {
	*transcript.Store
	checkpoints *Checkpoints // nil: there are none
}

// NewTranscripts returns the recorded sessions of c's project. In what they are
// given to record these values are masked, and the sensitive settings of
// extensions; [Secrets] finds those of an environment. It does no I/O. The error is of code not_initialized, or
// invalid_config where there is no home folder.
func NewTranscripts(c *Config, secrets []string) (*Transcripts, error) {
	folders, err := c.Storage()
	if err != nil {
		return nil, err
	}
	if folders.ProjectTempDir == "" {
		return nil, fault.New(fault.InvalidConfig, "config.transcripts", "There is no home folder, so sessions cannot be recorded.",
			"Set Parameters.HomeDir, or the variable HOME.")
	}
	kept, err := c.Checkpoints()
	if err != nil {
		kept = nil // there is no place for them
	}
	return &Transcripts{transcript.New(transcript.Options{
		Dir: filepath.Join(folders.ProjectTempDir, chatsFolder), Secrets: secrets, MoreSecrets: c.extensionSecrets, Now: c.params().Now,
	}), kept}, nil
}

// Secrets returns the values in an environment, of entries NAME=VALUE, that are
// to be kept from recordings, by the variables' names and by what values look
// like. Paths are none, nor is what could be a word, as both occur in any text.
func Secrets(environ []string) []string {
	var secrets []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(needed, name) || !settings.LooksSecret(name, value) {
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
// safe for concurrent use; whoever has it closes it.
type Recording struct {
	*transcript.Writer
	versions *filestate.SessionStateService
}

var _ agent.Recorder = (*Recording)(nil)

// Record begins to record a Config's conversation under its session id, that of
// a derived one as a subagent's. Errors are those of [transcript.Store.Create],
// and of code not_initialized.
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
		ID: c.SessionID(), Kind: transcript.KindMain, Project: ws.Target(), Directories: slices.Clone(ws.Folders()[1:]), Model: c.Model(),
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

// Resume has a Config go on with a recorded session: it takes over its id, raises
// the version counter to the highest version that it was given, forgets what it
// was shown (AR-04, KH-13), and what follows is recorded. The history is for
// agent.Options.History; turns that cannot be used are left out of it and told in
// the session's Problems. Errors are those of [transcript.Store.Open], and of
// code not_initialized; the Config is then as it was.
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
	if len(lost) > 0 { // so that places in the recording are those of the history
		if err := w.Replace(ctx, contents(history), session.Highest); err != nil {
			return nil, nil, nil, closeAfter(w, err)
		}
	}
	if _, err := c.StartNewSession(session.ID, session.Highest); err != nil {
		return nil, nil, nil, closeAfter(w, err)
	}
	return r, session, history, nil
}

func closeAfter(w *transcript.Writer, err error) error {
	_ = w.Close() // the error is the one to tell
	return err
}

// History returns a recorded session's turns, and what could not be used.
func History(s *transcript.Session) ([]model.Content, []fault.Problem) {
	history := make([]model.Content, 0, len(s.Turns))
	var lost []fault.Problem
	for i, turn := range s.Turns {
		var content model.Content
		if err := json.Unmarshal(turn.Content, &content); err != nil {
			lost = append(lost, fault.Problem{Path: s.Path, Message: fmt.Sprintf("Turn %d cannot be used and is left out: %s.", i+1, err)})
			continue
		}
		history = append(history, content)
	}
	return history, lost
}

// Append records a turn, with the calls that it answers.
func (r *Recording) Append(ctx context.Context, e agent.Entry) error {
	turn := transcript.Turn{Content: plain(e.Content), Time: e.Time, Model: e.Model, Highest: r.versions.Current()}
	if e.Usage != (model.Usage{}) {
		turn.Usage = plain(e.Usage)
	}
	for _, response := range e.Responses {
		turn.Calls = append(turn.Calls, callRecord(response))
	}
	return r.Writer.Append(ctx, turn)
}

// Rewind records that only the first keep turns are left.
func (r *Recording) Rewind(ctx context.Context, keep int) error {
	return r.Writer.Rewind(ctx, keep, r.versions.Current())
}

// Replace records that this is the history now.
func (r *Recording) Replace(ctx context.Context, history []model.Content) error {
	return r.Writer.Replace(ctx, contents(history), r.versions.Current())
}

func contents(history []model.Content) []json.RawMessage {
	raw := make([]json.RawMessage, len(history))
	for i, content := range history {
		raw[i] = plain(content)
	}
	return raw
}

// callRecord is what is kept of a call beside its answer to the model, which
// holds the result itself.
func callRecord(r scheduler.Response) transcript.ToolCall {
	call := transcript.ToolCall{
		ID: r.CallID, Name: r.Tool, Args: r.Params, Status: string(r.Status), Display: plain(r.Result.ReturnDisplay), Notices: r.Notices,
	}
	if !json.Valid(call.Args) {
		call.Args = nil // as the call did not get to where they are checked
	}
	if r.Result.Error != nil {
		call.Error = plain(r.Result.Error)
	}
	if r.Decision.Decision != "" {
		call.Decision = plain(r.Decision)
	}
	return call
}

// plain returns v as JSON without escapes for HTML; nil if it has no such form,
// which is for whoever records it to refuse.
func plain(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
