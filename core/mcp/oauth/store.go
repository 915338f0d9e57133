package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// store is the file that keeps tokens:
//
//	{"mcpServers": [{"server": …, "url": …, "issuer": …, …}, …]}
//
// Unknown content is kept, inside and outside the list. Each operation reads the
// file again, so that changes of other processes apply at once. A malformed file is
// reported as an error and not overwritten.
type store struct {
	path string

	mu     sync.Mutex
	memory []byte // if path is ""
}

// listKey is the member of the file that this package owns.
const listKey = "mcpServers"

// read returns all valid entries.
func (s *store) read(ctx context.Context) ([]entry, error) {
	if ctx.Err() != nil {
		return nil, s.cancelled(ctx)
	}
	text, err := s.load()
	if err != nil {
		return nil, err
	}
	_, list, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, raw := range list {
		if e, ok := parseEntry(raw); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// find returns the entry of a key.
func (s *store) find(ctx context.Context, k key) (entry, bool, error) {
	all, err := s.read(ctx)
	if err != nil {
		return entry{}, false, err
	}
	i := slices.IndexFunc(all, func(e entry) bool { return e.key() == k })
	if i < 0 {
		return entry{}, false, nil
	}
	return all[i], true, nil
}

// put replaces the entry with e's key.
func (s *store) put(ctx context.Context, e entry) error {
	return s.update(ctx, func(all []entry) []entry {
		if i := slices.IndexFunc(all, func(old entry) bool { return old.key() == e.key() }); i >= 0 && e.unknown == nil {
			e.unknown = all[i].unknown
		}
		all = slices.DeleteFunc(all, func(old entry) bool { return old.key() == e.key() })
		return append(all, e)
	})
}

// update replaces the entries with the result of change, excluding concurrent
// updates by other processes. change may reuse its argument.
func (s *store) update(ctx context.Context, change func([]entry) []entry) error {
	if s.path == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		text, err := s.changed(s.memory, change)
		if err == nil {
			s.memory = text
		}
		return err
	}
	path, err := s.target()
	if err != nil {
		return s.unwritten(err)
	}
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		if ctx.Err() != nil {
			return s.cancelled(ctx)
		}
		return s.unwritten(err)
	}
	defer unlock()
	old, err := s.load()
	if err != nil {
		return err
	}
	text, err := s.changed(old, change)
	if err != nil {
		return err
	}
	if bytes.Equal(text, old) {
		return nil
	}
	if err := lockedfile.Replace(path, text); err != nil {
		return s.unwritten(err)
	}
	return nil
}

// alone acquires the lock for refreshing the token of a key across processes,
// until release. Without a file there is no lock.
func (s *store) alone(ctx context.Context, k key) (release func(), err error) {
	if s.path == "" {
		return func() {}, nil
	}
	path, err := s.target()
	if err != nil {
		return nil, s.unwritten(err)
	}
	dir := path + ".locks"
	if err := os.MkdirAll(dir, lockedfile.DirMode); err != nil {
		return nil, s.unwritten(err)
	}
	sum := sha256.Sum256([]byte(k.name + "\x00" + k.url))
	release, err = lockedfile.Lock(ctx, filepath.Join(dir, hex.EncodeToString(sum[:8])))
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, s.cancelled(ctx)
	case err != nil:
		return nil, s.unwritten(err)
	}
	return release, nil
}

// load returns the text of the file, or nil if it does not exist.
func (s *store) load() ([]byte, error) {
	if s.path == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.memory, nil
	}
	info, err := os.Stat(s.path) // before opening it: opening a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, s.unreadable(cause(err))
	case !info.Mode().IsRegular():
		return nil, s.unreadable("it is not a regular file")
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, s.unreadable(cause(err))
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, s.unreadable(cause(err))
	case len(text) > maxBytes:
		return nil, s.unreadable(fmt.Sprintf("it is larger than %d bytes", maxBytes))
	}
	return text, nil
}

// parse splits the text of the file into its members and the list of entries.
func (s *store) parse(text []byte) (all map[string]json.RawMessage, list []json.RawMessage, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]json.RawMessage{}, nil, nil
	}
	if err := json.Unmarshal(text, &all); err != nil || all == nil {
		return nil, nil, s.unreadable("it is not a JSON object") // the decoder's error could quote it
	}
	if raw, ok := all[listKey]; ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, nil, s.unreadable("its " + listKey + " is not a list")
		}
	}
	return all, list, nil
}

// changed returns the text with changed entries. Invalid entries stay.
func (s *store) changed(text []byte, change func([]entry) []entry) ([]byte, error) {
	all, list, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	var entries []entry
	var out []json.RawMessage
	for _, raw := range list {
		if e, ok := parseEntry(raw); ok {
			entries = append(entries, e)
		} else {
			out = append(out, raw)
		}
	}
	before := len(entries)
	entries = change(entries)
	if before == 0 && len(entries) == 0 {
		return text, nil
	}
	for _, e := range entries {
		raw, err := e.encode()
		if err != nil {
			return nil, s.unwritten(errors.New("a token cannot be encoded"))
		}
		out = append(out, raw)
	}
	if all[listKey], err = json.Marshal(out); err != nil {
		return nil, s.unwritten(errors.New("the tokens cannot be encoded"))
	}
	if len(out) == 0 {
		delete(all, listKey)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return nil, s.unwritten(errors.New("the file cannot be encoded"))
	}
	if b.Len() > maxBytes {
		return nil, s.unwritten(fmt.Errorf("it would be larger than %d bytes", maxBytes))
	}
	return b.Bytes(), nil
}

// target returns the path of the file, with links resolved.
func (s *store) target() (string, error) {
	path, err := filepath.EvalSymlinks(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
			return filepath.Abs(s.path)
		}
	}
	return path, err
}

func (s *store) unreadable(why string) error {
	return fault.New(fault.InvalidConfig, "mcp.oauth", fmt.Sprintf("The file of tokens %s is invalid: %s.", s.path, why),
		"Repair it or move it away; without it, sign in again.")
}

func (s *store) unwritten(err error) error {
	return fault.New(fault.FileWriteFailure, "mcp.oauth", fmt.Sprintf("The file of tokens %s cannot be written: %s.", s.path, cause(err)),
		"Make sure that you may write to its directory and that the disk has room.")
}

func (s *store) cancelled(ctx context.Context) error {
	return fault.Wrap(fault.Cancelled, "mcp.oauth", "The tokens are unchanged, because the call was cancelled.", "", ctx.Err())
}

// cause returns an error's text without the path, which the sentence already
// contains.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
