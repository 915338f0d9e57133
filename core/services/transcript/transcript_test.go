package transcript_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Loading returns the recorded data.
func TestRoundTrip(t *testing.T) {
	s, dir := store(t)
	h := transcript.Header{
		ID: "abcdefghijkl", Kind: transcript.KindMain, Project: "/project", Directories: []string{"/other"}, StartTime: noon, Model: "gemini-x",
	}
	w, err := s.Create(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "session-2026-03-04T12-30-abcdefgh.jsonl"), w.Path())
	require.Equal(t, h.ID, w.ID())
	turns := []transcript.Turn{
		{Content: json.RawMessage(`{"role":"user","parts":[{"text":"<b> & \u2028 9007199254740993"}]}`), Time: noon.Add(time.Minute)},
		{
			Content: json.RawMessage(`{"role":"model","parts":[{"functionCall":{"id":"c1","name":"read_file","args":{"n":9007199254740993}}}]}`),
			Time:    noon.Add(2 * time.Minute), Model: "gemini-x", Usage: json.RawMessage(`{"input":3}`), Highest: 1,
		},
		{
			Content: json.RawMessage(`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"x"}}}]}`),
			Time:    noon.Add(3 * time.Minute), Highest: 7,
			Calls: []transcript.ToolCall{{ID: "c1", Name: "read_file", Args: json.RawMessage(`{}`), Status: "success", Display: json.RawMessage(`"Read"`), Notices: []string{"n"}}},
		},
	}
	for _, turn := range turns {
		require.NoError(t, w.Append(t.Context(), turn))
	}
	for i := range turns {
		turns[i].ID = string(rune('1' + i))
	}
	check := func(got *transcript.Session, err error) {
		require.NoError(t, err)
		require.Equal(t, h, got.Header)
		require.Equal(t, turns, got.Turns)
		require.Equal(t, int64(7), got.Highest) // AR-04
		require.Equal(t, noon.Add(3*time.Minute), got.Updated)
		require.Equal(t, "<b> & 9007199254740993", got.Title)
		require.Empty(t, got.Problems)
		require.Len(t, got.History(), 3)
	}
	check(s.Load(t.Context(), h.ID)) // during the recording
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	check(s.Load(t.Context(), h.ID))
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(w.Append(t.Context(), turns[0])), "it was closed")

	data, err := os.ReadFile(w.Path())
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(data), "\n")
	require.JSONEq(t, `{"type":"session","version":1,"id":"abcdefghijkl","kind":"main","project":"/project","directories":["/other"],"startTime":"2026-03-04T12:30:00Z","model":"gemini-x"}`, first)
	require.Equal(t, 4, strings.Count(string(data), "\n"))
}

// A history can be rewound, replaced and continued.
func TestRewindAndReplace(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	say(t, w, "a", "b", "c", "d")
	require.NoError(t, w.Rewind(t.Context(), 2, 5))
	require.Equal(t, []string{"a", "b"}, texts(t, load(t, s, "one").History()))
	say(t, w, "e", "f")
	require.Equal(t, []string{"a", "b", "e", "f"}, texts(t, load(t, s, "one").History()))
	require.NoError(t, w.Rewind(t.Context(), 9, 0), "there is nothing to drop")
	require.NoError(t, w.Replace(t.Context(), []json.RawMessage{user("summary"), answer("understood")}, 8))
	say(t, w, "g")
	got := load(t, s, "one")
	require.Equal(t, []string{"summary", "understood", "g"}, texts(t, got.History()))
	require.Equal(t, int64(8), got.Highest, "versions outlive what they stood in")
	require.Equal(t, "a", got.Title, "the title is of the first words, not of a summary")
	require.Equal(t, "7", got.Turns[2].ID, "numbers are not given twice")
	require.NoError(t, w.Rewind(t.Context(), -1, 0))
	require.Empty(t, load(t, s, "one").Turns)
	require.NoError(t, w.SetTitle(t.Context(), "A\ntitle\x1b[31m "+strings.Repeat("é", 200)))
	require.Equal(t, 100, len([]rune(load(t, s, "one").Title)))
	require.True(t, strings.HasPrefix(load(t, s, "one").Title, "A title[31m é"), "no escapes for terminals")
}

// Turns that a new history keeps have their calls, times and models afterwards, also behind a
// summary.
func TestReplaceKeepsCalls(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	say(t, w, "a", "b")
	results := transcript.Turn{Content: user("results"), Model: "gemini-x", Calls: []transcript.ToolCall{{ID: "1", Name: "read_file", Display: json.RawMessage(`"shown"`)}}}
	require.NoError(t, w.Append(t.Context(), results))
	say(t, w, "a")
	for _, history := range [][]json.RawMessage{{user("a"), user("b"), user("results")}, {user("summary"), user("results")}} {
		require.NoError(t, w.Replace(t.Context(), history, 0))
		got := load(t, s, "one").Turns
		last := got[len(got)-1]
		require.Equal(t, "3", last.ID)
		require.Equal(t, "gemini-x", last.Model)
		require.Equal(t, results.Calls, last.Calls)
	}
	require.Empty(t, load(t, s, "one").Turns[0].ID, "a new turn")
}

// A resumed session continues at its last state.
func TestOpenGoesOn(t *testing.T) {
	s, _ := store(t)
	path := recorded(t, s, "one", "hello")
	require.NoError(t, os.Chmod(path, 0o644))
	w, got, err := s.Open(t.Context(), "one")
	require.NoError(t, err)
	defer w.Close()
	require.Equal(t, []string{"hello", "answer"}, texts(t, got.History()))
	say(t, w, "again")
	after := load(t, s, "one")
	require.Equal(t, []string{"hello", "answer", "again"}, texts(t, after.History()))
	require.Equal(t, "3", after.Turns[2].ID)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())
}

func TestModes(t *testing.T) {
	s, dir := store(t)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	w := create(t, s, "one")
	saved, err := w.Save(t.Context(), "run_shell_command/../x", []byte("long"))
	require.NoError(t, err)
	side, err := s.SideDir("one")
	require.NoError(t, err)
	require.Equal(t, side, filepath.Dir(saved))
	for path, want := range map[string]string{dir: "drwx------", w.Path(): "-rw-------", side: "drwx------", saved: "-rw-------"} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().String(), path)
	}
}

func TestEmptySessionLeavesNoFile(t *testing.T) {
	s, dir := store(t)
	w := create(t, s, "one")
	require.FileExists(t, w.Path())
	require.NoError(t, w.SetTitle(t.Context(), "nothing yet"))
	require.NoError(t, w.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestIDs(t *testing.T) {
	s, dir := store(t)
	recorded(t, s, "taken", "x")
	for _, bad := range []string{"", "a/b", "..", "../../etc/passwd", "a b", "a\x00", "é", "a.b", "latest", "taken", strings.Repeat("a", 129)} {
		_, err := s.Create(t.Context(), transcript.Header{ID: bad})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%q", bad)
		require.NotEmpty(t, fault.As(err).Remedy)
		if bad == "taken" {
			continue
		}
		_, err = s.Load(t.Context(), bad)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%q", bad)
		_, _, err = s.Open(t.Context(), bad)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%q", bad)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.Delete(t.Context(), bad)), "%q", bad)
		_, err = s.SideDir(bad)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%q", bad)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	// Two ids with the same prefix, created in the same minute.
	a, b := create(t, s, "12345678-a"), create(t, s, "12345678-b")
	require.NotEqual(t, a.Path(), b.Path())
	say(t, a, "a")
	say(t, b, "b")
	require.Equal(t, "a", load(t, s, "12345678-a").Title)
	require.Equal(t, "b", load(t, s, "12345678-b").Title)
	_, err = s.Load(t.Context(), "12345678")
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(err))
}

// A session has at most one Writer, in one process or in two: the lock belongs to the descriptor.
func TestLock(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	say(t, w, "a")
	_, _, err := s.Open(t.Context(), "one")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "in use by another process")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(s.Delete(t.Context(), "one")))
	say(t, w, "b")
	require.NoError(t, w.Close())
	w, _, err = s.Open(t.Context(), "one")
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

// A turn that cannot be encoded is refused, and the recording continues.
func TestRefusedTurn(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	for _, bad := range []transcript.Turn{
		{}, {Content: json.RawMessage(`{"role":`)}, {Content: json.RawMessage(`[]`)}, {Content: json.RawMessage(`{"role":"system"}`)},
		{Content: user("x"), Usage: json.RawMessage("{")},
	} {
		require.Equal(t, fault.SessionUnreadable, fault.CodeOf(w.Append(t.Context(), bad)))
	}
	require.Error(t, w.Replace(t.Context(), []json.RawMessage{json.RawMessage("no")}, 0))
	say(t, w, "good")
	got := load(t, s, "one")
	require.Equal(t, []string{"good"}, texts(t, got.History()))
	require.Empty(t, got.Problems)
}

// The end of a conversation is recorded although its context has ended.
func TestAppendAfterCancel(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.Append(ctx, transcript.Turn{Content: user("last words")}))
	require.Equal(t, []string{"last words"}, texts(t, load(t, s, "one").History()))
	_, err := s.Create(ctx, transcript.Header{ID: "two"})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	_, _, err = s.List(ctx)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// A recording has a size limit; at the limit it ends, and the existing lines stay.
func TestSizeLimit(t *testing.T) {
	s, _ := store(t, func(o *transcript.Options) { o.MaxBytes = 2000 })
	w := create(t, s, "one")
	say(t, w, "small")
	err := w.Append(t.Context(), transcript.Turn{Content: user(strings.Repeat("x", 2000))})
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "2000 bytes")
	require.Equal(t, err, w.Append(t.Context(), transcript.Turn{Content: user("y")}), "recording has ended")
	require.Equal(t, err, w.Rewind(t.Context(), 0, 0))
	require.Equal(t, err, w.Replace(t.Context(), nil, 0))
	require.Equal(t, []string{"small"}, texts(t, load(t, s, "one").History()))
	require.NoError(t, w.Close())
	appendRaw(t, w.Path(), strings.Repeat(" ", 2000))
	_, err = s.Load(t.Context(), "one")
	require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
}

// Concurrent appends each have their own position.
func TestConcurrentAppends(t *testing.T) {
	s, _ := store(t, func(o *transcript.Options) { o.Now = nil })
	w := create(t, s, "one")
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for range 5 {
				if err := w.Append(context.Background(), transcript.Turn{Content: user("x"), Highest: int64(g)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	_, _, err := s.List(t.Context()) // concurrently
	require.NoError(t, err)
	all.Wait()
	got := load(t, s, "one")
	require.Len(t, got.Turns, 40)
	require.Empty(t, got.Problems)
	require.Equal(t, int64(7), got.Highest)
	seen := map[string]bool{}
	for _, turn := range got.Turns {
		seen[turn.ID] = true
	}
	require.Len(t, seen, 40)
}
