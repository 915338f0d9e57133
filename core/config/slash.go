package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// commandsFolder holds commands, below the user's and the project's settings folder
// (CF-02).
const commandsFolder = "commands"

// SlashCommands returns the commands that a person can type: those of extra, in
// their order, then those of prompts of MCP servers that are connected, of skills and
// agents that are enabled, and of files (CM-08), of which the user's go before the
// project's, which count where its folder is trusted, and those before extensions'.
// Who comes later wins, see [commands.Assemble]. To load them again, call it again.
// What is wrong with a command is a Problem, and loses no other. The error is of code
// not_initialized or cancelled.
func (c *Config) SlashCommands(ctx context.Context, extra ...commands.Loader) (*commands.Set, []fault.Problem, error) {
	s, err := c.own("SlashCommands")
	if err != nil {
		return nil, nil, err
	}
	sh, err := c.services("SlashCommands")
	if err != nil {
		return nil, nil, err
	}
	loaders := append(slices.Clone(extra), promptCommands{sh.servers.Load()}, skillCommands{c, sh.skills, s.commandLines()}, agentCommands{s.registry})
	folders, problems := c.commandFolders(sh)
	set, more, err := commands.Assemble(ctx, append(loaders, commands.NewFiles(commands.FileOptions{
		Folders: folders, Shell: s.commandLines(), Files: templateFiles{c, s, sh}, Hold: s.hold,
	}))...)
	return set, append(problems, more...), err
}

// commandFolders are the folders of commands, in the order in which they count.
func (c *Config) commandFolders(sh *shared) (folders []commands.Folder, problems []fault.Problem) {
	userDir, err := c.userDir()
	if err == nil {
		folders = append(folders, commands.Folder{Path: filepath.Join(userDir, commandsFolder)})
	}
	if dir := filepath.Join(sh.workspace.Target(), c.params().Layout.Dir); !sameFolder(dir, userDir) {
		dir = filepath.Join(dir, commandsFolder)
		switch {
		case c.params().Trust == trust.Trusted:
			folders = append(folders, commands.Folder{Path: dir})
		case isFolder(dir):
			problems = append(problems, fault.Problem{Path: dir, Severity: fault.SeverityError,
				Message: "The project's own commands are not there, as its folder is not trusted.", Remedy: "Look at them, and trust the folder with fettle trust."})
		}
	}
	brought := slices.SortedStableFunc(slices.Values(c.brought().commands), func(a, b contributedFolder) int {
		return strings.Compare(a.Extension, b.Extension)
	})
	for _, f := range brought {
		folders = append(folders, commands.Folder{Path: f.Path, Extension: f.Extension, ID: f.ID, Variables: f.Variables})
	}
	return folders, problems
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
