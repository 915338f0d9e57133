package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// services returns the services of the built-in commands.
func (c *chat) services() builtin.Services {
	s := builtin.Services{
		Product: c.config.Layout().Name,
		Catalog: chatCatalog{c}, Clear: &builtin.Clear{Hooks: chatHooks{c}, Chat: chatReset{c}, Session: chatReset{c}, Tokens: c},
		Tools: chatTools{c}, Models: chatModels{c}, Transcript: chatTranscript{c}, Compressor: chatCompressor{c},
		Servers: chatServers{c}, Trust: chatTrust{c}, Policy: chatPolicy{c}, Memory: chatMemory{c}, Stats: chatStats{c},
		About: chatAbout{c}, Agents: chatAgents{c}, Directories: chatDirectories{c}, ContextFile: chatContextFile{c}, Mode: chatMode{c},
		Hooks: chatHooks{c}, Skills: chatSkills{c}, Extensions: chatExtensions{c}, Checkpoints: c.checkpoints(),
		Keys: c.keys,
	}
	if chats, err := config.NewSavedChats(c.config, c.Hide.Values()); err == nil { // otherwise there is no home directory
		s.Chats = chats
	}
	return s
}

// chatCatalog serves /help and /commands.
type chatCatalog struct{ *chat }

// List implements [builtin.Catalog].
func (c chatCatalog) List() []*commands.Command { return c.commandSet().List() }

// Reload implements [builtin.Catalog].
func (c chatCatalog) Reload(ctx context.Context) ([]fault.Problem, error) {
	return c.loadCommands(ctx)
}

// chatReset serves /clear.
type chatReset struct{ *chat }

// Reset implements [builtin.Chat].
func (c chatReset) Reset(ctx context.Context) error { return c.conversation().ResetChat(ctx) }

// StartNewSession implements [builtin.NewSession].
func (c chatReset) StartNewSession(ctx context.Context) (string, error) {
	return c.renew(ctx, nil, 0)
}

// chatTools serves /tools.
type chatTools struct{ *chat }

// List implements [builtin.Tools].
func (c chatTools) List() []builtin.Tool {
	var list []builtin.Tool
	for _, t := range c.session.Tools() {
		list = append(list, builtinTool(t))
	}
	slices.SortFunc(list, func(a, b builtin.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func builtinTool(t tools.DeclarativeTool) builtin.Tool {
	spec := t.Spec()
	return builtin.Tool{Name: spec.Name, Display: spec.DisplayName, Description: spec.Description, Server: spec.Origin.Server, Schema: spec.Schema}
}

// chatModels serves /model.
type chatModels struct{ *chat }

// Model implements [builtin.Models].
func (c chatModels) Model() string { return c.Traffic.DisplayName(c.config.Model()) }

// Known implements [builtin.Models].
func (c chatModels) Known() []string { return c.Traffic.Models.Defaults() }

// SetModel implements [builtin.Models].
func (c chatModels) SetModel(ctx context.Context, name string, save bool) error {
	if _, err := c.Traffic.Models.Resolve(name); err != nil {
		return err
	}
	if save {
		if err := c.saveSetting(ctx, "model.name", name); err != nil {
			return err
		}
	}
	c.config.SetModel(name)
	return nil
}

// chatCompressor serves /compress.
type chatCompressor struct{ *chat }

// Compress implements [builtin.Compressor].
func (c chatCompressor) Compress(ctx context.Context) (builtin.Compressed, error) {
	done, err := c.conversation().Compress(ctx, true)
	if err != nil {
		return builtin.Compressed{}, err
	}
	r := builtin.Compressed{Before: done.Before, After: done.After}
	if !done.Status.Changed() {
		r.Why = whyNotCompacted(done.Status)
		return r, nil
	}
	c.SetTokens(done.After)
	return r, nil
}

// chatServers serves /mcp.
type chatServers struct{ *chat }

func (c chatServers) manager() *mcp.Manager {
	m, err := c.config.MCP().Manager()
	if err != nil { // the session is closed
		return nil
	}
	return m
}

// List implements [builtin.Servers].
func (c chatServers) List() []builtin.Server {
	m := c.manager()
	if m == nil {
		return nil
	}
	var list []builtin.Server
	for _, s := range m.Status() {
		server := builtin.Server{Name: s.Name, State: string(s.State), Prompts: s.Prompts, Resources: s.Resources}
		if s.Error != nil {
			server.Problem = fault.Line(s.Error)
		}
		if spec, _, err := c.config.MCP().Server(s.Name); err == nil {
			server.Description = spec.Description
			if spec.Command != "" {
				server.Confinement = "unconfined"
				if spec.Sandbox {
					server.Confinement = "confined"
				}
			}
		}
		for _, t := range m.Tools(s.Name) {
			server.Tools = append(server.Tools, builtinTool(t))
		}
		list = append(list, server)
	}
	return list
}

// SignIn implements [builtin.Servers]. The sign-in page is shown from the goroutine
// that runs the command, like all its output.
func (c chatServers) SignIn(ctx context.Context, server string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages, done := make(chan string), make(chan error, 1)
	go func() { // it ends with ctx at the latest, and is waited for
		done <- c.Providers.SignIn(ctx, c.config, server, program.ServerOptions{Version: program.VersionOf().Version, OpenURL: func(ctx context.Context, url string) error {
			select {
			case pages <- url:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
	}()
	for {
		select {
		case url := <-pages:
			c.say("To sign in, open this page: " + url)
		case err := <-done:
			if err != nil {
				return "", err
			}
			if m := c.manager(); m != nil {
				_ = m.Restart(ctx, server) // its status shows the result
			}
			return fmt.Sprintf("You are signed in to %s.", display.Line(server)), nil
		}
	}
}

// Reload implements [builtin.Servers].
func (c chatServers) Reload(ctx context.Context) error {
	m := c.manager()
	if m == nil {
		return nil
	}
	for _, s := range m.Status() {
		if s.State == mcp.StateDisabled || s.State == mcp.StateBlocked {
			continue
		}
		if err := m.Restart(ctx, s.Name); ctx.Err() != nil {
			return err // the error of a single server is in its status
		}
	}
	return nil
}

// SetEnabled implements [builtin.Servers].
func (c chatServers) SetEnabled(ctx context.Context, server string, on bool) error {
	m := c.manager()
	if m == nil {
		return fault.New(fault.InvalidConfig, "cli.mcp", "This session has no MCP servers.", "fettle mcp add adds one.")
	}
	if on {
		return m.Restart(ctx, server)
	}
	return m.Disable(server)
}

// chatPolicy serves /policy.
type chatPolicy struct{ *chat }

// Rules implements [builtin.Policy].
func (c chatPolicy) Rules() []builtin.Rule {
	var list []builtin.Rule
	for _, r := range c.session.PolicyRules() {
		rule := builtin.Rule{Decision: string(r.Decision), About: strings.TrimPrefix(r.String(), string(r.Decision)+" "), Source: r.Source,
			Name: r.Name, Priority: r.Effective(), Tier: program.TierOf(r)}
		if r.Line > 0 {
			rule.Source = fmt.Sprintf("%s:%d", r.Source, r.Line)
		}
		list = append(list, rule)
	}
	return list
}

// chatMemory serves /memory.
type chatMemory struct{ *chat }

// Files implements [builtin.Memory].
func (c chatMemory) Files(ctx context.Context) ([]builtin.MemoryFile, error) {
	docs, err := c.config.Instructions().Files(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]builtin.MemoryFile, len(docs))
	for i, d := range docs {
		list[i] = builtin.MemoryFile{Path: d.Path, Text: d.Text}
	}
	return list, nil
}

// Reload implements [builtin.Memory].
func (c chatMemory) Reload(context.Context) error { return c.config.Instructions().Reload() }

// CanAdd implements [builtin.Memory].
func (c chatMemory) CanAdd() bool {
	_, err := c.session.Lookup("save_memory")
	return err == nil
}

// chatAgents serves /agents.
type chatAgents struct{ *chat }

// List implements [builtin.Agents].
func (c chatAgents) List() []builtin.Agent {
	defs, err := c.config.Agents().List()
	if err != nil { // the session is closed
		return nil
	}
	var list []builtin.Agent
	for _, d := range defs {
		source := string(d.Source.Scope)
		if d.Source.Extension != "" {
			source += " " + d.Source.Extension
		}
		list = append(list, builtin.Agent{Name: d.Name, Description: d.Description, Source: source, Remote: d.IsRemote()})
	}
	slices.SortFunc(list, func(a, b builtin.Agent) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Reload implements [builtin.Agents]. It reloads everything that files contribute.
func (c chatAgents) Reload(ctx context.Context) ([]string, error) {
	if err := c.config.Extensions().Reload(ctx); err != nil {
		return nil, err
	}
	if _, err := c.loadCommands(ctx); err != nil {
		return nil, err
	}
	return program.AgentNotices(c.config), nil
}

// chatDirectories serves /directory.
type chatDirectories struct{ *chat }

// List implements [builtin.Directories].
func (c chatDirectories) List() []string { return commandServices{c.config, c.log}.Directories() }

// Add implements [builtin.Directories].
func (c chatDirectories) Add(ctx context.Context, path string) error {
	return c.config.AddDirectory(ctx, path)
}

// chatMode serves /mode and /plan.
type chatMode struct{ *chat }

// Mode implements [builtin.Mode].
func (c chatMode) Mode() string { return string(c.config.ApprovalMode()) }

// SetMode implements [builtin.Mode].
func (c chatMode) SetMode(_ context.Context, mode string) error {
	return c.config.SetApprovalMode(policy.ApprovalMode(mode))
}

// chatContextFile serves /init.
type chatContextFile struct{ *chat }

// Find implements [builtin.ContextFile].
func (c chatContextFile) Find(context.Context) (path string, exists bool, err error) {
	path = filepath.Join(c.targetDir(), c.config.Layout().ContextFile)
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	return path, err == nil, err
}

// saveSetting writes a setting to the user's settings file, and reports why it is not
// effective.
func (c *chat) saveSetting(ctx context.Context, key string, value any) error {
	w, err := userfiles.WriteSetting(ctx, c.global, settings.LayerUser, key, value)
	for _, note := range w.Notes {
		c.warn(note)
	}
	return err
}
