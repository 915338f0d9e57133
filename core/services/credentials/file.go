package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// maxBytes is the limit of the file.
const maxBytes = 1 << 20

// stored is an entry of the file.
type stored struct {
	Key       string            `json:"key,omitempty"`
	Keychain  bool              `json:"keychain,omitempty"` // the key is in the keychain
	Variables map[string]string `json:"variables,omitempty"`

	process bool // not in the file
}

func (e stored) entry(provider string) Entry {
	place := Nowhere
	switch {
	case e.Keychain:
		place = InKeychain
	case e.Key != "" && e.process:
		place = InProcess
	case e.Key != "":
		place = InFile
	}
	return Entry{Provider: provider, Place: place, Variables: e.Variables}
}

// document is the content of the file.
type document struct {
	Providers map[string]stored `json:"providers"`
}

// load reads the file at the first call. The caller holds s.mu.
func (s *Store) load() {
	if s.read {
		return
	}
	s.read = true
	if s.path == "" {
		return
	}
	text, err := s.own()
	if err == nil {
		s.entries, err = decode(text)
	}
	if err != nil {
		s.err = s.unreadable(err)
		return
	}
	s.announce(s.known()...)
}

// own returns the text of the file if only the user can have written it and can read it;
// nil if there is no file.
func (s *Store) own() ([]byte, error) {
	named, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New("it is a symbolic link")
	}
	return lockedfile.ReadIf(s.path, maxBytes, func(opened fs.FileInfo) error {
		if !os.SameFile(named, opened) {
			return errors.New("it was replaced at this moment")
		}
		return private(opened)
	})
}

func decode(text []byte) (map[string]stored, error) {
	var d document
	if len(bytes.TrimSpace(text)) > 0 && json.Unmarshal(text, &d) != nil {
		return nil, errors.New("its content is invalid") // the details could contain a key
	}
	return d.Providers, nil
}

// lock locks the file and its keys in the keychain against other processes. It fails if
// the file is unreadable. The caller holds s.mu.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if s.path == "" {
		return nil, fault.New(fault.FileWriteFailure, "credentials.write", "There is no home directory in which a key can be stored.", "Set HOME.")
	}
	if unlock, err = lockedfile.LockOf(ctx, s.path); err != nil {
		return nil, s.unwritable(err)
	}
	text, err := s.own()
	if err == nil {
		_, err = decode(text)
	}
	if err != nil {
		unlock()
		return nil, s.unreadable(err)
	}
	return unlock, nil
}

// update replaces the text of the file. The entries of other processes stay. The caller
// holds the lock.
func (s *Store) update(ctx context.Context, change func(map[string]stored)) error {
	err := lockedfile.Update(ctx, s.path, maxBytes, func(text []byte) ([]byte, error) {
		all, err := decode(text)
		if err != nil {
			return nil, s.unreadable(err)
		}
		if all == nil {
			all = map[string]stored{}
		}
		change(all)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(document{all})
		return b.Bytes(), err
	})
	if err == nil || fault.As(err) != nil {
		return err
	}
	return s.unwritable(err)
}

func (s *Store) unwritable(err error) error {
	return fault.Wrap(fault.FileWriteFailure, "credentials.write", fmt.Sprintf("The file of keys %s cannot be written: %s.", s.path, plain(err)),
		"Make sure that you have write permission for its directory and that the disk has free space, or set the key in the environment.", err)
}

func (s *Store) unreadable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "credentials.read", fmt.Sprintf("The file of keys %s is not used: %s.", s.path, plain(err)),
		"Correct it, or remove it and run fettle setup.", err)
}

// plain returns the text of an error without the path, which the message names, and
// without a full stop.
func plain(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return strings.TrimSuffix(strings.TrimSpace(err.Error()), ".")
}
