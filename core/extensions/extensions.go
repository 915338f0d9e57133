// Package extensions describes the extensions of a session: where their parts are, the
// settings that they declare, and how they were installed. A session lists them; the
// program installs and changes them.
package extensions

import "encoding/json"

// Extension is one extension. Unless it is Active it contributes nothing. It is
// immutable. Its printed form and its JSON contain no sensitive value.
type Extension struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	Active      bool   `json:"isActive"`
	// Inactive is the reason why it is not active, as a sentence; "" if it is.
	Inactive string `json:"inactive,omitempty"`
	// Path is the directory of its files, absolute.
	Path string `json:"path"`
	// InstallDir is its entry in the extensions directory, which differs from Path if it is
	// linked; "" if it is elsewhere.
	InstallDir string `json:"-"`
	Manifest   string `json:"-"` // absolute path of its manifest
	ID         string `json:"id"`
	// Install is the record of its installation; nil: it was copied by hand.
	Install *InstallMetadata `json:"installMetadata,omitempty"`
	// MCPServers are its servers by name, from the manifest. Path variables as
	// ${extensionPath} are expanded, settings and environment are not, see Servers. The
	// key trust is removed.
	MCPServers    map[string]json.RawMessage `json:"mcpServers,omitempty"`
	ContextFiles  []string                   `json:"contextFiles,omitempty"` // absolute; those that exist
	ExcludedTools []string                   `json:"excludedTools,omitempty"`
	HooksFile     string                     `json:"hooksFile,omitempty"` // absolute; "" if it has none
	Settings      []Setting                  `json:"settings,omitempty"`
	// ResolvedSettings are the Settings that have a value.
	ResolvedSettings []ResolvedSetting `json:"resolvedSettings,omitempty"`
	// The directories of its parts, absolute; "" if it has none.
	SkillsDir   string `json:"skillsDir,omitempty"`
	AgentsDir   string `json:"agentsDir,omitempty"`
	CommandsDir string `json:"commandsDir,omitempty"`
	PoliciesDir string `json:"policiesDir,omitempty"`
	// PlanDir is the requested directory for plans, from the manifest; "" if it has
	// none.
	PlanDir    string            `json:"planDir,omitempty"`
	Themes     []json.RawMessage `json:"themes,omitempty"`
	MigratedTo string            `json:"migratedTo,omitempty"` // address of its new source; "" if it has not moved

	// Plugin describes its parts if it is a plugin of Claude Code, which has none of the
	// directories above; nil: it is none.
	Plugin *Plugin `json:"plugin,omitempty"`

	// Servers are the MCPServers with settings and environment expanded, as JSON, by
	// name. They may contain secrets, so they are sensitive values.
	Servers map[string]Value `json:"-"`
}

// Plugin contains the parts of a plugin of Claude Code. Paths are absolute.
type Plugin struct {
	Commands []string `json:"commands,omitempty"` // Markdown files, and directories of them
	Agents   []string `json:"agents,omitempty"`   // likewise
	Skills   []string `json:"skills,omitempty"`   // directories of one or several skills
	// Hooks are objects of events, from files and from the manifest, merged.
	Hooks json.RawMessage `json:"-"`
	// Omitted are the parts of its manifest that fettle does not use.
	Omitted []Omitted `json:"omitted,omitempty"`
}

// Omitted is a part of an extension that is not used.
type Omitted struct {
	Part   string `json:"part"`           // as lspServers, or the path of a file
	Reason string `json:"reason"`         // a sentence
	Line   int    `json:"line,omitempty"` // in the file; 0: unknown
}

// InstallType is the type of an installation's source.
type InstallType string

// The types.
const (
	InstallGit     InstallType = "git"
	InstallLocal   InstallType = "local"
	InstallLink    InstallType = "link" // its files stay in place
	InstallRelease InstallType = "github-release"
)

// InstallMetadata is the record of an installation, in the format of existing
// extensions.
type InstallMetadata struct {
	Source          string      `json:"source"` // address or absolute path
	Type            InstallType `json:"type"`
	Ref             string      `json:"ref,omitempty"`
	Plugin          string      `json:"plugin,omitempty"` // of the marketplace at Source; "": Source is the extension
	ReleaseTag      string      `json:"releaseTag,omitempty"`
	AutoUpdate      bool        `json:"autoUpdate,omitempty"`
	AllowPreRelease bool        `json:"allowPreRelease,omitempty"`
}

// Env returns its settings with values as NAME=VALUE, for the environment of its
// programs. They may contain secrets and must not be printed.
func (e Extension) Env() []string {
	all := make([]string, len(e.ResolvedSettings))
	for i, setting := range e.ResolvedSettings {
		all[i] = setting.EnvVar + "=" + setting.Value.Reveal()
	}
	return all
}
