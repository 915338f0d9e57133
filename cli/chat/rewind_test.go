package chat

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// rewindable is a conversation of three prompts; the second and third create a file.
const rewindable = `{"turns": [
	{"text": "First."},
	{"calls": [{"tool": "write_file", "args": {"file_path": "a.txt", "content": "a\n"}}]}, {"text": "Second."},
	{"calls": [{"tool": "write_file", "args": {"file_path": "b.txt", "content": "b\n"}}]}, {"text": "Third."},
	{"text": "Again."}]}`

func rewinding(t *testing.T, use func(ctx context.Context, c *chat, project string)) {
	chatting(t, rewindable, func(ctx context.Context, c *chat, project string) {
		require.NoError(t, c.config.SetApprovalMode("autoEdit"))
		submit(ctx, c, "Say hello.")
		submit(ctx, c, "Write a, "+strings.Repeat("and explain it at length ", 8)+".")
		submit(ctx, c, "Write b.")
		require.FileExists(t, filepath.Join(project, "b.txt"))
		use(ctx, c, project)
	})
}

// UI-04: going back to a prompt restores the files, the conversation or both. The
// recording has the earlier conversation afterwards, the model knows no file, and the
// prompt returns to the input.
func TestRewindBoth(t *testing.T) {
	rewinding(t, func(ctx context.Context, c *chat, project string) {
		list := picked(t, ctx, c, "/rewind")
		require.Len(t, list.Items, 3)
		require.Equal(t, "3. Write b.", list.Items[0].Name)
		require.Equal(t, []string{"1 file", "2 files", "2 files"}, []string{list.Items[0].State, list.Items[1].State, list.Items[2].State})
		parts := picked(t, ctx, c, list.Items[1].Submit)
		both := itemNamed(t, parts, "Files and conversation")
		require.Contains(t, both.Detail, "delete "+filepath.Join(project, "a.txt"))
		all := submit(ctx, c, both.Submit)
		require.Contains(t, textsOf(all, interactive.EventMessage), "Files restored: 2.")
		require.Contains(t, textsOf(all, interactive.EventInput), "Write a, and explain")
		require.NoFileExists(t, filepath.Join(project, "a.txt"))
		require.NoFileExists(t, filepath.Join(project, "b.txt"))
		require.Len(t, c.conversation().History(), 2)

		require.Equal(t, "Again.", answered(submit(ctx, c, "Something else.")))
		store, err := config.NewTranscripts(c.config, nil)
		require.NoError(t, err)
		session, err := store.Load(ctx, c.config.SessionID())
		require.NoError(t, err)
		history, _ := recordings.History(session)
		require.Equal(t, []string{"Say hello.", "First.", "Something else.", "Again."}, []string{history[0].Text(), history[1].Text(), history[2].Text(), history[3].Text()})
		require.Len(t, history, 4)
	})
}

func TestRewindParts(t *testing.T) {
	rewinding(t, func(ctx context.Context, c *chat, project string) {
		submit(ctx, c, "/rewind 3 files")
		require.NoFileExists(t, filepath.Join(project, "b.txt"))
		require.FileExists(t, filepath.Join(project, "a.txt"))
		require.Len(t, c.conversation().History(), 10, "two turns for each answer, four for a call")
		submit(ctx, c, "/rewind 2 conversation")
		require.FileExists(t, filepath.Join(project, "a.txt"))
		require.Len(t, c.conversation().History(), 2)
		submit(ctx, c, "/rewind 1 both")
		require.Empty(t, c.conversation().History())
		require.NoFileExists(t, filepath.Join(project, "a.txt"))
		require.Empty(t, picked(t, ctx, c, "/rewind").Items)
	})
}

// A file that another program has changed since is not lost: nothing changes, and the
// list gives the reason.
func TestRewindRefused(t *testing.T) {
	rewinding(t, func(ctx context.Context, c *chat, project string) {
		require.NoError(t, os.WriteFile(filepath.Join(project, "b.txt"), []byte("mine\n"), 0o644))
		both := itemNamed(t, picked(t, ctx, c, "/rewind 2"), "Files and conversation")
		require.Empty(t, both.Submit)
		require.Contains(t, both.Detail, "b.txt")
		before := len(c.conversation().History())
		all := submit(ctx, c, "/rewind 2 both")
		require.Contains(t, textsOf(all, interactive.EventMessage), "Nothing was restored")
		require.FileExists(t, filepath.Join(project, "a.txt"))
		require.Len(t, c.conversation().History(), before)
		for _, line := range []string{"/rewind 9", "/rewind x", "/rewind 1 all", "/rewind 1 both now"} {
			all := submit(ctx, c, line)
			require.Equal(t, interactive.LevelError, all[0].Level, line)
		}
	})
}

// The prompt of a command, whose text differs from the typed line, has the turns
// between its neighbours.
func TestRewindChanges(t *testing.T) {
	turn := func(number int, prompt, path string) *checkpoint.Turn {
		return &checkpoint.Turn{Number: number, Prompt: prompt, Entries: []*checkpoint.Entry{{Files: []checkpoint.Change{{Path: checkpoint.Name(path)}}}}}
	}
	points := []rewindPoint{{text: "one"}, {text: "expanded"}, {text: "three"}, {text: "none"}}
	addChanges(points, []*checkpoint.Turn{turn(1, "one", "a"), turn(4, "/command", "b"), turn(5, "three", "c")})
	require.Equal(t, []int{1, 4, 5, 0}, []int{points[0].since, points[1].since, points[2].since, points[3].since})
	require.Equal(t, []string{"b", "c"}, points[1].paths)
	require.Empty(t, points[3].paths)
}

// UI-04: prompts with the same long beginning are told apart by their calls.
func TestRewindEqualBeginnings(t *testing.T) {
	const turns = `{"turns": [{"text": "Nothing."},
		{"calls": [{"tool": "write_file", "args": {"file_path": "a.txt", "content": "a\n"}}]}, {"text": "Written."}, {"text": "Nothing again."}]}`
	chatting(t, turns, func(ctx context.Context, c *chat, project string) {
		require.NoError(t, c.config.SetApprovalMode("autoEdit"))
		long := strings.Repeat("the same words ", 10)
		for _, end := range []string{"one", "two", "three"} {
			submit(ctx, c, long+end)
		}
		var states []string
		for _, item := range picked(t, ctx, c, "/rewind").Items {
			states = append(states, item.State)
		}
		require.Equal(t, []string{"no files", "1 file", "1 file"}, states)
		submit(ctx, c, "/rewind 3 both")
		require.FileExists(t, filepath.Join(project, "a.txt"))
		submit(ctx, c, "/rewind 2 both")
		require.NoFileExists(t, filepath.Join(project, "a.txt"))
		require.Len(t, c.conversation().History(), 2)
	})
}

// UI-04: a session that went back to before its first prompt has the title of the next one.
func TestRewindChangesTheTitle(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		submit(ctx, c, "The first prompt.")
		submit(ctx, c, "The second prompt.")
		submit(ctx, c, "/rewind 2 conversation")
		itemNamed(t, picked(t, ctx, c, "/resume"), "The first prompt.")
		submit(ctx, c, "/rewind 1 conversation")
		submit(ctx, c, "A better prompt.")
		p := picked(t, ctx, c, "/resume")
		require.Len(t, p.Items, 1)
		itemNamed(t, p, "A better prompt.")
	})
}
