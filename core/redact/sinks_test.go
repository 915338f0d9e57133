package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// answering is a model that answers with a text, in pieces of a few bytes.
type answering string

func (s answering) Generate(context.Context, *model.Request) (*model.Response, error) {
	return nil, os.ErrInvalid
}

func (s answering) Stream(context.Context, *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		for rest := string(s); rest != ""; {
			n := min(7, len(rest))
			if !yield(&model.Chunk{Parts: []model.Part{{Text: rest[:n]}}}, nil) {
				return
			}
			rest = rest[n:]
		}
		yield(&model.Chunk{Finish: model.FinishStop}, nil)
	}
}

func (s answering) CountTokens(context.Context, *model.Request) (int, error) { return 1, nil }

// Text with the shape of a secret reaches no sink.
func TestSinks(t *testing.T) {
	store := transcript.New(transcript.Options{Dir: t.TempDir(), Now: time.Now})
	recording, err := store.Create(t.Context(), transcript.Header{ID: "one", Project: "/project", Model: "m"})
	require.NoError(t, err)
	defer recording.Close() //nolint:errcheck // it is read below
	for name, write := range map[string]func(text string) string{
		"debug log": func(text string) string {
			var b bytes.Buffer
			w := redact.NewWriter(&b, new(redact.Masker).Text)
			slog.New(slog.NewTextHandler(w, nil)).Info(text, "value", text, "json", `{"text":`+quoted(text)+`}`)
			require.NoError(t, w.Close())
			return b.String()
		},
		"log as JSON": func(text string) string {
			var b bytes.Buffer
			w := redact.NewWriter(&b, nil)
			slog.New(slog.NewJSONHandler(w, nil)).Info(text, "value", text)
			require.NoError(t, w.Close())
			require.True(t, json.Valid(b.Bytes()), b.String())
			return b.String()
		},
		"recorded session": func(text string) string {
			before, err := os.Stat(recording.Path())
			require.NoError(t, err)
			content := json.RawMessage(`{"role":"user","parts":[{"text":` + quoted(text) + `}]}`)
			args := json.RawMessage(`{"command":` + quoted(text) + `}`)
			require.NoError(t, recording.Append(t.Context(), transcript.Turn{Content: content, Calls: []transcript.ToolCall{{ID: "c", Name: "n", Args: args, Notices: []string{text}}}}))
			data, err := os.ReadFile(recording.Path())
			require.NoError(t, err)
			return string(data[before.Size():])
		},
		"recorded answers": func(text string) string {
			var b bytes.Buffer
			ask := &model.Request{Contents: []model.Content{{Role: model.RoleUser, Parts: []model.Part{{Text: text}}}}}
			for _, err := range replay.NewRecorder(&b).Wrap(answering(text)).Stream(t.Context(), ask) {
				require.NoError(t, err)
			}
			var all strings.Builder // the pieces joined
			all.WriteString(b.String())
			for line := range strings.Lines(b.String()) {
				var x struct {
					Chunks []struct {
						Parts []struct{ Text string }
					}
				}
				require.NoError(t, json.Unmarshal([]byte(line), &x))
				for _, c := range x.Chunks {
					for _, p := range c.Parts {
						all.WriteString(p.Text)
					}
				}
			}
			return all.String()
		},
		"error of a server": mcp.NewMask(mcp.ServerSpec{Name: "s"}).Hide,
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range redact.Samples() {
				written := write(s.Text)
				require.Contains(t, written, redact.Mark, s.Name)
				for _, form := range []string{s.Secret, strings.Trim(quoted(s.Secret), `"`)} {
					require.NotContains(t, written, form, "%s: %s", s.Name, s.Text)
				}
			}
		})
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
