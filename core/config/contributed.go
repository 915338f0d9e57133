package config

import (
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/mcp"
)

// contributed is what the active extensions bring, each part for its owner. Its
// zero value is nothing. It is replaced as a whole and never changed.
type contributed struct {
	hooks    []contributedFile   // hooks/hooks.json, with the names of variables
	skills   []contributedFolder // folders that hold skills
	commands []contributedFolder // folders of TOML files
	policies []contributedFolder // folders of rules
	agents   []subagent.Folder
	context  []contributedFile // instruction files; Data is not set
	exclude  []string          // tools that are excluded
	excluded map[string]Place  // where each of exclude is said
	servers  []mcp.Configured
	// serversOf is the extension that brings a server, by the server's name.
	serversOf map[string]string
	plansDir  string // where plans may be written; "": not said
}

// brought returns what the active extensions of a session bring now, never nil,
// from the beginning of Initialize on. Who keeps what it made of it makes it anew
// when extensions are loaded again.
func (c *Config) brought() *contributed {
	if brought := c.family.brought.Load(); brought != nil {
		return brought
	}
	return &contributed{}
}

// contributedFolder is a folder of an extension.
type contributedFolder struct {
	Path      string // absolute
	Extension string // its name
	ID        string
	Variables map[string]string // of ${NAME} in its files
	Env       []string          // NAME=VALUE: the extension's settings, for processes
}

// contributedFile is a file of an extension.
type contributedFile struct {
	contributedFolder // Path is the file's
	Data              []byte
}
