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

// Saved stores conversations that the user saved, each under a tag in a file of its own that is
// replaced atomically. Its methods are safe for concurrent use, by several processes too, and it
// keeps nothing between calls.
type Saved struct {
	o    Options
	mask masker
}

// SavedChat is a saved conversation.
type SavedChat struct {
	Tag     string            `json:"tag"`
	Time    time.Time         `json:"saved"`
	Highest int64             `json:"highest"` // highest version that the conversation received; a resumed one continues above it
	History []json.RawMessage `json:"history"` // contents of the turns
}

// NewSaved returns the saved conversations in o.Dir. MaxBytes is the limit of one conversation; 0:
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
	maxTag      = 80 // bytes, to bound the file name
	savedSuffix = ".json"
)

// checkTag refuses an invalid tag.
func checkTag(tag string) error {
	if tag == "" || len(tag) > maxTag || !utf8.ValidString(tag) || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.New(fault.InvalidConfig, "transcript.saved", fmt.Sprintf("The tag %.100q is invalid.", tag),
			fmt.Sprintf("Give a tag of 1 to %d bytes, in one line.", maxTag))
	}
	return nil
}

// path returns the file of a tag.
func (s *Saved) path(tag string) string {
	return filepath.Join(s.o.Dir, strings.ReplaceAll(url.QueryEscape(tag), ".", "%2E")+savedSuffix)
}

// Save stores a history under a tag, with secrets masked. An existing tag is an error of code
// attempt_to_create_existing_file unless overwrite is set. Other errors have code invalid_config
// for an invalid tag, session_unreadable or cancelled.
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
		return fault.New(fault.AttemptToCreateExist, "transcript.saved", fmt.Sprintf("A conversation is already saved as %q.", tag), "Choose another tag, or delete that conversation first.")
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

// Load returns the conversation saved under a tag. The error has code session_not_found,
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

// Delete removes the conversation saved under a tag. The errors are those of Load.
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

// List returns the saved conversations in the order in which they were saved. Unreadable files are
// listed as problems. The error has code session_unreadable or cancelled.
func (s *Saved) List(ctx context.Context) ([]SavedChat, []fault.Problem, error) {
	entries, err := os.ReadDir(s.o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fault.Wrap(fault.SessionUnreadable, "transcript.saved", "The saved conversations cannot be listed.", "Check the permissions of "+s.o.Dir+".", err)
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
		return fault.Wrap(fault.Cancelled, "transcript.saved", "The operation on the saved conversations was cancelled.", "", context.Cause(ctx))
	}
	return fault.Wrap(fault.SessionUnreadable, "transcript.saved", fmt.Sprintf("The conversation %q could not be %s: %v.", tag, what, err), "Check the directory "+s.o.Dir+".", err)
}
