package config

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/agent/prompt"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// SystemPrompt returns the system prompt of the next request: how to work, the
// tools that there are, where it works, or in the place of these
// Conversation.SystemPrompt; then the instruction files that hold, with those that
// accesses have brought up (FT-15), unless Instructions.AsMessages. For a subagent
// it is what follows the agent's own prompt, which says how to work. The error is
// of code not_initialized or cancelled.
func (c *Config) SystemPrompt(ctx context.Context) (string, error) {
	s, err := c.own("SystemPrompt")
	if err != nil {
		return "", err
	}
	return c.systemPrompt(ctx, s, declared(s.registry))
}

// systemPrompt is SystemPrompt for a model that is told of these tools.
func (c *Config) systemPrompt(ctx context.Context, s *session, names []string) (string, error) {
	sh, err := c.services("SystemPrompt")
	if err != nil {
		return "", err
	}
	start, err := s.tracker.Begin(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.startInstructions(ctx, sh, known)
	})
	if err != nil {
		return "", err
	}
	p := c.params()
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	mode := c.ApprovalMode()
	f := prompt.Facts{
		Product: p.Layout.Name, Folders: sh.workspace.Folders(), System: runtime.GOOS, Today: now(), GitRepo: inRepository(sh.workspace.Target()),
		Tools: names, Interactive: c.bus.Listening(bus.TypeToolConfirmationRequest), PlanMode: mode == policy.ModePlan,
		Confined: string(p.Commands.Confinement.Kind), Untrusted: p.Trust == trust.Untrusted, Rest: c.ofAgent,
		Catalog: s.catalog.Listing(), Skills: skills.Listing(sh.skills.Enabled()), ActiveSkills: s.skills.texts(),
	}
	if sh.servers.Load() != nil {
		f.Servers = serverNotes(sh.servers.Load().Instructions(), s.registry)
	}
	if !c.ofAgent {
		f.Custom = p.Conversation.SystemPrompt
	}
	if f.PlanMode {
		f.PlansDir = c.plansDir(sh.workspace.Target())
	}
	docs := start
	if !p.Instructions.AsMessages {
		docs = append(docs, s.tracker.Given()...)
	}
	for _, d := range docs {
		f.Documents = append(f.Documents, prompt.Document{Path: d.Path, Text: d.Text})
	}
	return prompt.System(f) + s.hooks.notes(), nil
}

// serverNotes are the instructions of the servers that have a tool here.
func serverNotes(by map[string]string, r *tools.Registry) []prompt.Server {
	var notes []prompt.Server
	for _, t := range r.All() {
		server := t.Spec().Origin.Server // in listing order, by server
		text := by[server]
		if server == "" || text == "" || slices.ContainsFunc(notes, func(n prompt.Server) bool { return n.Name == server }) {
			continue
		}
		notes = append(notes, prompt.Server{Name: server, Instructions: text})
	}
	return notes
}

// declared are the names of the tools that the model is told of.
func declared(r *tools.Registry) []string {
	var names []string
	for _, d := range r.Declarations() {
		names = append(names, d.Name)
	}
	return names
}

// inRepository reports whether a folder lies in a repository of git.
func inRepository(folder string) bool {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}
