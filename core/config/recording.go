package config

import (
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// chatsDir is the name of the directory of recorded sessions, below the user's
// directory for the project.
const chatsDir = "chats"

// NewTranscripts returns the recorded sessions of c's project. The given secrets
// and the sensitive settings of extensions are masked in new recordings;
// settings.Secrets finds those of an environment. It does no I/O. The error has code
// not_initialized, or invalid_config without a home directory.
func NewTranscripts(c *Config, secrets []string) (*recordings.Store, error) {
	dirs, err := c.Storage()
	if err != nil {
		return nil, err
	}
	if dirs.ProjectTempDir == "" {
		return nil, fault.New(fault.InvalidConfig, "config.transcripts", "There is no home directory, so sessions cannot be recorded.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	kept, err := c.Checkpoints()
	if err != nil {
		kept = nil // there is no directory for them
	}
	return recordings.New(transcript.Options{
		Dir: filepath.Join(dirs.ProjectTempDir, chatsDir), Secrets: secrets, MoreSecrets: c.family.extensions.Secrets, Now: c.params().Environment.Now,
	}, kept), nil
}

// savedDir is the name of the directory of conversations saved under a tag,
// below the user's directory for the project.
const savedDir = "saved"

// savedChats are the conversations of a Config's project that were saved under a
// tag, for /chat.
type savedChats struct {
	c     *Config
	store *transcript.Saved
}

var _ builtin.Chats = (*savedChats)(nil)

// NewSavedChats returns the saved conversations of c's project. The given secrets
// are masked in new ones; settings.Secrets finds those of an environment. It does no
// I/O. The errors are those of [NewTranscripts].
func NewSavedChats(c *Config, secrets []string) (builtin.Chats, error) {
	dirs, err := c.Storage()
	switch {
	case err != nil:
		return nil, err
	case dirs.ProjectTempDir == "":
		return nil, fault.New(fault.InvalidConfig, "config.chats", "There is no home directory, so conversations cannot be saved.",
			"Set Parameters.Environment.HomeDir, or the variable HOME.")
	}
	return &savedChats{c, transcript.NewSaved(transcript.Options{
		Dir: filepath.Join(dirs.ProjectTempDir, savedDir), Secrets: secrets, MoreSecrets: c.family.extensions.Secrets, Now: c.params().Environment.Now,
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
	return s.store.Save(ctx, tag, recordings.Contents(history), session.state.Versions.Current(), overwrite)
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
