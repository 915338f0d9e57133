//go:build unix

package clipboard

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs makes the given shell scripts the only programs.
func programs(t *testing.T, scripts map[string]string) Reader {
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	return Reader{OS: "linux", Look: func(name string) (string, error) {
		if _, is := scripts[name]; !is {
			return "", exec.ErrNotFound
		}
		return filepath.Join(dir, name), nil
	}}
}

const png = `printf '\211PNG\r\n\032\n data'`

// The first program with an image counts; a failing one, or one without an image, does
// not.
func TestImage(t *testing.T) {
	tests := map[string]struct {
		scripts map[string]string
		want    string
		err     string
	}{
		"wayland": {map[string]string{"wl-paste": `[ "$*" = "--no-newline --type image/png" ] && ` + png}, "\x89PNG\r\n\x1a\n data", ""},
		"x11":     {map[string]string{"wl-paste": "exit 1", "xclip": `[ "$5" = -out ] && ` + png}, "\x89PNG\r\n\x1a\n data", ""},
		"text":    {map[string]string{"xclip": "echo text"}, "", "the clipboard has no image"},
		"empty":   {map[string]string{"wl-paste": "exit 1"}, "", "the clipboard has no image"},
		"none":    {nil, "", "no program reads images of the clipboard: install wl-clipboard (Wayland) or xclip (X11)"},
		"large":   {map[string]string{"xclip": png + `; exec cat /dev/zero`}, "", "the image is larger than 10 MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := programs(t, tt.scripts).Image(t.Context())
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, string(data))
		})
	}
}

// A cancelled reading ends its program.
func TestImageCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := programs(t, map[string]string{"xclip": "exec sleep 600"}).Image(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begun), readTime)
}

func TestSystems(t *testing.T) {
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	_, err := Reader{OS: "darwin", Look: missing}.Image(t.Context())
	require.ErrorContains(t, err, "install pngpaste")
	_, err = Reader{OS: "windows", Look: missing}.Image(t.Context())
	require.ErrorContains(t, err, "type @ and its path")
	require.Equal(t, "image/webp", Type([]byte("RIFF\x00\x00\x00\x00WEBPVP8 ")))
	require.Empty(t, Type([]byte("%PDF-1.7")))
}
