package mention

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// none is a workspace without the referenced files, in which every search has results.
type none struct{ searched []string }

func (f *none) Stat(_ context.Context, path string) (Found, error) {
	return Found{}, fault.New(fault.FileNotFound, "test", "There is no file "+path+".", "")
}

func (f *none) Search(_ context.Context, text string, most int) ([]string, error) {
	f.searched = append(f.searched, text)
	return []string{"/w/1", "/w/2", "/w/3", "/w/4", "/w/5", "/w/6", "/w/7"}[:most], nil
}

// Text with many @ remains unchanged and causes few searches; plain words cause none.
func TestPastedText(t *testing.T) {
	f := new(none)
	prompt := "@Override @app.route(x) @../y @. @/abs/x.go @.hidden " + strings.Repeat("@types/node ", 50)
	e, err := New(Options{Files: f}).Expand(t.Context(), prompt)
	require.NoError(t, err)
	require.Equal(t, prompt, e.Content.String())
	require.Empty(t, e.Files)
	require.Len(t, f.searched, maxSearches)
	require.Equal(t, []string{"app.route", "types/node"}, f.searched[:2])
	require.Equal(t, Notice{"@Override", "There is no file Override."}, e.Notices[0])
	require.Equal(t, Notice{"@app.route", "There is no file app.route. Files with a similar path: /w/1, /w/2, /w/3, /w/4, /w/5 and more."}, e.Notices[1])
	require.Equal(t, "There is no file types/node.", e.Notices[len(e.Notices)-1].Message)
}
