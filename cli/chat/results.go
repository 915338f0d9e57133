package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// effect performs the result of a command. line is the typed line.
func (w *work) effect(ctx context.Context, result commands.Result, line string, to agreed) {
	switch r := result.(type) {
	case nil:
	case commands.Message:
		w.Say(r)
	case commands.SubmitPrompt:
		w.submitted(ctx, r, line)
	case commands.RunTool:
		w.runTool(ctx, r, line)
	case commands.LoadHistory:
		w.fail(ctx, w.loadHistory(ctx, r))
	case commands.Quit:
		w.quit(ctx, r)
	case commands.Logout:
		w.message(interactive.LevelInfo, "%s does not store model keys: remove them from the environment or the .env file. "+
			"fettle mcp auth NAME --forget signs out of an MCP server.", w.config.Layout().Name)
	case commands.Dialog:
		w.message(interactive.LevelInfo, "There is no %s dialog here; fettle config set changes settings.", r.Name)
	case commands.ConfirmAction:
		if w.confirmed(ctx, "Confirm", r.Prompt) {
			to.overwrite = true
			w.command(ctx, line, to)
		} else {
			w.message(interactive.LevelInfo, "Cancelled; nothing was done.")
		}
	case commands.ConfirmShellCommands:
		question := "Run for the rest of the session, whenever the command uses them:\n" + strings.Join(r.Commands, "\n")
		if w.confirmed(ctx, "Commands", question) {
			to.commands = slices.Concat(to.commands, r.Commands)
			w.command(ctx, line, to)
		} else {
			w.message(interactive.LevelInfo, "Cancelled; nothing was run.")
		}
	case commands.CustomDialog:
		w.send(interactive.Event{Kind: interactive.EventDialog, Title: r.Title, Text: r.Text})
	case commands.CopyText:
		w.send(interactive.Event{Kind: interactive.EventCopy, Text: r.Text})
		if r.Message != nil {
			w.Say(*r.Message)
		}
	case commands.ClearScreen:
		w.send(interactive.Event{Kind: interactive.EventClear})
		if r.Message != nil {
			w.Say(*r.Message)
		}
	default:
		w.message(interactive.LevelError, "Internal error: unknown command result %T.", result)
	}
}

// submitted sends the prompt of a command to the model.
func (w *work) submitted(ctx context.Context, p commands.SubmitPrompt, line string) {
	if p.Expanded {
		w.run(ctx, line, agent.Parts(p.Content))
		return
	}
	var parts []model.Part
	for _, part := range p.Content.Parts {
		if part.Text == "" {
			parts = append(parts, agent.Parts(tools.Content{Parts: []tools.Part{part}})...)
			continue
		}
		expanded, err := w.config.Expand(ctx, part.Text)
		if err != nil {
			w.fail(ctx, err)
			return
		}
		for _, n := range expanded.Notices {
			w.message(interactive.LevelWarning, "%s: %s", n.Name, n.Message)
		}
		parts = append(parts, agent.Parts(expanded.Content)...)
	}
	w.run(ctx, line, parts)
}

// runTool makes a tool call for the user, under the session's policy.
func (w *work) runTool(ctx context.Context, r commands.RunTool, line string) {
	s, err := w.config.Scheduler()
	if err != nil {
		w.fail(ctx, err)
		return
	}
	resp := s.Run(ctx, scheduler.Request{CallID: bus.NewID(), Tool: r.Name, Args: r.Args})
	if resp.Status != scheduler.StatusSuccess {
		w.fail(ctx, resp.Result.Error)
		return
	}
	if r.Then == nil {
		w.message(interactive.LevelInfo, "%s", shownResult(resp.Result))
		return
	}
	w.addContext(agent.Parts(resp.Result.LLMContent)...) // file mentions in foreign text are not expanded
	if context := resp.Result.Context; context != "" {
		w.addContext(model.TextPart(context))
	}
	w.submitted(ctx, *r.Then, line)
}

// shownResult formats a result for the user, as Markdown.
func shownResult(r tools.Result) string {
	switch d := r.ReturnDisplay; {
	case d.Diff != nil:
		return "```diff\n" + d.Diff.FileDiff + "\n```"
	case d.Text != "":
		return d.Text
	}
	return r.LLMContent.String()
}

// loadHistory replaces the conversation; it becomes a new session, with the hooks of a
// session's end and start.
func (w *work) loadHistory(ctx context.Context, r commands.LoadHistory) error {
	history := make([]model.Content, 0, len(r.History))
	for i, raw := range r.History {
		var turn model.Content
		if err := json.Unmarshal(raw, &turn); err != nil {
			return fault.Wrap(fault.SessionUnreadable, "cli", fmt.Sprintf("Turn %d of the saved chat is invalid.", i+1), "", err)
		}
		history = append(history, turn)
	}
	err := w.changeSession(ctx, func() error {
		if _, err := w.renew(ctx, history, r.Highest); err != nil {
			return err
		}
		w.send(interactive.Event{Kind: interactive.EventHistory, History: w.shownItems(ctx)})
		return nil
	})
	if err != nil {
		return err
	}
	if r.Note != "" {
		w.message(interactive.LevelInfo, "%s", r.Note)
	}
	return nil
}

// renew starts a new session in this program, with its own recording, and returns its
// id.
func (c *chat) renew(ctx context.Context, history []model.Content, highest int64) (string, error) {
	id, err := c.config.StartNewSession("", highest)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	old := c.kept
	c.mu.Unlock()
	kept := &conversation.Record{Store: old.Store}
	old.Close(ctx)
	opening := config.Opening{}
	if old.Store != nil && !c.Flags.NoRecord {
		if opening, err = c.BeginRecord(ctx, c.config, kept); err != nil {
			return "", err
		}
	}
	opening.History = history
	if kept.Recording != nil && len(history) > 0 {
		if err := kept.Recording.Replace(ctx, history); err != nil {
			c.Warn("The session is not recorded: " + fault.Line(err))
		}
	}
	client, err := c.config.Converse(opening)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.client, c.tokens, c.answer, c.pending = kept, client, 0, "", nil
	c.started, c.prompts = time.Now(), 0
	c.Numbers.Restart()
	return id, nil
}

// quit ends the session.
func (w *work) quit(ctx context.Context, q commands.Quit) {
	if q.Delete {
		w.mu.Lock()
		kept := w.kept
		w.mu.Unlock()
		if kept.Recording != nil {
			_ = kept.Recording.Close() // it is deleted next
			if err := kept.Store.Delete(ctx, w.config.SessionID()); err != nil {
				w.fail(ctx, err)
				return
			}
		} else if checkpoints, err := w.config.Checkpoints(); err == nil {
			w.fail(ctx, checkpoints.Delete(ctx, w.config.SessionID()))
		}
	}
	w.mu.Lock()
	w.chat.left = "exit"
	w.mu.Unlock()
	w.send(interactive.Event{Kind: interactive.EventQuit, Text: strings.Join(q.Messages, "\n")})
}
