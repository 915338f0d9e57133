package extensions

import "encoding/json"

// Variables are what texts of an extension may refer to. The zero value fills
// nothing in.
type Variables struct {
	ExtensionPath string // of ${extensionPath}
	WorkspacePath string // of ${workspacePath}
	// Settings are the values of the extension's settings, by variable. Those that
	// the manifest does not declare are not looked at.
	Settings map[string]string
	// Getenv looks up a variable of the process. It is asked for those alone that
	// the manifest declares in settings, or that hold nobody's secret, as HOME. nil:
	// there are none.
	Getenv func(name string) (string, bool)
}

// Servers returns the MCP servers with settings and environment filled in. They
// may hold secrets and are not for printing.
func (e Extension) Servers() map[string]json.RawMessage { return e.MCPServers }
