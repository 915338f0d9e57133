package chat

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
)

// sessions runs a session in a project with settings, and the sessions that are opened
// after it, each with the next of uses.
func sessions(t *testing.T, g program.Flags, f *conversation.Flags, uses ...func(ctx context.Context, c *chat, started []interactive.Event)) {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	script := filepath.Join(home, "turns.json")
	require.NoError(t, os.WriteFile(script, []byte(threeAnswers), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(project, ".fettle"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".fettle", "settings.json"), []byte(`{
		"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran", "name": "mark"}]}]},
		"model": {"prices": {"turns": {"input": 1}}}}`), 0o600))
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Open: program.Open, Providers: scripts{}}
	g.Cwd, g.Model = project, "script:"+script
	n := 0
	err := runInteractive(t.Context(), p, &g, f, func(ctx context.Context, c *chat, _ settings.Settings) error {
		require.Less(t, n, len(uses), "a session is opened again without a request")
		var started []interactive.Event
		c.lists = true
		for e := range c.Start(ctx) {
			require.NotEqual(t, interactive.LevelError, e.Level, e.Text)
			started = append(started, e)
		}
		n++
		uses[n-1](ctx, c, started)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, uses, n)
}

// answering answers the questions of a session until the returned function is called, and
// keeps their texts.
func answering(ctx context.Context, c *chat, answer string) (stop func() string) {
	var asked strings.Builder
	s := bus.Subscribe(ctx, c.Bus(), func(_ context.Context, q bus.AskUserRequest) {
		asked.WriteString(q.Questions[0].Question)
		_ = c.Bus().Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": answer}})
	})
	return func() string {
		s.Unsubscribe()
		<-s.Done()
		return asked.String()
	}
}

// historyIn returns the conversation that events display.
func historyIn(all []interactive.Event) (items []interactive.Item) {
	for _, e := range all {
		if e.Kind == interactive.EventHistory {
			items = e.History
		}
	}
	return items
}

// UI-05: /permissions trust asks with the effects of the project, and acts at once: the
// session is opened again with the conversation, mode, directories and inputs, whether it
// is recorded or not. /permissions untrust acts at once, too, and ends yolo.
func TestTrustActsAtOnce(t *testing.T) {
	for name, f := range map[string]*conversation.Flags{"recorded": {}, "not recorded": {NoRecord: true}} {
		t.Run(name, func(t *testing.T) {
			more := t.TempDir()
			var id string
			sessions(t, program.Flags{}, f,
				func(ctx context.Context, c *chat, _ []interactive.Event) {
					id = c.config.SessionID()
					submit(ctx, c, "Say something.")
					require.NoError(t, c.config.SetApprovalMode(policy.ModeYolo))
					require.NoError(t, c.config.AddDirectory(ctx, more))
					stop := answering(ctx, c, "no")
					all := submit(ctx, c, "/permissions trust")
					require.Contains(t, stop(), "hook on SessionStart")
					require.Contains(t, textsOf(all, interactive.EventMessage), "nothing was recorded")
					require.Equal(t, "undecided", c.Status().Trust)
					stop = answering(ctx, c, "yes")
					all = submit(ctx, c, "/permissions trust")
					stop()
					require.Equal(t, interactive.EventReopen, all[len(all)-1].Kind)
					require.NoFileExists(t, filepath.Join(c.targetDir(), "ran"))
				},
				func(ctx context.Context, c *chat, started []interactive.Event) {
					require.Equal(t, "trusted", c.Status().Trust)
					require.FileExists(t, filepath.Join(c.targetDir(), "ran"), "the project's hook")
					require.Equal(t, []interactive.Item{{Role: "user", Text: "Say something."}, {Role: "assistant", Text: "First."}}, historyIn(started))
					require.Contains(t, textsOf(started, interactive.EventMessage), "is recorded as trusted. The session was opened again")
					require.Equal(t, id, c.config.SessionID())
					require.Len(t, c.conversation().History(), 2)
					require.Equal(t, "yolo", c.Status().Mode)
					require.Contains(t, commandServices{c.config, c.log}.Directories(), more)
					require.Equal(t, []string{"Say something.", "/permissions trust"}, c.Inputs())
					stop := answering(ctx, c, "yes")
					all := submit(ctx, c, "/permissions trust")
					stop()
					require.Contains(t, textsOf(all, interactive.EventMessage), "unchanged: trusted")
					submit(ctx, c, "/permissions untrust")
				},
				func(ctx context.Context, c *chat, started []interactive.Event) {
					require.Equal(t, "untrusted", c.Status().Trust)
					require.Equal(t, "default", c.Status().Mode)
					require.Contains(t, textsOf(started, interactive.EventMessage), "yolo is refused")
					require.Len(t, historyIn(started), 2)
					all := submit(ctx, c, "/permissions untrust "+more)
					require.Contains(t, textsOf(all, interactive.EventMessage), "unchanged: untrusted")
				})
		})
	}
}

// UI-05: prices of a project count only once its directory is trusted.
func TestPricesNeedTrust(t *testing.T) {
	sessions(t, program.Flags{}, &conversation.Flags{},
		func(ctx context.Context, c *chat, _ []interactive.Event) {
			require.Empty(t, chatStats{c}.prices())
			stop := answering(ctx, c, "yes")
			submit(ctx, c, "/permissions trust")
			stop()
		},
		func(_ context.Context, c *chat, _ []interactive.Event) {
			require.Contains(t, chatStats{c}.prices(), "turns")
		})
}
