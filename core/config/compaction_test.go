package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

// cutting is a Compactor that cuts answers.
type cutting struct{ ids []string }

func (c *cutting) Compact(_ context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	var history []model.Content
	for _, turn := range r.History {
		parts := append([]model.Part(nil), turn.Parts...)
		for i, p := range parts {
			for _, id := range c.ids {
				if p.Response != nil && p.Response.ID == id {
					parts[i].Response = &model.FunctionResponse{ID: id, Name: p.Response.Name, Response: json.RawMessage(`{"output":"cut"}`)}
				}
			}
		}
		history = append(history, model.Content{Role: turn.Role, Parts: parts})
	}
	return agent.Compaction{Status: agent.CompactionTruncated, History: history}, nil
}

// restatedIn returns the restated files in a history.
func restatedIn(t *testing.T, history []model.Content) []restated {
	t.Helper()
	var all []restated
	for _, turn := range history {
		for _, p := range turn.Parts {
			if !strings.HasPrefix(p.Text, "{") {
				continue
			}
			var one restated
			require.NoError(t, json.Unmarshal([]byte(p.Text), &one))
			require.Contains(t, p.Text, `"kind":"`+config.RestatedKind+`"`)
			all = append(all, one)
		}
	}
	return all
}

// If compaction only shortens answers, the files whose content it removed are
// restated, once each, and the others stay known. RC-22
func TestRestateAfterAnswersWereCut(t *testing.T) {
	cutter := &cutting{}
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) {
		p.Conversation.Compactor = func() agent.Compactor { return cutter }
	})
	history := []model.Content{model.UserText("Read them.")}
	add := func(id, name string, response json.RawMessage) {
		call := model.FunctionCall{ID: id, Name: name, Args: json.RawMessage(`{}`)}
		history = append(history,
			model.Content{Role: model.RoleModel, Parts: []model.Part{{Call: &call}}},
			model.Content{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: id, Name: name, Response: response}}}})
	}
	for _, name := range []string{"a", "b"} {
		s.Write(name, strings.Repeat(name+"\n", 500))
		done := call(t, s.Config, "read_file", map[string]any{"file_path": name})
		add(name, "read_file", done.FunctionResponse())
	}
	for i := range 2 {
		add(fmt.Sprint("long", i), "glob", json.RawMessage(`{"output":"`+strings.Repeat("x ", 10_000)+`"}`))
	}
	client, err := s.Converse(config.Opening{History: history})
	require.NoError(t, err)
	compress := func(ids ...string) []restated {
		t.Helper()
		cutter.ids = ids
		before := model.EstimateTokens(&model.Request{Contents: client.History()})
		result, err := client.Compress(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, agent.CompactionTruncated, result.Status)
		if len(ids) > 0 {
			require.Less(t, model.EstimateTokens(&model.Request{Contents: client.History()}), before, "it is shorter with what is said again")
		}
		return restatedIn(t, client.History())
	}

	require.Empty(t, compress(), "all is where it was")
	require.Equal(t, "file_unchanged", read(t, s.Config, "a").Status)

	got := compress("a", "long0")
	require.Len(t, got, 1)
	require.Equal(t, []string{"a"}, inOrder(s, got[0]))
	require.Empty(t, got[0].ReadAgain)
	require.Equal(t, "file_unchanged", read(t, s.Config, "a").Status, "as it was said again")
	require.Equal(t, "file_unchanged", read(t, s.Config, "b").Status, "as it is still there")

	got = compress("long1")
	require.Len(t, got, 1, "what was said again stays")
	require.Equal(t, []string{"a"}, inOrder(s, got[0]))

	got = compress("b")
	require.Len(t, got, 1, "one takes the place of the other")
	require.ElementsMatch(t, []string{"a", "b"}, inOrder(s, got[0]))
	for _, name := range []string{"a", "b"} {
		require.Equal(t, "file_unchanged", read(t, s.Config, name).Status)
	}
}

// A file whose content was removed and that does not fit counts as unread.
func TestFilesThatWereCutAreUnread(t *testing.T) {
	cutter := &cutting{ids: []string{"a"}}
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) {
		p.Conversation.Limits.Tokens = 3_000 // so that it is not even read
		p.Conversation.Compactor = func() agent.Compactor { return cutter }
	})
	s.Write("a", strings.Repeat("x", 4_000))
	done := call(t, s.Config, "read_file", map[string]any{"file_path": "a"})
	asked := model.FunctionCall{ID: "a", Name: "read_file", Args: json.RawMessage(`{"file_path":"a"}`)}
	client, err := s.Converse(config.Opening{History: []model.Content{
		model.UserText("Read it."),
		{Role: model.RoleModel, Parts: []model.Part{{Call: &asked}}},
		{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: "a", Name: "read_file", Response: done.FunctionResponse()}}}},
	}})
	require.NoError(t, err)
	_, err = client.Compress(t.Context(), true)
	require.NoError(t, err)
	got := restatedIn(t, client.History())
	require.Len(t, got, 1)
	require.Empty(t, got[0].Files)
	require.Equal(t, []string{s.Path("a")}, got[0].ReadAgain)
	require.NotNil(t, read(t, s.Config, "a").Content, "a placeholder would point to nothing")
}

// Restated files never make the history longer than before, and respect the limit
// of the model that answers.
func TestRestateFits(t *testing.T) {
	for name, tt := range map[string]struct {
		limit, said int // tokens of requests, and words of the history
		files       int // restated
	}{
		"all":                            {200_000, 10_000, 3},
		"an eighth of the model's limit": {16_000, 10_000, 1},
		"less than what was summarized":  {200_000, 1_500, 1},
		"nothing":                        {200_000, 700, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) { p.Conversation.Models = model.Always(limited{limit: tt.limit}) })
			for _, name := range []string{"a", "b", "c"} {
				s.Write(name, strings.Repeat("\"\"\n", 1_000)) // longer in JSON
				read(t, s.Config, name)
			}
			client, err := s.Converse(config.Opening{History: []model.Content{
				model.UserText(strings.Repeat("Please. ", tt.said)), {Role: model.RoleModel, Parts: []model.Part{model.TextPart("Well.")}},
			}})
			require.NoError(t, err)
			before := model.EstimateTokens(&model.Request{Contents: client.History()})
			result, err := client.Compress(t.Context(), true)
			require.NoError(t, err)
			require.Equal(t, agent.Compacted, result.Status)
			require.Less(t, model.EstimateTokens(&model.Request{Contents: client.History()}), before)
			require.Less(t, result.After, result.Before)
			files := 0
			for _, said := range restatedIn(t, client.History()) {
				files += len(said.Files)
				require.Len(t, said.ReadAgain, 3-len(said.Files))
			}
			require.Equal(t, tt.files, files)
			require.Equal(t, tt.files, cached(t, s.Config), "what is only named counts as unread")
		})
	}
}

// limited is a model with a token limit that summarizes.
type limited struct {
	summarizer
	limit int
}

func (limited) Name() model.Name { return model.Name{Provider: "test", Model: "small"} }
func (l limited) Limit() int     { return l.limit }

// Restate of a running conversation also respects its client's limit.
func TestRestateByTheClientsLimit(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Conversation.Models = model.Always(limited{limit: 8_000}) })
	for _, name := range []string{"a", "b"} {
		s.Write(name, strings.Repeat("x\n", 1_500))
		read(t, s.Config, name)
	}
	client, err := s.Client()
	require.NoError(t, err)
	require.NoError(t, client.Initialize(t.Context()))
	require.Equal(t, []string{"b"}, inOrder(s, restate(t, s.Config, config.RestateOptions{})))
}

// failing is an unreachable model.
type failing struct{ model.Generator }

func (failing) Stream(context.Context, *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) { yield(nil, errors.New("no")) }
}

// A prompt without an answer has shown nothing: the files it named are shown
// again when they are read.
func TestFilesOfAPromptThatFailed(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Conversation.Models = model.Always(failing{})
		p.Conversation.Retry = agent.Retry{Attempts: 1, StreamAttempts: 1}
	})
	s.Write("f", "a\n")
	s.Write("g", "b\n")
	read(t, s.Config, "g")
	e, err := s.Expand(t.Context(), "Look at @f.")
	require.NoError(t, err)
	require.Equal(t, 2, cached(t, s.Config))
	client, err := s.Client()
	require.NoError(t, err)
	var last agent.Event
	for last = range client.Run(t.Context(), agent.Parts(e.Content)...) {
	}
	require.Equal(t, agent.EventError, last.Type)
	require.Empty(t, client.History())
	require.NotNil(t, read(t, s.Config, "f").Content)
	require.Equal(t, "file_unchanged", read(t, s.Config, "g").Status, "the prompt has not shown it")
}

// RC-21, FT-13: a client with an emptied history knows no shown file.
func TestResetChatForgetsFiles(t *testing.T) {
	s := configtest.New(t, playing(t, "", script.Options{}))
	s.Write("AGENTS.md", "Be brief.\n")
	s.Write("f", "a\n")
	client, err := s.Client()
	require.NoError(t, err)
	version := read(t, s.Config, "f").Version
	tracker, err := s.FileTracker()
	require.NoError(t, err)
	require.Len(t, tracker.LoadedByAccess(), 1)
	require.NoError(t, client.ResetChat(t.Context()))
	require.Zero(t, cached(t, s.Config))
	require.Empty(t, tracker.LoadedByAccess())
	again := read(t, s.Config, "f")
	require.NotNil(t, again.Content)
	require.Greater(t, again.Version, version, "versions go on")
	require.Len(t, tracker.LoadedByAccess(), 1)
}

// Each conversation has a Compactor of its own, including that of an agent.
func TestCompactorsAreOnesOwn(t *testing.T) {
	made := 0
	s := configtest.New(t, playing(t, `
		{"when":{"purpose":"main"},"calls":[{"tool":"generalist","args":{"query":"Do it."}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"complete_task","args":{"result":"Done."}}]},
		{"when":{"purpose":"main"},"text":"Done."}`, script.Options{}), func(p *config.Parameters) {
		p.Conversation.Compactor = func() agent.Compactor { made++; return &cutting{} }
	})
	converse(t, s.Config, "Work.")
	require.Equal(t, 2, made)
	_, err := s.Converse(config.Opening{})
	require.NoError(t, err)
	require.Equal(t, 3, made)
}

// Shared steps of the Parameters are not written to: run with the race detector.
func TestStepsAreShared(t *testing.T) {
	steps := make([]agent.BeforeRequest, 1, 8)
	steps[0] = func(context.Context, *model.Request) (agent.RequestAdvice, error) { return agent.RequestAdvice{}, nil }
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) {
		p.Environment.DebugMode, p.Conversation.Steps.BeforeRequest = true, steps
	})
	_, err := s.Client()
	require.NoError(t, err)
	require.Nil(t, steps[:2][1])
}
