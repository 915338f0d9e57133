package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// writer is a model that writes summaries and records its requests.
type writer struct {
	reply    string
	finish   model.FinishReason
	err      error
	requests []*model.Request
}

func (w *writer) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	w.requests = append(w.requests, r)
	if w.err != nil {
		return nil, w.err
	}
	return &model.Response{
		Content: model.Content{Role: model.RoleModel, Parts: []model.Part{{Text: "thinking", Thought: true}, {Text: w.reply}}},
		Finish:  w.finish, Usage: model.Usage{Input: 100, Output: 7},
	}, nil
}

func (w *writer) Stream(context.Context, *model.Request) iter.Seq2[*model.Chunk, error] {
	panic("not used")
}

func (w *writer) CountTokens(context.Context, *model.Request) (int, error) { panic("not used") }

func userTurn(text string) model.Content { return model.UserText(text) }

func modelTurn(text string) model.Content {
	return model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(text)}}
}

// call returns a call of read_file and its result.
func call(id, output string) []model.Content {
	raw, err := json.Marshal(map[string]string{"output": output})
	if err != nil {
		panic(err)
	}
	return []model.Content{
		{Role: model.RoleModel, Parts: []model.Part{{Call: &model.FunctionCall{ID: id, Name: "read_file", Args: json.RawMessage(`{"file_path":"/a"}`)}}}},
		{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: id, Name: "read_file", Response: raw}}}},
	}
}

func history(turns ...any) []model.Content {
	var h []model.Content
	for _, t := range turns {
		switch t := t.(type) {
		case model.Content:
			h = append(h, t)
		case []model.Content:
			h = append(h, t...)
		}
	}
	return h
}

func long(word string, n int) string { return strings.Repeat(word+" ", n/(len(word)+1)) }

func estimate(h []model.Content) int { return model.EstimateTokens(&model.Request{Contents: h}) }

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// compacting runs one compaction and checks the invariants.
func compacting(t testing.TB, c agent.Compactor, g model.Generator, h []model.Content, change ...func(*agent.CompactRequest)) (agent.Compaction, error) {
	t.Helper()
	require.NoError(t, agent.ValidHistory(h), "the test's own history")
	r := agent.CompactRequest{History: h, Generator: g, Model: "m", Limit: 1 << 20}
	for _, f := range change {
		f(&r)
	}
	before := asJSON(t, h)
	got, err := c.Compact(t.Context(), r)
	require.Equal(t, before, asJSON(t, h), "the history given is not changed")
	require.Equal(t, estimate(h), got.Before)
	if err != nil || !got.Status.Changed() {
		require.Nil(t, got.History)
		return got, err
	}
	require.NoError(t, agent.ValidHistory(got.History))
	require.Equal(t, estimate(got.History), got.After)
	require.Less(t, got.After, got.Before)
	return got, nil
}

func forced(r *agent.CompactRequest) { r.Force = true }

// text returns the whole text of a request.
func text(r *model.Request) string {
	all := r.System
	for _, c := range r.Contents {
		all += "\n" + c.Text()
	}
	return all
}

func lines(r *model.Request) []map[string]any {
	var all []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(r.Contents[0].Parts[0].Text), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			panic(fmt.Sprintf("%v: %.200s", err, line))
		}
		all = append(all, v)
	}
	return all
}
