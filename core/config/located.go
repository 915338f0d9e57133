package config

import "slices"

// A Config locates the services below by subject. Each is a small value that
// refers to its Config: it may be copied, is valid until the Config is closed,
// and may be used by several goroutines at once.

// AgentService lists the subagents of a session.
type AgentService struct{ c *Config }

// ExtensionService lists, enables, disables and reloads the installed extensions.
type ExtensionService struct{ c *Config }

// SkillService finds, activates, enables, disables and reloads skills.
type SkillService struct{ c *Config }

// HookService lists and approves hooks, and runs those of a session's start and end.
type HookService struct{ c *Config }

// SettingsService returns and reloads the merged settings, with their origins and
// problems.
type SettingsService struct{ c *Config }

// PolicyService decides calls, and lists the rule files and their problems.
type PolicyService struct{ c *Config }

// InstructionService lists and reloads the context files.
type InstructionService struct{ c *Config }

// MCPServices connects to MCP servers, and serves the session's tools over MCP.
type MCPServices struct{ c *Config }

// Agents returns the service of the subagents.
func (c *Config) Agents() AgentService { return AgentService{c} }

// Extensions returns the service of the extensions.
func (c *Config) Extensions() ExtensionService { return ExtensionService{c} }

// Skills returns the service of the skills.
func (c *Config) Skills() SkillService { return SkillService{c} }

// Hooks returns the service of the hooks.
func (c *Config) Hooks() HookService { return HookService{c} }

// Settings returns the service of the settings.
func (c *Config) Settings() SettingsService { return SettingsService{c} }

// Policy returns the service of policy decisions.
func (c *Config) Policy() PolicyService { return PolicyService{c} }

// Instructions returns the service of the context files.
func (c *Config) Instructions() InstructionService { return InstructionService{c} }

// MCP returns the services of the Model Context Protocol.
func (c *Config) MCP() MCPServices { return MCPServices{c} }

// AllowedTools returns the tools that may run without approval.
func (s PolicyService) AllowedTools() []string { return slices.Clone(s.c.params().Policy.AllowedTools) }

// ExcludedTools returns the tools that are denied; they are not registered,
// unless they were registered before the settings excluded them. Tools that
// settings exclude during a session are excluded in all derived Configs.
func (s PolicyService) ExcludedTools() []string { return s.c.excluded() }
