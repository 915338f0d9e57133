package credentials_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// lossy is a keychain that changes the key, and then fails, for some keys.
type lossy struct {
	*keychain
	fails func(secret string) bool
}

func (l *lossy) Set(ctx context.Context, account, secret string) error {
	_ = l.keychain.Set(ctx, account, secret)
	if l.fails(secret) {
		return errors.New("broken")
	}
	return nil
}

// tooLarge returns an entry that does not fit into the file.
func tooLarge() credentials.Entry {
	return credentials.Entry{Provider: "groq", Place: credentials.InKeychain, Variables: map[string]string{"X": strings.Repeat("x", 1<<20)}}
}

// UI-05: a key that cannot be stored does not cost the earlier one, wherever it fails.
func TestPutRestoresTheKey(t *testing.T) {
	entry := credentials.Entry{Provider: "groq", Place: credentials.InKeychain}
	for _, old := range []string{"", "old"} {
		for name, put := range map[string]func(s *credentials.Store, fails *func(string) bool) error{
			"file": func(s *credentials.Store, _ *func(string) bool) error {
				return s.Put(t.Context(), tooLarge(), "new")
			},
			"keychain": func(s *credentials.Store, fails *func(string) bool) error {
				*fails = func(secret string) bool { return secret == "new" }
				return s.Put(t.Context(), entry, "new")
			},
			"cancelled": func(s *credentials.Store, fails *func(string) bool) error {
				ctx, cancel := context.WithCancel(t.Context())
				*fails = func(string) bool { cancel(); return false }
				return s.Put(ctx, entry, "new")
			},
		} {
			t.Run(name+old, func(t *testing.T) {
				path, k := pathIn(t), &lossy{newKeychain(), func(string) bool { return false }}
				want := map[string]string{}
				if old != "" {
					require.NoError(t, credentials.Open(path, k).Put(t.Context(), entry, old))
					want["groq"] = old
				}
				s := credentials.Open(path, k)
				require.Equal(t, fault.FileWriteFailure, fault.CodeOf(put(s, &k.fails)))
				require.Equal(t, want, k.secrets)
				key, err := s.Key(t.Context(), "groq")
				require.NoError(t, err)
				require.Equal(t, old, key)
			})
		}
	}
}

// A keychain that does not accept the earlier key again is reported.
func TestPutReportsALostKey(t *testing.T) {
	k := &lossy{newKeychain(), func(string) bool { return false }}
	s := credentials.Open(pathIn(t), k)
	require.NoError(t, s.Put(t.Context(), credentials.Entry{Provider: "groq", Place: credentials.InKeychain}, "old"))
	k.fails = func(secret string) bool { return secret == "old" }
	err := s.Put(t.Context(), tooLarge(), "new")
	require.Contains(t, fault.Line(err), "did not restore the earlier key of groq: broken.")
	require.Contains(t, fault.Line(err), "cannot be written")
}

// The keychain is not changed if the file of keys is unreadable, and the key that is
// replaced is masked.
func TestPutReadsFirst(t *testing.T) {
	path, k := pathIn(t), newKeychain()
	k.secrets["groq"] = "old"
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	entry := credentials.Entry{Provider: "groq", Place: credentials.InKeychain}
	s := credentials.Open(path, k)
	_, err := s.List()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600)) // after the store has read it
	for _, s := range []*credentials.Store{s, credentials.Open(path, k)} {
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.Put(t.Context(), entry, "new")))
	}
	require.Equal(t, map[string]string{"groq": "old"}, k.secrets)
	require.NoError(t, os.Remove(path))
	var heard []string
	s.OnKey(func(keys ...string) { heard = append(heard, keys...) })
	require.NoError(t, s.Put(t.Context(), entry, "new"))
	require.Contains(t, heard, "old")
}

// shared is a keychain that several processes use.
type shared struct {
	mu sync.Mutex
	*keychain
}

func (s *shared) Get(ctx context.Context, account string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keychain.Get(ctx, account)
}

func (s *shared) Set(ctx context.Context, account, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keychain.Set(ctx, account, secret)
}

func (s *shared) Delete(ctx context.Context, account string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keychain.Delete(ctx, account)
}

// Processes that store keys of a provider at the same time leave the key and the entry of
// the same one, also if some of them fail or remove it.
func TestPutByProcesses(t *testing.T) {
	path, k := pathIn(t), &shared{keychain: newKeychain()}
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			s, key := credentials.Open(path, k), strconv.Itoa(n)
			switch n % 3 {
			case 0:
				if s.Put(t.Context(), tooLarge(), key) == nil {
					t.Error("an entry that does not fit was stored")
				}
			case 1:
				_, err := s.Remove(t.Context(), "groq")
				if err != nil {
					t.Error(err)
				}
			default:
				e := credentials.Entry{Provider: "groq", Place: credentials.InKeychain, Variables: map[string]string{"N": key}}
				if err := s.Put(t.Context(), e, key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	e, ok := credentials.Open(path, k).Find("groq")
	secret, err := k.Get(t.Context(), "groq")
	require.NoError(t, err)
	require.Equal(t, ok, secret != "")
	require.Equal(t, e.Variables["N"], secret)
}
