package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// keeping turns checkpoints on for all calls.
func keeping(p *config.Parameters) {
	on := true
	p.Session.Checkpoints, p.Policy.ApprovalMode = &on, policy.ModeYolo
}

// CM-15: calls of the tools are kept and undone; a patch based on the earlier
// state is then refused with the current file.
func TestCheckpointsOfCalls(t *testing.T) {
	s := configtest.New(t, keeping)
	s.Write("f.txt", "old\n")
	require.Equal(t, scheduler.StatusSuccess, s.Call("read_file", map[string]any{"file_path": "f.txt"}).Status)
	require.Equal(t, scheduler.StatusSuccess, s.Call("write_file", map[string]any{"file_path": "f.txt", "content": "new\n", "base_content_sha256": filestate.Sum([]byte("old\n"))}).Status)
	require.Equal(t, scheduler.StatusSuccess, s.Call("run_shell_command", map[string]any{"command": "echo made > made.txt"}).Status)
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	require.True(t, kept.Keeps())
	h, err := kept.History(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, s.SessionID(), h.Session)
	require.Len(t, h.Turns[0].Entries, 2)
	require.Equal(t, "write_file", h.Turns[0].Entries[0].Tool)

	w, err := checkpoint.ParseSelection("1")
	require.NoError(t, err)
	plan, err := kept.Plan(t.Context(), w)
	require.NoError(t, err)
	report, err := kept.Restore(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, "old\n", s.Read("f.txt"))
	require.NoFileExists(t, s.Path("made.txt"))
	require.Contains(t, report.Note(), "f.txt")

	refused := s.Call("safe_patch", map[string]any{"file_path": "f.txt", "unified_diff": "@@\n-new\n+newer\n", "base_content_sha256": filestate.Sum([]byte("new\n"))})
	require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(refused.Result.Error))
	require.Contains(t, refused.Result.LLMContent.String(), `"content":"old\n"`)
}

// CM-15: without settings and without a request of the embedder nothing is kept,
// and nothing of calls that only read.
func TestCheckpointsAreOff(t *testing.T) {
	for name, change := range map[string]func(*config.Parameters){
		"by itself": func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeYolo },
		"settings, no conversation": func(p *config.Parameters) {
			withUser(t, `{"general": {"checkpointing": {"enabled": true}}}`)(p)
			p.Policy.ApprovalMode = policy.ModeYolo
		},
		"only reads": keeping,
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, change)
			s.Write("f.txt", "old\n")
			require.Equal(t, scheduler.StatusSuccess, s.Call("read_file", map[string]any{"file_path": "f.txt"}).Status)
			if name != "only reads" {
				require.Equal(t, scheduler.StatusSuccess, s.Call("write_file", map[string]any{"file_path": "g.txt", "content": "new\n"}).Status)
			}
			dirs, err := s.Storage()
			require.NoError(t, err)
			_, err = os.Stat(filepath.Join(dirs.ProjectTempDir, "checkpoints"))
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// CM-15: calls before the model receives a message belong to the input that
// caused them, like the prompt; the next input is another turn.
func TestTurnsAreInputs(t *testing.T) {
	s := configtest.New(t, keeping)
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	run := func(command string) {
		require.Equal(t, scheduler.StatusSuccess, s.Call("run_shell_command", map[string]any{"command": command}).Status)
	}
	kept.BeginTurn("/deploy")
	run("echo 1 > a")
	run("echo 1 > b")
	kept.BeginTurn("!echo")
	run("echo 1 > c")
	h, err := kept.History(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, h.Turns, 2)
	require.Equal(t, "/deploy", h.Turns[0].Prompt)
	require.Len(t, h.Turns[0].Entries, 2)
	require.Equal(t, "!echo", h.Turns[1].Prompt)
}

// CM-15: a deleted session leaves nothing of its prompts.
func TestDeleteTakesCheckpoints(t *testing.T) {
	s := configtest.New(t, keeping)
	transcripts, err := config.NewTranscripts(s.Config, nil)
	require.NoError(t, err)
	recording, err := transcripts.Record(t.Context(), s.Config)
	require.NoError(t, err)
	kept, err := s.Checkpoints()
	require.NoError(t, err)
	kept.BeginTurn("a secret prompt")
	require.Equal(t, scheduler.StatusSuccess, s.Call("write_file", map[string]any{"file_path": "f.txt", "content": "new\n"}).Status)
	require.NoError(t, recording.Append(t.Context(), agent.Entry{Content: model.UserText("a secret prompt")}))
	require.NoError(t, recording.Close())
	require.NoError(t, transcripts.Delete(t.Context(), s.SessionID()))
	_, err = kept.History(t.Context(), "")
	require.Equal(t, fault.CheckpointNotFound, fault.CodeOf(err))
}

// The first scan of many files is reported in the call's output.
func TestTheFirstLookIsTold(t *testing.T) {
	s := configtest.New(t, keeping)
	for i := range 1000 {
		s.Write(fmt.Sprintf("f%d", i), "")
	}
	told := make(chan string, 1)
	seen := bus.Observe(t.Context(), s.MessageBus(), func(_ context.Context, m bus.Message) {
		if out, ok := m.(bus.ToolOutput); ok && strings.Contains(out.Chunk, "Saving") {
			told <- out.Chunk
		}
	})
	defer seen.Unsubscribe()
	require.Equal(t, scheduler.StatusSuccess, s.Call("run_shell_command", map[string]any{"command": "true"}).Status)
	require.Contains(t, <-told, "Saving 1000 files")
}

// CM-15: a call that cannot be kept runs, and reports that it cannot be undone.
func TestCheckpointFails(t *testing.T) {
	s := configtest.New(t, keeping, func(p *config.Parameters) {
		p.OnCheckpoint(func(checkpoint.Step) error { return errors.New("no space left on device") })
	})
	r := s.Call("write_file", map[string]any{"file_path": "f.txt", "content": "new\n"})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Contains(t, strings.Join(r.Notices, ""), "This change cannot be undone with fettle restore")
	require.Equal(t, "new\n", s.Read("f.txt"))
}
