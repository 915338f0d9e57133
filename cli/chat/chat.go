// Package chat implements the interactive session: prompts, shell lines and slash
// commands, displayed line by line or by [tui].
package chat

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/pathlist"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
)

// chat is an interactive session. It implements [interactive.Session].
type chat struct {
	conversation.Setup
	global  *program.Flags
	log     *slog.Logger
	session program.Session
	config  *config.Config
	notices notices // notices that occur while nothing runs
	inputs  inputs
	images  images
	sandbox string         // confines every command; "": none
	now     *work          // the running input; owned by its goroutine
	lists   bool           // the front end shows lists to choose from
	files   *pathlist.List // for completion
	// themeName is the theme that /theme has selected; "": none. Owned as now.
	themeName string
	again     *reopening // the session is to be opened again; nil: it is not. Owned as now.
	carried   *reopening // the session was opened again; nil: it was not

	mu      sync.Mutex
	started time.Time // start of the session; /clear starts a new one
	client  *agent.Client
	kept    *conversation.Record
	set     *commands.Set
	tokens  int    // of the last request
	prompts int    // prompts sent to the model
	answer  string // the last answer of the model
	branch  string
	pending []model.Part        // content for the model, sent with the next prompt
	served  map[string][]string // model names by provider, as its server listed them
	left    string              // reason for the end of the session, for hooks; "": the user left
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
			w.endForReopening()
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
	cycle := slices.DeleteFunc(policy.Modes(), func(m policy.ApprovalMode) bool { return m == policy.ModeYolo })
	next := policy.ModeDefault // after yolo, which is not in the cycle
	if i := slices.Index(cycle, c.config.ApprovalMode()); i >= 0 {
		next = cycle[(i+1)%len(cycle)]
	}
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
		Model: c.Traffic.DisplayName(c.config.Model()), Mode: string(c.config.ApprovalMode()), Dir: program.HomeAbbreviated(c.targetDir()), Branch: branch,
		Tokens: tokens, Limit: client.Limit(), Trust: c.config.Trust().String(), Confined: c.sandbox, Started: started,
	}
	if manager, err := c.config.MCP().Manager(); err == nil && manager != nil {
		for _, server := range manager.Status() {
			if server.State == mcp.StateConnected {
				s.Servers++
			}
		}
	}
	return s
}

// targetDir returns the target directory.
func (c *chat) targetDir() string {
	ws, err := c.config.Workspace()
	if err != nil { // the session is closed
		return c.config.TargetDir()
	}
	return ws.Target()
}

// noteBranch updates the Git branch of the target directory.
func (c *chat) noteBranch() {
	branch := branchOf(c.targetDir())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branch = branch
}

// addContext queues content for the model, sent with the next prompt.
func (c *chat) addContext(parts ...model.Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, parts...)
}

// conversation returns the current client.
func (c *chat) conversation() *agent.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// ending returns the reason for the end of the session, as hooks receive it.
func (c *chat) ending() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.left, "prompt_input_exit")
}

// SetTokens sets the displayed length of the conversation.
func (c *chat) SetTokens(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = n
}
