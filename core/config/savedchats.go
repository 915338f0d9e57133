package config

import (
	"context"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// savedFolder is where conversations are saved under a tag, below the user's folder
// for the project.
const savedFolder = "saved"

// SavedChats are the conversations of a Config's project that were saved under a tag,
// for /chat (CM-12).
type SavedChats struct {
	c     *Config
	store *transcript.Saved
}

var _ builtin.Chats = (*SavedChats)(nil)

// NewSavedChats returns them. In what is saved these values are masked; [Secrets]
// finds those of an environment. It does no I/O. Errors are those of
// [NewTranscripts].
func NewSavedChats(c *Config, secrets []string) (*SavedChats, error) {
	folders, err := c.Storage()
	switch {
	case err != nil:
		return nil, err
	case folders.ProjectTempDir == "":
		return nil, fault.New(fault.InvalidConfig, "config.chats", "There is no home folder, so conversations cannot be saved.",
			"Set Parameters.HomeDir, or the variable HOME.")
	}
	return &SavedChats{c, transcript.NewSaved(transcript.Options{
		Dir: filepath.Join(folders.ProjectTempDir, savedFolder), Secrets: secrets, MoreSecrets: c.extensionSecrets, Now: c.params().Now,
	})}, nil
}

// List implements [builtin.Chats]. What cannot be read is left out.
func (s *SavedChats) List(ctx context.Context) ([]builtin.SavedChat, error) {
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
func (s *SavedChats) Save(ctx context.Context, tag string, overwrite bool) error {
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
		return fault.New(fault.InvalidToolParams, "config.chats", "Nothing has been said yet, so there is no conversation to save.", "Save it later.")
	}
	return s.store.Save(ctx, tag, contents(history), session.state.Versions.Current(), overwrite)
}

// Load implements [builtin.Chats]. Whoever puts the history in the place of the
// conversation begins a new session above its highest version (AR-04).
func (s *SavedChats) Load(ctx context.Context, tag string) (commands.LoadHistory, error) {
	chat, err := s.store.Load(ctx, tag)
	if err != nil {
		return commands.LoadHistory{}, err
	}
	return commands.LoadHistory{History: chat.History, Highest: chat.Highest}, nil
}

// Delete implements [builtin.Chats].
func (s *SavedChats) Delete(ctx context.Context, tag string) error { return s.store.Delete(ctx, tag) }
