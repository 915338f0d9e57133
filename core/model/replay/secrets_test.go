package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
)

func TestSecretsAreHidden(t *testing.T) {
	const key = `sk-ant-"quoted"-key`
	var out bytes.Buffer
	g := &scripted{answers: [][]*model.Chunk{chunksOf("the key is " + key + ".")}, errs: []error{&model.Error{Provider: "p", Kind: model.Connection, Message: "with " + key}}}
	r := ask("my key is " + key)
	recorder := replay.NewRecorder(&out, "", "key")
	recorder.Hide(key)
	_, _ = all(t, recorder.Wrap(g).Stream(t.Context(), r))
	require.NotContains(t, out.String(), "quoted")
	require.Equal(t, 3, strings.Count(out.String(), "[masked]"))
	require.Contains(t, out.String(), "the key is [masked].", "a short text is not a secret")
	chunks, _ := all(t, play(t, out.String(), replay.Strict).Stream(t.Context(), r))
	require.Equal(t, "the key is [masked].", chunks[0].Parts[0].Text)
}

// A key is masked wherever the chunks of a response split it: in text, thoughts and arguments, and
// where an excerpt ends within it. Numbers stay numbers, and the caller gets the original.
func TestSplitSecretsAreHidden(t *testing.T) {
	const key = `sk-"QWERTZUIOP`
	for cut := 1; cut < len(key); cut++ {
		texts, thoughts := chunksOf("the key ", "is "+key[:cut], key[cut:]+", and "+key[:cut], "", key[cut:]), chunksOf(key[:cut], key[cut:])
		for _, c := range thoughts[:2] {
			c.Parts[0].Thought = true
		}
		args, err := json.Marshal(map[string]string{"inner": `{"key":` + fmt.Sprintf("%q", key) + `}`})
		require.NoError(t, err)
		call := &model.Chunk{Parts: []model.Part{{Call: &model.FunctionCall{ID: "1", Name: "look", Args: args}}, {Data: &model.Data{Name: key}}}}
		answer := append(append(slices.Clip(texts[:3]), append(thoughts[:2], texts[3:5]...)...), call,
			&model.Chunk{Finish: model.FinishStop, Usage: &model.Usage{Input: 4242424242}})
		r := ask(strings.Repeat("x", 60-cut)+key, strings.Repeat(" ", 480-cut)+key)

		var out bytes.Buffer
		got, err := all(t, replay.NewRecorder(&out, key, "RTZUIOP", "42424").Wrap(&scripted{answers: [][]*model.Chunk{answer}}).Stream(t.Context(), r))
		require.NoError(t, err)
		require.Equal(t, key, got[len(got)-2].Parts[1].Data.Name)
		for i := range len("QWERTZUIOP") - 1 {
			require.NotContains(t, out.String(), "QWERTZUIOP"[i:i+2], "cut at %d", cut)
		}
		require.NotContains(t, out.String(), "sk-")
		chunks, err := all(t, play(t, out.String(), replay.Strict).Stream(t.Context(), r))
		require.NoError(t, err)
		var c model.Collector
		for i := range chunks {
			c.Add(chunks[i])
		}
		require.Equal(t, 4242424242, c.Response().Usage.Input)
		text := ""
		for _, p := range c.Response().Content.Parts {
			if !p.Thought {
				text += p.Text
			}
		}
		require.Equal(t, "the key is [masked], and [masked]", text)
	}
}

type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// A recording that cannot be written does not end the conversation.
func TestWriterFails(t *testing.T) {
	recorder := replay.NewRecorder(&fullDisk{left: 1})
	r, err := recorder.Wrap(&scripted{answers: [][]*model.Chunk{chunksOf("ok")}}).Generate(t.Context(), ask("q"))
	require.NoError(t, err)
	require.Equal(t, "ok", r.Content.Text())
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(recorder.Err()))
}
