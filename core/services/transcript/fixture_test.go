package transcript_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/transcript"
)

var noon = time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)

// store returns a Store over a temporary directory, with a clock that advances by a second at each
// call.
func store(t testing.TB, change ...func(*transcript.Options)) (*transcript.Store, string) {
	t.Helper()
	o := transcript.Options{Dir: filepath.Join(t.TempDir(), "chats"), Now: ticking(noon)}
	for _, f := range change {
		f(&o)
	}
	return transcript.New(o), o.Dir
}

func ticking(at time.Time) func() time.Time {
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

func user(text string) json.RawMessage { return content("user", map[string]any{"text": text}) }

func answer(text string) json.RawMessage { return content("model", map[string]any{"text": text}) }

func content(role string, parts ...any) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"role": role, "parts": parts})
	if err != nil {
		panic(err)
	}
	return raw
}

func create(t testing.TB, s *transcript.Store, id string) *transcript.Writer {
	t.Helper()
	w, err := s.Create(t.Context(), transcript.Header{ID: id, Project: "/project", Model: "m"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// say appends turns, alternately of the user and the model.
func say(t testing.TB, w *transcript.Writer, texts ...string) {
	t.Helper()
	for i, text := range texts {
		turn := transcript.Turn{Content: user(text)}
		if i%2 == 1 {
			turn = transcript.Turn{Content: answer(text), Model: "m"}
		}
		require.NoError(t, w.Append(context.Background(), turn))
	}
}

// recorded creates a session with one prompt and its response, and closes it.
func recorded(t testing.TB, s *transcript.Store, id, prompt string) string {
	t.Helper()
	w := create(t, s, id)
	say(t, w, prompt, "answer")
	require.NoError(t, w.Close())
	return w.Path()
}

func texts(t testing.TB, history []json.RawMessage) []string {
	t.Helper()
	var all []string
	for _, raw := range history {
		var c struct {
			Parts []struct{ Text string }
		}
		require.NoError(t, json.Unmarshal(raw, &c), "%s", raw)
		text := ""
		for _, p := range c.Parts {
			text += p.Text
		}
		all = append(all, text)
	}
	return all
}

func load(t testing.TB, s *transcript.Store, id string) *transcript.Session {
	t.Helper()
	session, err := s.Load(t.Context(), id)
	require.NoError(t, err)
	return session
}

func appendRaw(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
