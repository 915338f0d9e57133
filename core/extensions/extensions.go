// Package extensions manages the installed extensions and finds their parts. It knows
// paths and raw JSON only; each owner parses its part.
package extensions

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/fault"
)

// Names of the parts, below the directory of an extension.
const (
	CommandsDir = "commands"
	SkillsDir   = "skills"
	AgentsDir   = "agents"
	PoliciesDir = "policies"
	HooksFile   = "hooks/hooks.json"
	EnvFile     = ".env" // values of its settings that are not sensitive
)

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
	// ${extensionPath} are expanded, settings and environment are not, see
	// [Extension.Servers]. The key trust is removed.
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

	// servers and env are functions so that their values, which may be secret, are not
	// printed.
	servers func() map[string][]byte
	env     func() []string
	unknown []fault.Problem // variables in its servers
}
