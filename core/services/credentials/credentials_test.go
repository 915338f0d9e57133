package credentials_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// keychain is a keychain in memory that counts its calls.
type keychain struct {
	secrets map[string]string
	err     error
	gets    int
}

func (k *keychain) Get(_ context.Context, account string) (string, error) {
	k.gets++
	return k.secrets[account], k.err
}

func (k *keychain) Set(_ context.Context, account, secret string) error {
	if k.err == nil {
		k.secrets[account] = secret
	}
	return k.err
}

func (k *keychain) Delete(_ context.Context, account string) error {
	if k.err == nil {
		delete(k.secrets, account)
	}
	return k.err
}

func newKeychain() *keychain { return &keychain{secrets: map[string]string{}} }

func pathIn(t *testing.T) string { return filepath.Join(t.TempDir(), "home", "keys.json") }

// UI-05: a key is stored in the keychain, and the file only names it.
func TestKeychain(t *testing.T) {
	path, k := pathIn(t), newKeychain()
	s := credentials.Open(path, k)
	var heard []string
	s.OnKey(func(keys ...string) { heard = append(heard, keys...) })
	entry := credentials.Entry{Provider: "groq", Place: credentials.InKeychain, Variables: map[string]string{"GROQ_BASE_URL": "http://x"}}
	require.NoError(t, s.Put(t.Context(), entry, "the-key"))
	require.Contains(t, heard, "the-key")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "the-key")

	// Another process reads the key once, when it is needed.
	k.gets = 0
	s = credentials.Open(path, k)
	list, err := s.List()
	require.NoError(t, err)
	require.Equal(t, []credentials.Entry{entry}, list)
	require.Zero(t, k.gets)
	heard = nil
	s.OnKey(func(keys ...string) { heard = append(heard, keys...) })
	for range 2 {
		key, err := s.Key(t.Context(), "groq")
		require.NoError(t, err)
		require.Equal(t, "the-key", key)
	}
	require.Equal(t, 1, k.gets)
	require.Equal(t, []string{"the-key"}, heard)
	key, err := s.Key(t.Context(), "gemini")
	require.NoError(t, err)
	require.Empty(t, key)

	// A key in the file replaces it, and removal removes both.
	entry.Place = credentials.InFile
	require.NoError(t, s.Put(t.Context(), entry, "another"))
	require.Empty(t, k.secrets)
	key, err = s.Key(t.Context(), "groq")
	require.NoError(t, err)
	require.Equal(t, "another", key)
	found, err := s.Remove(t.Context(), "groq")
	require.NoError(t, err)
	require.True(t, found)
	found, err = credentials.Open(path, k).Remove(t.Context(), "groq")
	require.NoError(t, err)
	require.False(t, found)
}

// A keychain that fails is asked once, and the error says what to do.
func TestKeychainFails(t *testing.T) {
	path, k := pathIn(t), newKeychain()
	entry := credentials.Entry{Provider: "groq", Place: credentials.InKeychain}
	require.NoError(t, credentials.Open(path, k).Put(t.Context(), entry, "the-key"))
	k.err, k.gets = errors.New("locked"), 0
	s := credentials.Open(path, k)
	for range 2 {
		_, err := s.Key(t.Context(), "groq")
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, fault.Line(err), "The keychain of the system did not return the key of groq: locked.")
		require.Equal(t, err, s.Problem())
	}
	require.Equal(t, 1, k.gets)
	require.ErrorContains(t, s.Put(t.Context(), entry, "another"), "did not return the earlier key of groq, so it is not replaced: locked.")
	found, err := s.Remove(t.Context(), "groq")
	require.True(t, found)
	require.Contains(t, fault.Line(err), "still in the keychain")

	k.err = nil
	require.NoError(t, credentials.Open(path, k).Put(t.Context(), entry, "the-key"))
	_, err = credentials.Open(path, nil).Key(t.Context(), "groq")
	require.Contains(t, fault.Line(err), "not available here")
	delete(k.secrets, "groq")
	_, err = credentials.Open(path, k).Key(t.Context(), "groq")
	require.Contains(t, fault.Line(err), "has no key of groq any more")
}

// Entries of other processes stay, and a key that cannot be stored applies to the process.
func TestFile(t *testing.T) {
	path := pathIn(t)
	one, other := credentials.Open(path, nil), credentials.Open(path, nil)
	_, err := one.List()
	require.NoError(t, err)
	require.NoError(t, other.Put(t.Context(), credentials.Entry{Provider: "xai", Place: credentials.InFile}, "x"))
	require.NoError(t, one.Put(t.Context(), credentials.Entry{Provider: "groq", Place: credentials.InFile}, "g"))
	list, err := credentials.Open(path, nil).List()
	require.NoError(t, err)
	require.Len(t, list, 2)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.Error(t, one.Put(t.Context(), credentials.Entry{Provider: "groq"}, "two\nlines"))
	require.Error(t, one.Put(t.Context(), credentials.Entry{Provider: "groq", Place: credentials.InKeychain}, "g"), "there is no keychain")

	memory := credentials.Open("", nil)
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(memory.Put(t.Context(), credentials.Entry{Provider: "groq"}, "g")))
	memory.Use("groq", "g", nil)
	e, ok := memory.Find("groq")
	require.True(t, ok)
	require.Equal(t, credentials.InProcess, e.Place)
	key, err := memory.Key(t.Context(), "groq")
	require.NoError(t, err)
	require.Equal(t, "g", key)

	// The keys of the process do not depend on the file.
	broken := pathIn(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(broken), 0o700))
	require.NoError(t, os.WriteFile(broken, []byte("{"), 0o600))
	memory = credentials.Open(broken, nil)
	memory.Use("groq", "g", nil)
	key, err = memory.Key(t.Context(), "groq")
	require.NoError(t, err)
	require.Equal(t, "g", key)

	var none *credentials.Store
	none.OnKey(nil)
	_, ok = none.Find("groq")
	require.False(t, ok)
	require.NoError(t, none.Problem())
}

// A file that is not the user's own, or is no list of keys, is neither used nor
// overwritten, and no error quotes it.
func TestFileOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode")
	}
	const valid = `{"providers": {"groq": {"key": "the-key"}}}`
	for name, prepare := range map[string]func(path string) error{
		"readable by others": func(path string) error { return os.Chmod(path, 0o640) },
		"symbolic link":      func(path string) error { return errors.Join(os.Rename(path, path+".2"), os.Symlink(path+".2", path)) },
		"invalid":            func(path string) error { return os.WriteFile(path, []byte(`{"providers": ["the-key"`), 0o600) },
		"directory":          func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"another user": func(path string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(path, 0o644) // only root can give a file away
			}
			return os.Chown(path, 65534, 65534)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.json")
			require.NoError(t, os.WriteFile(path, []byte(valid), 0o600))
			require.NoError(t, prepare(path))
			s := credentials.Open(path, nil)
			key, err := s.Key(t.Context(), "groq")
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.Empty(t, key)
			require.NotContains(t, err.Error(), "the-key")
			before, _ := os.Lstat(path)
			require.Error(t, s.Put(t.Context(), credentials.Entry{Provider: "groq", Place: credentials.InFile}, "x"))
			after, _ := os.Lstat(path)
			require.True(t, os.SameFile(before, after))
			_, err = s.Remove(t.Context(), "groq")
			require.Error(t, err)
		})
	}
}
