package commit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// CM-15: a file is removed only if it is unchanged, and nothing is left next to it.
func TestRemove(t *testing.T) {
	const base = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	tests := map[string]struct {
		content string // "": there is none
		hook    func(path string, s commit.Step) error
		code    fault.Code
		left    string
	}{
		"as it was": {content: "foo"},
		"another":   {content: "bar", code: fault.FileChangedSinceRead, left: "bar"},
		"gone":      {code: fault.FileChangedSinceRead},
		"saved in the moment": {content: "foo", code: fault.FileChangedSinceRead, left: "mine", hook: func(path string, s commit.Step) error {
			if s == commit.StepChecked {
				return os.WriteFile(path, []byte("mine"), 0o600)
			}
			return nil
		}},
		"failing under the temporary name": {content: "foo", code: fault.FileWriteFailure, left: "foo", hook: func(_ string, s commit.Step) error {
			if s == commit.StepExchanged {
				return os.ErrInvalid
			}
			return nil
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if tt.content != "" {
				require.NoError(t, os.WriteFile(path, []byte(tt.content), 0o600))
			}
			directory, err := os.Open(dir)
			require.NoError(t, err)
			defer func() { require.NoError(t, directory.Close()) }()
			c := commit.New(commit.Options{Hook: func(s commit.Step) error {
				if tt.hook == nil {
					return nil
				}
				return tt.hook(path, s)
			}})
			_, err = c.Remove(t.Context(), commit.Request{Dir: directory, Name: "f", Path: path, Base: base})
			require.Equal(t, tt.code, fault.CodeOf(err), "%v", err)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			if tt.left == "" {
				require.Empty(t, entries)
				return
			}
			require.Len(t, entries, 1)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.left, string(data))
		})
	}
}
