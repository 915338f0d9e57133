package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/chat/lists"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
)

// resumeCommand is /resume: it continues a recorded session of the project in place of
// the current one.
func (l listLoader) resumeCommand() *commands.Command {
	return &commands.Command{
		Name: "resume", Description: "Lists the recorded sessions of the project, or continues one: /resume ID", Kind: commands.KindBuiltIn, AutoExecute: true,
		Action: func(ctx context.Context, _ *commands.Context, id string) (commands.Result, error) {
			if id == "" {
				return nil, l.pick(ctx, l.pickSession)
			}
			return nil, l.resume(ctx, id)
		},
		Completion: func(ctx context.Context, _ *commands.Context, typed string) (found []commands.Candidate, err error) {
			store, err := l.recordings()
			if err != nil {
				return nil, err
			}
			list, _, err := store.List(ctx)
			for _, s := range slices.Backward(list) {
				if strings.HasPrefix(s.ID, typed) {
					found = append(found, commands.Candidate{Value: s.ID, Description: s.Title})
				}
			}
			return found, err
		},
	}
}

// recordings returns the recorded sessions of the project.
func (c *chat) recordings() (*recordings.Store, error) {
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept.Store != nil {
		return kept.Store, nil
	}
	return config.NewTranscripts(c.config, c.Hide.Values())
}

// pickSession returns the list of /resume.
func (c *chat) pickSession(ctx context.Context) (interactive.Pick, error) {
	store, err := c.recordings()
	if err != nil {
		return interactive.Pick{}, err
	}
	list, problems, err := store.List(ctx)
	if err != nil {
		return interactive.Pick{}, err
	}
	return lists.Sessions(list, problems, c.config.SessionID(), time.Now()), nil
}

// resume continues a recorded session in place of the current one, whose recording
// remains. If it cannot be opened, the current session goes on.
func (c *chat) resume(ctx context.Context, ref string) error {
	store, err := c.recordings()
	if err != nil {
		return err
	}
	summary, err := store.Find(ctx, ref)
	switch {
	case err != nil:
		return err
	case summary.ID == c.config.SessionID():
		c.say("This session is the current one.")
		return nil
	}
	return c.changeSession(ctx, func() error { return c.openRecorded(ctx, store, summary.ID) })
}

// openRecorded continues a recorded session. The end of the current one has been
// reported to its hooks.
func (c *chat) openRecorded(ctx context.Context, store *recordings.Store, id string) error {
	kept := &conversation.Record{Store: store, Resumed: true}
	opening, err := c.ResumeRecord(ctx, c.config, kept, id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	old := c.kept
	c.mu.Unlock()
	old.Close(ctx)
	client, err := c.config.Converse(opening)
	if err != nil {
		kept.Close(ctx)
		return err
	}
	c.mu.Lock()
	c.kept, c.client, c.tokens, c.answer, c.pending = kept, client, 0, "", nil
	c.started, c.prompts = time.Now(), 0
	c.mu.Unlock()
	c.Numbers.Restart()
	if c.now != nil {
		c.now.send(interactive.Event{Kind: interactive.EventHistory, History: c.shownItems(ctx)})
	}
	return nil
}

// changeSession runs the session end hooks, opens another conversation with open, and
// runs the session start hooks. Their messages follow those of open. If open fails, the
// current session goes on, and its hooks are run in the same way.
func (c *chat) changeSession(ctx context.Context, open func() error) error {
	ended := c.endMessages(ctx, "other")
	err := open()
	c.sayAll(append(ended, (chatHooks{c}).SessionStart(ctx, "resume")))
	return err
}

// sayAll sends messages, except empty ones.
func (c *chat) sayAll(texts []string) {
	for _, text := range texts {
		if text != "" {
			c.say(text)
		}
	}
}
