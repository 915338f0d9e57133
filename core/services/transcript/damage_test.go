package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// After a crash at any byte of the last line, all acknowledged turns are there, the next Open
// repairs the file, and the recording continues.
func TestTornLastLine(t *testing.T) {
	s, _ := store(t)
	path := recorded(t, s, "one", "hello")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	body := strings.TrimSuffix(string(whole), "\n")
	lastLine := strings.LastIndexByte(body, '\n') + 1
	step := max(1, (len(whole)-lastLine)/25)
	for cut := lastLine + 1; cut <= len(body); cut = min(cut+step, max(len(body), cut+1)) {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		want := []string{"hello"}
		if cut == len(body) { // only the line break is missing
			want = append(want, "answer")
		}
		got := load(t, s, "one")
		require.Equal(t, want, texts(t, got.History()))
		require.Equal(t, cut != len(body), len(got.Problems) == 1, "%d: %v", cut, got.Problems)

		w, got, err := s.Open(t.Context(), "one")
		require.NoError(t, err)
		require.Equal(t, want, texts(t, got.History()))
		if cut < len(body) {
			require.Contains(t, got.Problems[0].Message, "incomplete")
			require.Equal(t, 3, got.Problems[0].Line)
		}
		say(t, w, "on")
		require.NoError(t, w.Close())
		got = load(t, s, "one")
		require.Equal(t, append(want, "on"), texts(t, got.History()))
		require.Empty(t, got.Problems, "it was mended")
	}
}

// Unreadable lines in the middle are ignored and reported, and move no other turn.
func TestDamageInTheMiddle(t *testing.T) {
	for name, bad := range map[string]string{
		"no JSON":           "{{{",
		"NULs":              strings.Repeat("\x00", 300),
		"another type":      `{"type":"future","keep":1}`,
		"no type":           `{}`,
		"a list":            `[1]`,
		"no turn":           `{"type":"turn","at":1,"content":"x"}`,
		"no role":           `{"type":"turn","at":1,"content":{"role":"tool"}}`,
		"negative place":    `{"type":"turn","at":-1,"content":{"role":"user"}}`,
		"negative rewind":   `{"type":"rewind","keep":-3}`,
		"bad replacement":   `{"type":"replace","history":[{"role":"user"},7]}`,
		"second beginning":  `{"type":"session","version":1,"id":"two"}`,
		"number too large":  `{"type":"turn","at":1e99,"content":{"role":"user"}}`,
		"time out of range": `{"type":"title","time":"99999-01-01T00:00:00Z","title":"x"}`,
		"empty line":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := store(t)
			path := recorded(t, s, "one", "hello")
			appendRaw(t, path, bad+"\n")
			w, got, err := s.Open(t.Context(), "one")
			require.NoError(t, err)
			require.Len(t, got.Problems, 1)
			require.Equal(t, 4, got.Problems[0].Line)
			require.Equal(t, path, got.Problems[0].Path)
			say(t, w, "on")
			require.NoError(t, w.Close())
			got = load(t, s, "one")
			require.Equal(t, []string{"hello", "answer", "on"}, texts(t, got.History()))
			require.Len(t, got.Problems, 1, "it is told at each load")
		})
	}
}

// A lost turn does not move the turns after it when the history is rewound.
func TestPlacesHoldAfterALoss(t *testing.T) {
	s, _ := store(t)
	w := create(t, s, "one")
	say(t, w, "a", "b", "c", "d")
	require.NoError(t, w.Rewind(t.Context(), 3, 0))
	say(t, w, "e", "f")
	require.NoError(t, w.Close())
	data, err := os.ReadFile(w.Path())
	require.NoError(t, err)
	lines := strings.SplitAfter(string(data), "\n")

	without := func(n int) []string {
		left := append(append([]string{}, lines[:n]...), "damaged\n")
		require.NoError(t, os.WriteFile(w.Path(), []byte(strings.Join(append(left, lines[n+1:]...), "")), 0o600))
		return texts(t, load(t, s, "one").History())
	}
	require.Equal(t, []string{"a", "c", "e", "f"}, without(2), "b is lost")
	require.Equal(t, []string{"a", "b", "c", "e", "f"}, without(5), "the rewind is lost, and shows in the place of e")

	// After Open, positions are those of the remaining history.
	without(2)
	w, got, err := s.Open(t.Context(), "one")
	require.NoError(t, err)
	require.Len(t, got.Turns, 4)
	require.NoError(t, w.Rewind(t.Context(), 3, 0))
	require.NoError(t, w.Close())
	require.Equal(t, []string{"a", "c", "e"}, texts(t, load(t, s, "one").History()))
}

func TestManyProblemsAreCounted(t *testing.T) {
	s, _ := store(t)
	path := recorded(t, s, "one", "hello")
	appendRaw(t, path, strings.Repeat("damaged\n", 500))
	got := load(t, s, "one")
	require.Len(t, got.Problems, 21)
	require.Equal(t, "480 more lines cannot be read.", got.Problems[20].Message)
}

// A file without a session header is not a recording, and is reported as such.
func TestNoRecording(t *testing.T) {
	for name, first := range map[string]string{
		"empty": "", "no JSON": "hello\n", "a turn": `{"type":"turn","at":0,"content":{"role":"user"}}` + "\n", "bad id": `{"type":"session","version":1,"id":"../x"}` + "\n",
		"newer": `{"type":"session","version":99,"id":"one"}` + "\n", "long": `{"type":"session","version":1,"id":"one","model":"` + strings.Repeat("x", 2<<20) + `"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := store(t)
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "session-2026-01-01T00-00-one.jsonl"), []byte(first), 0o600))
			_, err := s.Load(t.Context(), "one")
			require.Equal(t, fault.SessionUnreadable, fault.CodeOf(err))
			require.NotEmpty(t, fault.As(err).Remedy)
			recorded(t, s, "two", "good")
			if name == "long" {
				return // List reads them
			}
			list, problems, err := s.List(t.Context())
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Len(t, problems, 1)
			require.Contains(t, problems[0].Path, "one.jsonl")
		})
	}
}

// Invalid JSON in an older line never makes a reader fail. A history that was read can be recorded
// and read again.
func FuzzLoad(f *testing.F) {
	fuzzseed.Add(f)
	head := `{"type":"session","version":1,"id":"one","startTime":"2026-01-01T00:00:00Z"}` + "\n"
	turn := `{"type":"turn","id":"1","at":0,"time":"2026-01-01T00:00:00Z","content":{"role":"user","parts":[{"text":"a"}]},"highestVersion":3}` + "\n"
	for _, seed := range []string{
		"", head, head + turn, head + turn + turn, head + turn[:40], head + `{"type":"rewind","keep":0}` + "\n" + turn,
		head + `{"type":"replace","history":[{"role":"user"},{"role":"model"}]}` + "\n", head + `{"type":"title","title":"t"}`,
		strings.TrimSpace(head), head + "\x00\xff\n" + turn, head + `{"type":"turn","at":9223372036854775807,"content":{"role":"user"}}` + "\n" + turn,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, dir := store(t)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		path := filepath.Join(dir, "session-2026-01-01T00-00-one.jsonl")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, _, err := s.List(t.Context())
		require.NoError(t, err)
		before, err := s.Load(t.Context(), "one")
		if err != nil {
			require.Contains(t, []fault.Code{fault.SessionUnreadable, fault.SessionNotFound}, fault.CodeOf(err))
			return
		}
		w, opened, err := s.Open(t.Context(), "one")
		require.NoError(t, err)
		require.Equal(t, before.History(), opened.History())
		require.NoError(t, w.Append(t.Context(), transcript.Turn{Content: user("on"), Highest: 1}))
		require.NoError(t, w.Close())
		after := load(t, s, "one")
		require.Equal(t, append(compact(t, before.History()), user("on")), compact(t, after.History()))
		require.GreaterOrEqual(t, after.Highest, before.Highest)
	})
}

// compact returns contents in compact JSON.
func compact(t testing.TB, history []json.RawMessage) []json.RawMessage {
	t.Helper()
	same := make([]json.RawMessage, len(history))
	for i, raw := range history {
		same[i], _ = json.Marshal(raw)
	}
	return same
}
