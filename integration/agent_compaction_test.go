package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
)

// lastHash returns the newest hash of a file in a conversation.
func lastHash(t *testing.T, r *model.Request, name string) string {
	found := ""
	look := func(text string) {
		if at := strings.LastIndex(text, name); at >= 0 {
			if all := shaPattern.FindAllStringSubmatch(text[:at], -1); all != nil { // a state object has it before the path
				found = all[len(all)-1][1]
			}
		}
	}
	for _, turn := range r.Contents {
		for _, p := range turn.Parts {
			look(p.Text)
			if p.Response != nil {
				var keys struct{ Output json.RawMessage }
				require.NoError(t, json.Unmarshal(p.Response.Response, &keys))
				text := ""
				if json.Unmarshal(keys.Output, &text) != nil {
					text = string(keys.Output)
				}
				look(text)
			}
		}
	}
	return found
}

// RC-22, CR-19, AR-30: a long conversation is compacted automatically, once, and
// continues: the file in work is patched without a read, by the hash next to the
// summary and with a version above all earlier ones; a file that the summary does not
// repeat must be read again. The recorded session is resumed in the same state, with
// its counter.
func TestCompactionOfASession(t *testing.T) {
	t.Parallel()
	const hidden = "old-content-that-only-the-first-read-showed"
	compactions, compacted := 0, false
	var patchedWith string
	answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
		if r.Purpose == model.PurposeCompact {
			compactions++
			return says("The user wants work.txt loud. other.txt and work.txt were read."), nil
		}
		last := r.Contents[len(r.Contents)-1]
		answers := last.Responses()
		switch words := last.Text(); {
		case strings.Contains(words, "Read both."):
			return calling("read_file", map[string]string{"file_path": "other.txt"}, "read_file", map[string]string{"file_path": "work.txt"}), nil
		case strings.Contains(words, "Make it loud."):
			patchedWith = lastHash(t, r, "work.txt")
			return calling(
				"safe_patch", map[string]string{"file_path": "work.txt", "unified_diff": "@@\n one\n-two\n+TWO\n", "base_content_sha256": patchedWith},
				"safe_patch", map[string]string{"file_path": "other.txt", "unified_diff": "@@\n-" + hidden + "\n+new\n", "base_content_sha256": strings.Repeat("0", 64)},
			), nil
		case len(answers) > 0:
			return says("Done."), nil
		}
		return says(strings.Repeat("I talk much. ", 150)), nil
	}
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir, p.Session.ID, p.Policy.ApprovalMode = home, "long", "auto_edit"
		p.Conversation.Models = model.Always(acting{answer})
		p.Agents.Disabled, p.Tools.Core = true, []string{"read_file", "safe_patch"}
		p.Conversation.SystemPrompt, p.Conversation.NoLoopDetection = "Work.", true
		p.Conversation.Limits.Tokens = 8_000
	})
	s.Write("work.txt", "one\ntwo\nthree\n")
	s.Write("other.txt", hidden+"\n"+strings.Repeat("filler\n", 1_000)) // too long to be repeated
	transcripts, err := config.NewTranscripts(s.Config, nil)
	require.NoError(t, err)
	recording, err := transcripts.Record(t.Context(), s.Config)
	require.NoError(t, err)
	client, err := s.Converse(config.Opening{Recorder: recording})
	require.NoError(t, err)

	require.Equal(t, []string{"read_file success", "read_file success"}, prompt(t, s.Config, "Read both.").calls)
	for n := 0; !compacted; n++ {
		require.Less(t, n, 40, "it is never compacted")
		p := prompt(t, s.Config, fmt.Sprintf("Talk, for the %d. time.", n))
		require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
		for _, e := range p.events {
			if e.Type == agent.EventCompaction {
				compacted = true
				require.Equal(t, agent.Compacted, e.Compaction.Status)
				require.Less(t, e.Compaction.After, e.Compaction.Before)
			}
		}
	}
	require.Equal(t, 1, compactions)
	history := client.History()
	first := mustJSON(history[0])
	require.Contains(t, first, "work.txt loud")
	require.Contains(t, first, "read_again")
	require.NotContains(t, mustJSON(history), hidden, "the summary replaces the old turns")

	loud := prompt(t, s.Config, "Make it loud.")
	require.Equal(t, []string{"safe_patch success", "safe_patch error edit_requires_prior_read"}, loud.calls)
	require.Equal(t, hashOf("one\ntwo\nthree\n"), patchedWith)
	require.Equal(t, "one\nTWO\nthree\n", s.Read("work.txt"))
	require.Contains(t, s.Read("other.txt"), hidden)
	require.Equal(t, agent.EventDone, loud.last.Type)

	// Two reads, one repeated by the summary, one after the patch.
	state, err := s.SessionStateService()
	require.NoError(t, err)
	highest := state.Current()
	require.Equal(t, int64(4), highest)
	want := client.History()
	require.NoError(t, recording.Close())

	again, err := config.New(config.Parameters{
		TargetDir: s.Dir, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: "auto_edit"}, Conversation: config.Conversation{Models: model.Always(acting{answer}), NoLoopDetection: true},
	})
	require.NoError(t, err)
	require.NoError(t, again.Initialize(t.Context()))
	defer func() { require.NoError(t, again.Close()) }()
	sessions, err := config.NewTranscripts(again, nil)
	require.NoError(t, err)
	resumed, session, kept, err := sessions.Resume(t.Context(), again, "long")
	require.NoError(t, err)
	defer func() { require.NoError(t, resumed.Close()) }()
	require.Empty(t, session.Problems)
	require.Equal(t, mustJSON(want), mustJSON(kept), "the same history")
	_, err = again.Converse(config.Opening{Recorder: resumed, History: kept})
	require.NoError(t, err)
	// AR-04: the cache of the new process does not contain the reads of the earlier
	// one, and versions continue above.
	read := configtest.Call(t.Context(), t, again, "read_file", map[string]string{"file_path": "work.txt"})
	require.Contains(t, read.Result.LLMContent.String(), fmt.Sprintf(`"version":%d`, highest+1))
	on := prompt(t, again, "Talk on.")
	require.Equal(t, agent.EventDone, on.last.Type, "%v", on.last.Err)
}

// RC-22: a failed compaction changes nothing: earlier reads still count, and the
// conversation continues.
func TestCompactionThatFails(t *testing.T) {
	t.Parallel()
	for name, summary := range map[string]*model.Response{
		"empty":  says(" \n"),
		"longer": says(strings.Repeat("A summary that is longer than what it stands for. ", 3_000)),
		"cut":    {Content: says("The user").Content, Finish: model.FinishMaxTokens},
		"none":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
				last := r.Contents[len(r.Contents)-1]
				switch {
				case r.Purpose == model.PurposeCompact:
					asked++
					if summary == nil {
						return nil, &model.Error{Provider: "test", Kind: model.InvalidRequest, Message: "no"}
					}
					return summary, nil
				case strings.Contains(last.Text(), "Read."):
					return calling("read_file", map[string]string{"file_path": "f"}), nil
				case strings.Contains(last.Text(), "Patch."):
					return calling("safe_patch", map[string]string{"file_path": "f", "unified_diff": "@@\n-one\n+ONE\n", "base_content_sha256": lastHash(t, r, "/f")}), nil
				case len(last.Responses()) > 0:
					return says("Done."), nil
				}
				return says(strings.Repeat("word ", 400)), nil
			}
			s := configtest.New(t, func(p *config.Parameters) {
				p.Policy.ApprovalMode, p.Conversation.Models = "auto_edit", model.Always(acting{answer})
				p.Agents.Disabled, p.Tools.Core = true, []string{"read_file", "safe_patch"}
				p.Conversation.SystemPrompt, p.Conversation.NoLoopDetection = "Work.", true
				p.Conversation.Limits.Tokens = 6_000
			})
			s.Write("f", "one\ntwo\n")
			prompt(t, s.Config, "Read.")
			for range 8 {
				require.Equal(t, agent.EventDone, prompt(t, s.Config, "Talk.").last.Type)
			}
			require.Positive(t, asked)
			require.Less(t, asked, 8, "the model is not asked for a summary before each request")
			require.Equal(t, []string{"safe_patch success"}, prompt(t, s.Config, "Patch.").calls)
			require.Equal(t, "ONE\ntwo\n", s.Read("f"))
		})
	}
}
