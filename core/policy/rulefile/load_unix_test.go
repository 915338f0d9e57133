//go:build unix

package rulefile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// A pipe, a socket or a device is refused without blocking; a link to a regular file is
// followed.
func TestLoadSpecial(t *testing.T) {
	top := t.TempDir()
	pipe := filepath.Join(top, "a.toml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	target := write(t, filepath.Join(t.TempDir(), "real"), deny())
	link := filepath.Join(top, "b.toml")
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, os.Symlink(filepath.Join(top, "nothing"), filepath.Join(top, "c.toml")))
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(top, "d.toml")))

	files, problems := rulefile.Load(t.Context(), []string{top}, user)
	require.Len(t, files, 3)
	require.Equal(t, anything(pipe, policy.TierUser), files[0].StandIns)
	require.Equal(t, link, files[1].Path)
	require.Len(t, problems, 2)
	require.Equal(t, pipe, problems[0].Path)
	require.Contains(t, problems[0].Message, "regular file")
	require.Equal(t, filepath.Join(top, "d.toml"), problems[1].Path)
}

// The administrator's directory is loaded only if no other user can write to it or
// replace it.
func TestCheckAdmin(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs files of root's")
	}
	top := filepath.Join(t.TempDir(), "fettle")
	require.NoError(t, os.Mkdir(top, 0o755))
	dir := filepath.Join(top, "policies")
	require.Nil(t, rulefile.CheckAdmin(dir), "nothing is there")
	file := write(t, filepath.Join(dir, "a.toml"), deny())
	write(t, filepath.Join(dir, "readme.txt"), "")
	require.NoError(t, os.Chmod(filepath.Join(dir, "readme.txt"), 0o666))
	elsewhere := write(t, filepath.Join(t.TempDir(), "elsewhere", "b.toml"), deny())
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "b.toml")))
	require.NoError(t, os.Symlink(filepath.Join(top, "nothing"), filepath.Join(dir, "c.toml")))
	require.Nil(t, rulefile.CheckAdmin(dir))

	for name, tt := range map[string]struct {
		path string
		mode os.FileMode
		uid  int
	}{
		"directory for the group": {dir, 0o775, 0},
		"directory for all":       {dir, 0o757, 0},
		"file for all":            {file, 0o646, 0},
		"file for the group":      {file, 0o664, 0},
		"directory of another":    {dir, 0o755, 65534},
		"file of another":         {file, 0o644, 65534},
		"above, for the group":    {top, 0o775, 0},
		"above, for all":          {top, 0o757, 0},
		"above, of another":       {top, 0o755, 65534},
		"where a link leads":      {filepath.Dir(elsewhere), 0o757, 0},
		"what a link leads to":    {filepath.Join(dir, "b.toml"), 0o646, 0},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := os.Stat(tt.path)
			require.NoError(t, err)
			require.NoError(t, os.Chmod(tt.path, tt.mode))
			require.NoError(t, os.Chown(tt.path, tt.uid, -1))
			p := rulefile.CheckAdmin(dir)
			require.NoError(t, os.Chown(tt.path, 0, -1))
			require.NoError(t, os.Chmod(tt.path, info.Mode()))
			require.NotNil(t, p)
			require.Equal(t, tt.path, p.Path)
			require.Equal(t, rulefile.KindInsecure, p.Kind)
			require.Equal(t, rulefile.Warning, p.Severity)
			require.Nil(t, rulefile.CheckAdmin(dir))
		})
	}
}
