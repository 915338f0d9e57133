//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files of other users are not read: a directory or a mark of another owner is
// ignored, and directories above another user's are not searched.
func TestBoundaryOfAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for name, tt := range map[string]struct {
		theirs []string
		want   bool
	}{
		"all of one owner":       {nil, true},
		"the mark":               {[]string{"up/.git"}, false},
		"the directory":          {[]string{"up"}, false},
		"a directory on the way": {[]string{"up/mid"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			put := putting(t, top)
			put("up/.git/HEAD", "x")
			put("up/AGENTS.md", "from-above")
			put("up/mid/ws/AGENTS.md", "from-ws")
			for _, path := range tt.theirs {
				require.NoError(t, os.Chown(filepath.Join(top, path), 54321, 54321))
			}
			text := instructed(t, top, "up/mid/ws")
			require.Contains(t, text, "from-ws")
			if tt.want {
				require.Contains(t, text, "from-above")
			} else {
				require.NotContains(t, text, "from-above")
			}
		})
	}
}
