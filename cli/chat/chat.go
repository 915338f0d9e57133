// Package chat is a session with the user at the terminal: prompts, shell lines and
// slash commands, shown line by line or by [tui].
package chat

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
)

// chat is a session at the terminal: the [interactive.Session] that front ends
// show.
type chat struct {
	conversation.Talk
	global  *program.Flags
	log     *slog.Logger
	session program.Session
	config  *config.Config
	notices notices // what is told while nothing is worked on
	inputs  inputs
	now     *work // what is worked on; of the goroutine that does

	mu      sync.Mutex
	started time.Time // when the session began, /clear being the beginning of another
	client  *agent.Client
	kept    *conversation.Record
	set     *commands.Set
	tokens  int    // of the last request
	prompts int    // that were worked on
	answer  string // the model's last one
	branch  string
	said    []model.Part // for the model, with the next prompt
	left    string       // why the session ends, for hooks; "": the person has left it
}

var _ interactive.Session = (*chat)(nil)

// Submit implements [interactive.Session].
func (c *chat) Submit(ctx context.Context, text string) iter.Seq[interactive.Event] {
	return c.working(ctx, func(ctx context.Context, w *work) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		c.inputs.add(text)
		conversation.BeginTurn(c.config, text)
		line, isShell := strings.CutPrefix(text, "!")
		switch {
		case isShell:
			w.shell(ctx, strings.TrimSpace(line))
		case c.commandSet().Parse(text).IsCommand:
			w.command(ctx, text, agreed{})
		default:
			w.prompt(ctx, text)
		}
		c.noteBranch()
	})
}

// Bus implements [interactive.Session].
func (c *chat) Bus() *bus.MessageBus { return c.config.MessageBus() }

// Inputs implements [interactive.Session].
func (c *chat) Inputs() []string { return c.inputs.all() }

// CycleMode implements [interactive.Session].
func (c *chat) CycleMode() (string, error) {
	order := []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModePlan}
	next := order[(slices.Index(order, c.config.ApprovalMode())+1)%len(order)] // yolo, which is none of them: the first
	if err := c.config.SetApprovalMode(next); err != nil {
		return string(c.config.ApprovalMode()), err
	}
	return string(next), nil
}

// Status implements [interactive.Session].
func (c *chat) Status() interactive.Status {
	c.mu.Lock()
	tokens, branch, client, started := c.tokens, c.branch, c.client, c.started
	c.mu.Unlock()
	s := interactive.Status{
		Product: c.config.Layout().Name, Version: program.VersionOf().Version, SessionID: c.config.SessionID(),
		Model: c.Traffic.Shown(c.config.Model()), Mode: string(c.config.ApprovalMode()), Folder: homeAbbreviated(c.folder()), Branch: branch,
		Tokens: tokens, Limit: client.Limit(), Trust: c.config.Trust().String(), Started: started,
	}
	if manager, err := c.config.MCP(); err == nil && manager != nil {
		for _, server := range manager.Status() {
			if server.State == mcp.StateConnected {
				s.Servers++
			}
		}
	}
	return s
}

// directory is the target directory.
func (c *chat) folder() string {
	ws, err := c.config.Workspace()
	if err != nil { // the session is closed
		return c.config.TargetDir()
	}
	return ws.Target()
}

// homeAbbreviated puts ~ in the place of the home directory.
func homeAbbreviated(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return path
}

// noteBranch looks which branch of git the target directory is on.
func (c *chat) noteBranch() {
	branch := branchOf(c.folder())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branch = branch
}

// tell keeps something that the model is to know, for the next prompt.
func (c *chat) tell(parts ...model.Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, parts...)
}

// conversation returns the client that is in use.
func (c *chat) conversation() *agent.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// ending is why the session ends, in the words of hooks.
func (c *chat) ending() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.left, "prompt_input_exit")
}

// SetTokens shows another length of the conversation.
func (c *chat) SetTokens(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = n
}
