package chat

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
)

// agreed holds the user's consent to a command line that asked before.
type agreed struct {
	overwrite bool
	commands  []string
}

// command runs a slash command.
func (w *work) command(ctx context.Context, line string, to agreed) {
	c := w.commandContext(w)
	c.OverwriteConfirmed, c.ApprovedCommands = to.overwrite, to.commands
	result, err := w.commandSet().Parse(line).Run(ctx, c)
	if err != nil {
		w.fail(ctx, err)
		return
	}
	w.effect(ctx, result, line, to)
}

// commandSet returns the commands of the session.
func (c *chat) commandSet() *commands.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set
}

// loadCommands loads the commands of the program, command files, MCP servers, skills
// and agents.
func (c *chat) loadCommands(ctx context.Context) ([]fault.Problem, error) {
	set, problems, err := c.config.SlashCommands(ctx, listLoader{c, builtin.Loader(c.services())})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = set
	return problems, nil
}

// keys returns the keys of the front end, for /help.
func (c *chat) keys() string {
	if c.lists {
		return keymap.Markdown()
	}
	return "| key | effect |\n|---|---|\n| `\\` at the end of a line | continues the input on the next line |\n" +
		"| Ctrl-C | cancels the work; at the prompt it clears the input; twice in a row it quits |\n| Ctrl-D | quits |\n"
}

// commandContext returns the context of a command.
func (c *chat) commandContext(ui commands.UI) *commands.Context {
	c.mu.Lock()
	prompts, started := c.prompts, c.started
	c.mu.Unlock()
	return &commands.Context{
		Services: commandServices{c.config, c.log},
		UI:       ui,
		Session:  commands.Session{ID: c.config.SessionID(), Started: started, Prompts: prompts},
	}
}

// quiet is a UI without output.
type quiet struct{}

func (quiet) Say(commands.Message) {}
func (quiet) Progress(string)      {}

// commandServices are the services of the session for commands.
type commandServices struct {
	*config.Config
	log *slog.Logger
}

// Logger implements [commands.Services].
func (s commandServices) Logger() *slog.Logger { return s.log }

// Directories implements [commands.Services].
func (s commandServices) Directories() []string {
	ws, err := s.Workspace()
	if err != nil {
		return nil
	}
	return ws.Directories()
}

// ApprovalMode implements [commands.Services].
func (s commandServices) ApprovalMode() string { return string(s.Config.ApprovalMode()) }

// Setting implements [commands.Services].
func (s commandServices) Setting(key string) (json.RawMessage, bool) {
	origins, err := s.Settings().Origins(key)
	if err != nil {
		return nil, false
	}
	for _, o := range origins {
		if o.Refused == "" {
			value, err := json.Marshal(o.Value)
			return value, err == nil
		}
	}
	return nil, false
}

// Branch implements [commands.Services].
func (s commandServices) Branch(context.Context) (string, error) {
	ws, err := s.Workspace()
	if err != nil {
		return "", err
	}
	return branchOf(ws.Target()), nil
}
