package transcript_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

func ids(list []transcript.Summary) []string {
	var all []string
	for _, s := range list {
		all = append(all, s.ID)
	}
	return all
}

// List returns only sessions with a conversation, the newest last, numbered from one, without those
// of subagents.
func TestList(t *testing.T) {
	s, dir := store(t)
	list, problems, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	require.Empty(t, problems)
	require.NoDirExists(t, dir, "nothing is made to look")

	recorded(t, s, "first", "  The first\n prompt ")
	w := create(t, s, "silent")
	require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: answer("nobody asked")}))
	require.NoError(t, w.Close())
	sub, err := s.Create(t.Context(), transcript.Header{ID: "child", Kind: transcript.KindSubagent, Parent: "first"})
	require.NoError(t, err)
	say(t, sub, "task", "done")
	require.NoError(t, sub.Close())
	recorded(t, s, "second", "The second")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))

	list, problems, err = s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Equal(t, []string{"first", "second"}, ids(list))
	require.Equal(t, 1, list[0].Index)
	require.Equal(t, 2, list[1].Index)
	require.Equal(t, "The first prompt", list[0].Title)
	require.Equal(t, 2, list[0].Turns)
	require.True(t, list[0].Updated.After(list[0].StartTime))
	require.Equal(t, "m", list[0].Model)

	// A copy is the same session.
	data, err := os.ReadFile(list[0].Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "session-2020-01-01T00-00-first.jsonl"), data, 0o600))
	list, _, err = s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, ids(list))
}

func TestFind(t *testing.T) {
	s, _ := store(t)
	_, err := s.Find(t.Context(), "latest")
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(err))
	for _, id := range []string{"aa11", "aa22", "bb33", "2", "77"} {
		recorded(t, s, id, "prompt of "+id)
	}
	create(t, s, "zz-empty")
	for ref, want := range map[string]string{
		"latest": "77", "": "77", "aa11": "aa11", "bb": "bb33", "aa2": "aa22", "1": "aa11", "3": "bb33",
		"2":  "2",  // a complete id takes precedence over an index
		"77": "77", // not an index
		"7":  "77", // not an index either
	} {
		got, err := s.Find(t.Context(), ref)
		require.NoError(t, err, ref)
		require.Equal(t, want, got.ID, ref)
	}
	for ref, message := range map[string]string{"aa": "2 recorded sessions", "0": "no recorded session", "-1": "no recorded session", "99": "no recorded session", "../x": "no recorded session", "zz": "no recorded session"} {
		_, err := s.Find(t.Context(), ref)
		require.Equal(t, fault.SessionNotFound, fault.CodeOf(err), ref)
		require.Contains(t, fault.As(err).Message, message)
		require.NotEmpty(t, fault.As(err).Remedy)
	}
	// "latest" is the session used last, not the one begun last.
	w, _, err := s.Open(t.Context(), "bb33")
	require.NoError(t, err)
	say(t, w, "more")
	got, err := s.Find(t.Context(), "latest")
	require.NoError(t, err)
	require.Equal(t, "bb33", got.ID)
	require.Equal(t, 3, got.Index)
	require.NoError(t, w.Close())
}

// A session is removed with its files and its subagents, or not at all.
func TestDelete(t *testing.T) {
	s, dir := store(t)
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(s.Delete(t.Context(), "none")))
	w := create(t, s, "parent")
	saved, err := w.Save(t.Context(), "tool", []byte("x"))
	require.NoError(t, err)
	say(t, w, "a", "b")
	var grandchild *transcript.Writer
	for child, parent := range map[string]string{"child": "parent", "grandchild": "child", "stranger": "other"} {
		c, err := s.Create(t.Context(), transcript.Header{ID: child, Kind: transcript.KindSubagent, Parent: parent})
		require.NoError(t, err)
		say(t, c, "x", "y")
		if child == "grandchild" {
			grandchild = c
			continue
		}
		require.NoError(t, c.Close())
	}
	kept := recorded(t, s, "kept", "k")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(s.Delete(t.Context(), "parent")), "it is being recorded")
	require.NoError(t, w.Close())
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(s.Delete(t.Context(), "parent")), "its subagent's is")
	require.FileExists(t, saved)
	for _, id := range []string{"parent", "child", "grandchild"} {
		load(t, s, id)
	}
	require.NoError(t, grandchild.Close())
	require.NoError(t, s.Delete(t.Context(), "parent"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.FileExists(t, kept)
	load(t, s, "stranger")
}

func TestCleanup(t *testing.T) {
	const day = 24 * time.Hour
	now := noon
	s, dir := store(t, func(o *transcript.Options) { o.Now = func() time.Time { return now } })
	at := func(age time.Duration, id string, h transcript.Header) string {
		now = noon.Add(-age)
		h.ID = id
		w, err := s.Create(t.Context(), h)
		require.NoError(t, err)
		say(t, w, "prompt", "answer")
		require.NoError(t, w.Close())
		require.NoError(t, os.Chtimes(w.Path(), now, now))
		now = noon
		return w.Path()
	}
	setUp := func() map[string]string {
		require.NoError(t, os.RemoveAll(dir))
		paths := map[string]string{
			"old":       at(40*day, "old", transcript.Header{}),
			"old child": at(39*day, "oldchild", transcript.Header{Kind: transcript.KindSubagent, Parent: "old"}),
			"week":      at(7*day, "week", transcript.Header{}),
			"kid":       at(50*day, "kid", transcript.Header{Kind: transcript.KindSubagent, Parent: "week"}),
			"orphan":    at(35*day, "orphan", transcript.Header{Kind: transcript.KindSubagent, Parent: "gone"}),
			"day":       at(day, "day", transcript.Header{}),
			"new":       at(0, "new", transcript.Header{}),
			"damaged":   filepath.Join(dir, "session-2025-01-01T00-00-damaged.jsonl"),
			"newer":     filepath.Join(dir, "session-2025-01-01T00-00-newer.jsonl"),
			"broken":    filepath.Join(dir, "session-2025-01-01T00-00-broken.jsonl"),
		}
		require.NoError(t, os.WriteFile(paths["damaged"], []byte("\x00\x00"), 0o600))
		require.NoError(t, os.WriteFile(paths["newer"], []byte(`{"type":"session","version":9,"id":"newer"}`+"\n"), 0o600))
		require.NoError(t, os.WriteFile(paths["broken"], []byte(`{"type":`), 0o600))
		for _, name := range []string{"damaged", "newer"} {
			require.NoError(t, os.Chtimes(paths[name], noon.Add(-400*day), noon.Add(-400*day)))
		}
		require.NoError(t, os.Chtimes(paths["broken"], noon, noon)) // otherwise it may have just begun
		return paths
	}
	for name, tt := range map[string]struct {
		r    transcript.Retention
		gone []string
	}{
		"nothing said":      {transcript.Retention{}, []string{"damaged"}},
		"age":               {transcript.Retention{MaxAge: 30 * day}, []string{"damaged", "old", "old child", "orphan"}},
		"count":             {transcript.Retention{MaxCount: 2}, []string{"damaged", "old", "old child", "week", "kid", "orphan"}},
		"age and least":     {transcript.Retention{MaxAge: 30 * day, MinAge: 60 * day}, []string{"damaged"}},
		"count and least":   {transcript.Retention{MaxCount: 1, MinAge: 2 * day}, []string{"damaged", "old", "old child", "week", "kid", "orphan"}},
		"nothing just made": {transcript.Retention{MaxAge: 1, MaxCount: 1}, []string{"damaged", "old", "old child", "week", "kid", "orphan", "day"}},
	} {
		t.Run(name, func(t *testing.T) {
			paths := setUp()
			removed, err := s.Cleanup(t.Context(), tt.r)
			require.NoError(t, err)
			var want []string
			for name, path := range paths {
				if _, err := os.Lstat(path); err != nil {
					want = append(want, path)
				}
				_ = name
			}
			require.ElementsMatch(t, want, removed, "it tells what it removed")
			var gone []string
			for name, path := range paths {
				if _, err := os.Lstat(path); err != nil {
					gone = append(gone, name)
				}
			}
			require.ElementsMatch(t, tt.gone, gone)
		})
	}
	// A session that is being recorded stays.
	setUp()
	w, _, err := s.Open(t.Context(), "old")
	require.NoError(t, err)
	_, err = s.Cleanup(t.Context(), transcript.Retention{MaxAge: 30 * day})
	require.NoError(t, err)
	load(t, s, "old")
	load(t, s, "oldchild")
	require.NoError(t, w.Close())
}
