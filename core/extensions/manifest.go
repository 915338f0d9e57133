package extensions

import (
	"encoding/json"
)

// ManifestNames are the names of a manifest, the first that is there counts.
func ManifestNames() []string { return []string{"fettle-extension.json", "gemini-extension.json"} }

// Manifest is what an extension says of itself (EX-01).
type Manifest struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	// MCPServers are as in [Extension.MCPServers].
	MCPServers       map[string]json.RawMessage `json:"mcpServers,omitempty"`
	ContextFileNames []string                   `json:"contextFileName,omitempty"` // below the extension; nil: not said
	ExcludeTools     []string                   `json:"excludeTools,omitempty"`
	Settings         []Setting                  `json:"settings,omitempty"`
	Themes           []json.RawMessage          `json:"themes,omitempty"`
	PlanDirectory    string                     `json:"planDirectory,omitempty"` // as written; "": not said
	MigratedTo       string                     `json:"migratedTo,omitempty"`
}

// Setting is a value that an extension wants to be told.
type Setting struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	EnvVar      string `json:"envVar"` // variable that its programs find it in
	Sensitive   bool   `json:"sensitive,omitempty"`
}

// ParseManifest reads a manifest, JSON with comments, of the extension in dir,
// and fills in the variables. If one of the problems is Lost the extension cannot
// be used, and the Manifest holds what could be read.
func ParseManifest(data []byte, dir string, v Variables) (Manifest, []Problem) {
	return Manifest{}, nil
}
