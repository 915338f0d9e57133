package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Saved are conversations that a person has kept as they were, each under a tag: a
// file of its own, which is replaced in one step. Its methods are safe for concurrent
// use, by several processes too, and it keeps nothing between calls.
type Saved struct {
	o    Options
	mask masker
}

// SavedChat is a conversation as it was saved.
type SavedChat struct {
	Tag     string            `json:"tag"`
	Time    time.Time         `json:"saved"`
	Highest int64             `json:"highest"` // highest version given in the conversation; a resumed one continues above it
	History []json.RawMessage `json:"history"` // contents of the turns
}

// NewSaved returns the saved conversations in o.Dir. MaxBytes bounds one of them; 0:
// 64 MiB. It does no I/O.
func NewSaved(o Options) *Saved {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Saved{o: o, mask: newMasker(o.Secrets, o.MoreSecrets)}
}

const (
	maxTag      = 80 // bytes, so that a file's name is not too long
	savedSuffix = ".json"
)

// checkTag refuses a tag that no file can be named after.
func checkTag(tag string) error {
	if tag == "" || len(tag) > maxTag || !utf8.ValidString(tag) || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.New(fault.InvalidConfig, "transcript.saved", fmt.Sprintf("A conversation cannot be saved under the tag %.100q.", tag),
			fmt.Sprintf("Give a tag of 1 to %d bytes, in one line.", maxTag))
	}
	return nil
}

// path is the file of a tag.
func (s *Saved) path(tag string) string {
	return filepath.Join(s.o.Dir, strings.ReplaceAll(url.QueryEscape(tag), ".", "%2E")+savedSuffix)
}

// Save keeps a history under a tag, secrets masked. A tag that is taken is an error of
// code attempt_to_create_existing_file unless overwrite is set; other errors are of
// code invalid_config for what is no tag, session_unreadable and cancelled.
func (s *Saved) Save(ctx context.Context, tag string, history []json.RawMessage, highest int64, overwrite bool) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	unlock, err := lockedfile.LockOf(ctx, s.path(tag))
	if err != nil {
		return s.failed(ctx, tag, "saved", err)
	}
	defer unlock()
	if _, err := os.Lstat(s.path(tag)); err == nil && !overwrite {
		return fault.New(fault.AttemptToCreateExist, "transcript.saved", fmt.Sprintf("A conversation is saved as %q already.", tag), "Choose another tag, or delete that one first.")
	}
	chat := SavedChat{Tag: tag, Time: s.o.Now(), Highest: highest, History: slices.Clone(history)}
	for i := range chat.History {
		chat.History[i] = s.mask.json(chat.History[i])
	}
	text, err := encode(chat)
	if err == nil && int64(len(text)) > s.o.MaxBytes {
		err = fmt.Errorf("it has %d bytes, more than the limit of %d", len(text), s.o.MaxBytes)
	}
	if err == nil {
		err = lockedfile.Replace(s.path(tag), text)
	}
	if err != nil {
		return s.failed(ctx, tag, "saved", err)
	}
	return nil
}

// Load returns what was saved under a tag. The error is of code session_not_found,
// session_unreadable or cancelled.
func (s *Saved) Load(ctx context.Context, tag string) (*SavedChat, error) {
	if err := checkTag(tag); err != nil {
		return nil, s.none(tag)
	}
	chat, err := s.read(s.path(tag))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.none(tag)
	case err != nil:
		return nil, s.failed(ctx, tag, "read", err)
	}
	return chat, nil
}

func (s *Saved) none(tag string) error {
	return fault.New(fault.SessionNotFound, "transcript.saved", fmt.Sprintf("No conversation is saved as %.100q.", tag), "List the tags first.")
}

// read reads a saved conversation.
func (s *Saved) read(path string) (*SavedChat, error) {
	f, err := (&Store{o: s.o}).open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var chat SavedChat
	if err := json.NewDecoder(f).Decode(&chat); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return &chat, nil
}

// Delete removes what was saved under a tag. The error is as that of Load.
func (s *Saved) Delete(ctx context.Context, tag string) error {
	if err := checkTag(tag); err != nil {
		return s.none(tag)
	}
	if _, err := os.Lstat(s.path(tag)); errors.Is(err, fs.ErrNotExist) {
		return s.none(tag)
	}
	unlock, err := lockedfile.LockOf(ctx, s.path(tag))
	if err != nil {
		return s.failed(ctx, tag, "removed", err)
	}
	defer unlock()
	err = os.Remove(s.path(tag))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.none(tag)
	case err != nil:
		return s.failed(ctx, tag, "removed", err)
	}
	return nil
}

// List returns the saved conversations, the one saved first coming first. Files that
// cannot be read are among the problems. The error is of code session_unreadable or
// cancelled.
func (s *Saved) List(ctx context.Context) ([]SavedChat, []fault.Problem, error) {
	entries, err := os.ReadDir(s.o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fault.Wrap(fault.SessionUnreadable, "transcript.saved", "The saved conversations cannot be listed.", "Check who may read "+s.o.Dir+".", err)
	}
	var all []SavedChat
	var problems []fault.Problem
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, nil, s.failed(ctx, "", "read", ctx.Err())
		}
		if !strings.HasSuffix(e.Name(), savedSuffix) {
			continue
		}
		path := filepath.Join(s.o.Dir, e.Name())
		chat, err := s.read(path)
		if err != nil {
			problems = append(problems, fault.Problem{Path: path, Message: "The saved conversation cannot be read: " + err.Error() + "."})
			continue
		}
		all = append(all, *chat)
	}
	slices.SortStableFunc(all, func(a, b SavedChat) int { return a.Time.Compare(b.Time) })
	return all, problems, nil
}

func (s *Saved) failed(ctx context.Context, tag, what string, err error) error {
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, "transcript.saved", "Work on the saved conversations was cancelled.", "", context.Cause(ctx))
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.saved", fmt.Sprintf("The conversation %q could not be %s: %v.", tag, what, err), "Check the directory "+s.o.Dir+".", err)
}
