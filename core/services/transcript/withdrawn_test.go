package transcript_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/transcript"
)

// A session whose only prompt was withdrawn is listed, found and kept like any other, with that
// prompt.
func TestWithdrawnPrompt(t *testing.T) {
	now := noon
	s, _ := store(t, func(o *transcript.Options) { o.Now = func() time.Time { now = now.Add(time.Second); return now } })
	recorded(t, s, "first", "The first")
	w := create(t, s, "cut")
	say(t, w, "The lost one")
	require.NoError(t, w.Rewind(t.Context(), 0, 0))
	require.NoError(t, w.Close())

	list, _, err := s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"first", "cut"}, ids(list))
	require.False(t, list[0].Interrupted)
	require.True(t, list[1].Interrupted)
	require.Zero(t, list[1].Turns)
	require.Equal(t, "The lost one", list[1].Title)
	for _, ref := range []string{"cut", "cu", "2", "latest", ""} {
		got, err := s.Find(t.Context(), ref)
		require.NoError(t, err, ref)
		require.Equal(t, list[1], got, ref)
	}
	got := load(t, s, "cut")
	require.True(t, got.Interrupted)
	require.Empty(t, got.Turns)
	require.Len(t, got.Withdrawn, 1)
	require.JSONEq(t, string(user("The lost one")), string(got.Withdrawn[0].Content))

	old := noon.Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(w.Path(), old, old))
	removed, err := s.Cleanup(t.Context(), transcript.Retention{})
	require.NoError(t, err)
	require.Empty(t, removed)

	// A continued session is like any other, and still lists the withdrawn prompt.
	w, session, err := s.Open(t.Context(), "cut")
	require.NoError(t, err)
	require.Empty(t, session.Turns)
	say(t, w, "Again", "answer", "Lost too")
	require.NoError(t, w.Rewind(t.Context(), 2, 0))
	got = load(t, s, "cut")
	require.False(t, got.Interrupted)
	require.Equal(t, []string{"Again", "answer"}, texts(t, got.History()))
	require.Equal(t, []int{0, 2}, []int{got.Withdrawn[0].At, got.Withdrawn[1].At})
	list, _, err = s.List(t.Context())
	require.NoError(t, err)
	require.False(t, list[1].Interrupted)
	require.Equal(t, 2, list[1].Turns)
}
