// Package extensions finds the extensions that a person has installed, and says
// what each brings. It knows paths and raw JSON only; each owner parses its part.
package extensions

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/fault"
)

// Names of what an extension brings, below its directory.
const (
	CommandsFolder = "commands"
	SkillsFolder   = "skills"
	AgentsFolder   = "agents"
	PoliciesFolder = "policies"
	HooksFile      = "hooks/hooks.json"
	EnvFile        = ".env" // values of its settings that are not sensitive
)

// Extension is one that is there (EX-02). One that is not Active contributes
// nothing. It is not changed once it has been returned. Printed and as JSON it
// shows no sensitive value.
type Extension struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	Active      bool   `json:"isActive"`
	// Inactive says why it is not active, in a sentence; "" for one that is.
	Inactive string `json:"inactive,omitempty"`
	// Path is the directory of its files, absolute.
	Path string `json:"path"`
	// Folder is its entry in the extensions directory, which differs from Path for a
	// linked one; "" for one that lies elsewhere.
	Folder   string `json:"-"`
	Manifest string `json:"-"` // absolute path of its manifest
	ID       string `json:"id"`
	// Install says how it was installed; nil: it was put there by hand.
	Install *InstallMetadata `json:"installMetadata,omitempty"`
	// MCPServers are its servers by name, as the manifest says: ${extensionPath} and
	// the like are filled in, settings and environment are not, see
	// [Extension.Servers]. Key trust is never there.
	MCPServers    map[string]json.RawMessage `json:"mcpServers,omitempty"`
	ContextFiles  []string                   `json:"contextFiles,omitempty"` // absolute; those that exist
	ExcludedTools []string                   `json:"excludedTools,omitempty"`
	HooksFile     string                     `json:"hooksFile,omitempty"` // absolute; "": none
	Settings      []Setting                  `json:"settings,omitempty"`
	// ResolvedSettings are the Settings that have a value.
	ResolvedSettings []ResolvedSetting `json:"resolvedSettings,omitempty"`
	// The directories of its parts, absolute; "": there is none.
	SkillsDir   string `json:"skillsDir,omitempty"`
	AgentsDir   string `json:"agentsDir,omitempty"`
	CommandsDir string `json:"commandsDir,omitempty"`
	PoliciesDir string `json:"policiesDir,omitempty"`
	// PlanDir is where it wants plans written, as the manifest says; "": not said.
	PlanDir    string            `json:"planDir,omitempty"`
	Themes     []json.RawMessage `json:"themes,omitempty"`
	MigratedTo string            `json:"migratedTo,omitempty"` // address of its new source; "": not said

	// servers and env hold what may be secret, where printing does not reach it.
	servers func() map[string][]byte
	env     func() []string
	unknown []fault.Problem // of variables that its servers refer to
}
