// Package extensionstore installs, updates, enables and reads the extensions in the
// user's directory. It knows paths and raw JSON only; each owner parses its part.
package extensionstore

// Names of the parts, below the directory of an extension.
const (
	commandsDir   = "commands"
	skillsDir     = "skills"
	agentsDir     = "agents"
	policiesDir   = "policies"
	hooksFile     = "hooks/hooks.json"
	rootHooksFile = "hooks.json"
	envFile       = ".env" // values of its settings that are not sensitive
)
