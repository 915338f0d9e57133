package chat

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/clipboard"
)

const picture = "\x89PNG\r\n\x1a\n data"

// UI-04: an image of the clipboard, and an image file outside of the project, are sent to
// the model as images with the prompt that names their token. An image of the project is
// a reference.
func TestChatAttach(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		outside := filepath.Join(t.TempDir(), "my [shot].png")
		require.NoError(t, os.WriteFile(outside, []byte(picture+"2"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(project, "in side.png"), []byte(picture), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(project, "text.png"), []byte("text"), 0o600))
		attach := func(path string, data []byte) string {
			text, err := c.Attach(ctx, path, data)
			require.NoError(t, err)
			return text
		}
		first := attach("", []byte(picture))
		require.Equal(t, "[Image 1: PNG, 1 KiB]", first)
		second := attach((&url.URL{Scheme: "file", Path: outside}).String(), nil)
		require.Equal(t, "[Image 2: my (shot).png]", second)
		require.Equal(t, `@in\ side.png`, attach(filepath.Join(project, "in side.png"), nil))

		submit(ctx, c, "Compare "+second+" and "+first+".")
		var images []string
		for _, part := range c.conversation().History()[0].Parts {
			if part.Data != nil {
				require.Equal(t, "image/png", part.Data.MIMEType)
				images = append(images, string(part.Data.Bytes))
			}
		}
		require.Equal(t, []string{picture, picture + "2"}, images)
		submit(ctx, c, "And now?")
		for _, turn := range c.conversation().History()[2:] {
			for _, part := range turn.Parts {
				require.Nil(t, part.Data)
			}
		}

		for path, want := range map[string]string{
			filepath.Join(t.TempDir(), "none.png"): "no such file",
			t.TempDir():                            "no regular file",
		} {
			_, err := c.Attach(ctx, path, nil)
			require.ErrorContains(t, err, want)
		}
		large := filepath.Join(t.TempDir(), "large.png")
		require.NoError(t, os.WriteFile(large, []byte(picture), 0o600))
		require.NoError(t, os.Truncate(large, clipboard.MaxBytes+1))
		_, err := c.Attach(ctx, large, nil)
		require.ErrorContains(t, err, "larger than 10 MiB")
		_, err = c.Attach(ctx, "", []byte("text"))
		require.ErrorContains(t, err, "no PNG")
		for range 2 * maxImages {
			attach("", []byte(picture))
		}
		require.Len(t, c.images.list, maxImages)
	})
}
