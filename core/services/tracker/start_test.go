package tracker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/instructions"
)

// FT-13: instructions of the beginning are loaded once, not again by an access, and again after
// ClearSession.
func TestBegin(t *testing.T) {
	f := newFixture(t)
	f.write("AGENTS.md", "root")
	f.write("a/AGENTS.md", "below")
	f.write("a/x.go", "x")
	asked := 0
	begin := func() []string {
		docs, err := f.LoadAtStart(t.Context(), func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
			asked++
			return instructions.New(f.files, instructions.Options{}).For(ctx, f.path("x"), known)
		})
		require.NoError(t, err)
		var texts []string
		for _, d := range docs {
			texts = append(texts, d.Text)
		}
		return texts
	}
	_, err := f.LoadAtStart(t.Context(), func(context.Context, func(string) bool) ([]instructions.Document, error) {
		return nil, errors.New("no")
	})
	require.Error(t, err)
	require.Equal(t, []string{"root"}, begin(), "after a failure it is tried again")
	require.Equal(t, []string{"root"}, begin())
	require.Equal(t, 1, asked)
	f.Accessed(t.Context(), f.path("a/x.go"))
	require.Len(t, f.LoadedByAccess(), 1, "the file below alone")
	require.Equal(t, "below", f.LoadedByAccess()[0].Text)

	f.ClearSession()
	require.Empty(t, f.LoadedByAccess())
	f.Accessed(t.Context(), f.path("a/x.go"))
	require.Len(t, f.LoadedByAccess(), 2)
	require.Empty(t, begin(), "given by the access already")
	require.Equal(t, 2, asked)
}
