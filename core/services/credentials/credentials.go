// Package credentials stores how the user reaches model providers: a key, in the keychain
// of the system or in a file of mode 0600, and variables that are not secret, such as an
// address.
//
// The file lists all entries, so the keychain is asked only for a key that is in it. A
// project never has such a file. The package knows no provider and no variable by name.
package credentials

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// Keychain is the store of secrets of the operating system. Its methods return at the
// latest when ctx ends.
type Keychain interface {
	Get(ctx context.Context, account string) (secret string, err error) // "": there is none
	Set(ctx context.Context, account, secret string) error
	Delete(ctx context.Context, account string) error // nil if there is none
}

// Place is where a key is stored.
type Place string

// The places.
const (
	Nowhere    Place = ""         // the entry has no key
	InKeychain Place = "keychain" // in the keychain of the system
	InFile     Place = "file"     // in the file of the store
	InProcess  Place = "session"  // in the memory of this process only
)

// Entry is what is stored for a provider, without its key.
type Entry struct {
	Provider  string            `json:"provider"`
	Place     Place             `json:"place,omitempty"`     // of the key
	Variables map[string]string `json:"variables,omitempty"` // by name; not secret
}

// Store is the file with the entries. It reads the file once, at the first call, and each
// key of the keychain once; later changes by other processes apply to later processes. It
// is safe for concurrent use. A nil Store has no entry.
type Store struct {
	path     string
	keychain Keychain // nil: none

	mu      sync.Mutex
	read    bool
	entries map[string]stored
	keys    map[string]string // of the keychain and of this process, by provider
	failed  map[string]error  // reads of the keychain that failed, by provider
	err     error             // of the file
	hear    []func(...string)
}

// Open returns the store in the file at path, "" for a store in memory. keychain may be
// nil. It does no I/O.
func Open(path string, keychain Keychain) *Store {
	return &Store{path: path, keychain: keychain, keys: map[string]string{}, failed: map[string]error{}}
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// HasKeychain reports whether the system offers a keychain to this process.
func (s *Store) HasKeychain() bool { return s != nil && s.keychain != nil }

// OnKey calls hear with each key that is read from now on, and with the known ones at
// once, so that they are masked.
func (s *Store) OnKey(hear func(...string)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear = append(s.hear, hear)
	hear(s.known()...)
}

// known returns the keys that were read. The caller holds s.mu.
func (s *Store) known() []string {
	var all []string
	for _, e := range s.entries {
		if e.Key != "" {
			all = append(all, e.Key)
		}
	}
	return append(all, slices.Collect(maps.Values(s.keys))...)
}

func (s *Store) announce(keys ...string) {
	for _, hear := range s.hear {
		hear(keys...)
	}
}

// List returns the entries by provider. The error is of code invalid_config: the file
// cannot be read, is malformed, or is not the user's own.
func (s *Store) List() ([]Entry, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		all = append(all, s.entries[name].entry(name))
	}
	return all, s.err
}

// Find returns the entry of a provider, which may be of this process only.
func (s *Store) Find(provider string) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	e, ok := s.entries[provider]
	return e.entry(provider), ok
}

// Key returns the stored key of a provider, "" if there is none. The error is of code
// invalid_config and contains no key; a second call returns it without trying again.
func (s *Store) Key(ctx context.Context, provider string) (string, error) {
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	e, ok := s.entries[provider]
	switch {
	case e.process:
		return e.Key, nil
	case s.err != nil:
		return "", s.err
	case !ok || !e.Keychain:
		return e.Key, nil
	}
	if key, ok := s.keys[provider]; ok {
		return key, nil
	}
	if err := s.failed[provider]; err != nil {
		return "", err
	}
	key, err := s.fromKeychain(ctx, provider)
	if err != nil {
		s.failed[provider] = err
		return "", err
	}
	s.keys[provider] = key
	s.announce(key)
	return key, nil
}

func (s *Store) fromKeychain(ctx context.Context, provider string) (string, error) {
	remedy := "Unlock the keychain and start again, set the key in the environment, or store it again with fettle setup."
	if s.keychain == nil {
		return "", fault.New(fault.InvalidConfig, "credentials.key",
			fmt.Sprintf("The key of %s is in the keychain of the system, which is not available here.", provider), remedy)
	}
	key, err := s.keychain.Get(ctx, provider)
	switch {
	case err != nil:
		return "", fault.Wrap(fault.InvalidConfig, "credentials.key", fmt.Sprintf("The keychain of the system did not return the key of %s: %s.", provider, plain(err)), remedy, err)
	case key == "":
		return "", fault.New(fault.InvalidConfig, "credentials.key",
			fmt.Sprintf("The keychain of the system has no key of %s any more.", provider), "Store it again with fettle setup.")
	}
	return key, nil
}

// Problem returns the first failure of reading the file or the keychain so far.
func (s *Store) Problem() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, name := range slices.Sorted(maps.Keys(s.failed)) {
		return s.failed[name]
	}
	return nil
}

// Use sets the entry and the key of a provider for this process, without storing them.
func (s *Store) Use(provider, key string, variables map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	s.set(provider, stored{Key: key, Variables: variables, process: true})
}

// set replaces an entry in memory. The caller holds s.mu.
func (s *Store) set(provider string, e stored) {
	if s.entries == nil {
		s.entries = map[string]stored{}
	}
	s.entries[provider] = e
	delete(s.keys, provider)
	delete(s.failed, provider)
	if e.Key != "" {
		s.announce(e.Key)
	}
}

// Put stores an entry with its key, "" for none, in place of an earlier one, whose key it
// removes from the keychain if the new one is elsewhere. Calls of other processes wait for
// each other. An error is of code invalid_config or file_write_failure; the earlier entry
// and its key then stay. If the keychain does not accept that key again, the error says so.
func (s *Store) Put(ctx context.Context, e Entry, key string) error {
	if strings.ContainsAny(key, "\r\n\x00") {
		return fault.New(fault.InvalidConfig, "credentials.put", "The key has more than one line.", "Give the key alone.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if s.err != nil {
		return s.err
	}
	next := stored{Variables: e.Variables}
	switch {
	case key == "":
	case e.Place != InKeychain:
		next.Key = key
	case s.keychain == nil:
		return fault.New(fault.InvalidConfig, "credentials.put", "The keychain of the system is not available here.", "Store the key in a file.")
	default:
		next.Keychain = true
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	restore := func(err error) error { return err }
	if next.Keychain {
		if restore, err = s.toKeychain(ctx, e.Provider, key); err != nil {
			return err
		}
	}
	var before stored
	err = s.update(ctx, func(all map[string]stored) { before, all[e.Provider] = all[e.Provider], next })
	if err != nil {
		return restore(err)
	}
	if before.Keychain && !next.Keychain && s.keychain != nil {
		_ = s.keychain.Delete(ctx, e.Provider) // it is not used any more
	}
	s.set(e.Provider, next)
	if next.Keychain {
		s.keys[e.Provider] = key
		s.announce(key)
	}
	return nil
}

// toKeychain stores a key in the keychain. It does so only if the earlier key can be
// read. The returned function stores that key again after a later failure, whose error it
// returns with its own. The caller holds the lock of the file.
func (s *Store) toKeychain(ctx context.Context, provider, key string) (restore func(error) error, err error) {
	const remedy = "Unlock it, or store the key in a file."
	old, err := s.keychain.Get(ctx, provider)
	if err != nil {
		return nil, fault.Wrap(fault.FileWriteFailure, "credentials.put",
			fmt.Sprintf("The keychain of the system did not return the earlier key of %s, so it is not replaced: %s.", provider, plain(err)), remedy, err)
	}
	if old != "" {
		s.announce(old)
	}
	restore = func(failed error) error {
		ctx := context.WithoutCancel(ctx) // the failure may be the end of ctx
		var err error
		if old == "" {
			err = s.keychain.Delete(ctx, provider)
		} else {
			err = s.keychain.Set(ctx, provider, old)
		}
		if err == nil {
			return failed
		}
		return fault.Wrap(fault.FileWriteFailure, "credentials.put", fmt.Sprintf("%s The keychain of the system did not restore the earlier key of %s: %s.",
			fault.Line(failed), provider, plain(err)), "Store the key again with fettle setup.", failed)
	}
	if err := s.keychain.Set(ctx, provider, key); err != nil {
		return nil, restore(fault.Wrap(fault.FileWriteFailure, "credentials.put", "The keychain of the system did not store the key: "+plain(err)+".", remedy, err))
	}
	return restore, nil
}

// Remove removes the entry and the key of a provider, and reports whether there was one.
// If the keychain fails, the entry is removed all the same, and the error says that the key
// stays in the keychain. Errors have code invalid_config or file_write_failure.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if s.err != nil {
		return false, s.err
	}
	if _, ok := s.entries[provider]; !ok {
		return false, nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	var e stored // of the file, which another process may have changed
	err = s.update(ctx, func(all map[string]stored) {
		e = all[provider]
		delete(all, provider)
	})
	if err != nil {
		return false, err
	}
	delete(s.entries, provider)
	delete(s.keys, provider)
	if !e.Keychain {
		return true, nil
	}
	message := ""
	if s.keychain == nil {
		message = "it is not available here"
	} else if err = s.keychain.Delete(ctx, provider); err != nil {
		message = plain(err)
	}
	if message != "" {
		return true, fault.Wrap(fault.FileWriteFailure, "credentials.remove",
			fmt.Sprintf("The key of %s is no longer used, but it is still in the keychain of the system: %s.", provider, message), "Remove it there: the service is fettle.", err)
	}
	return true, nil
}
