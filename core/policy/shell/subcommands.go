package shell

import "slices"

// Subcommands tells whether a program's first argument that is no option names
// what it does, as with git, so that approving one use of it means that
// subcommand alone.
func Subcommands(program string) bool {
	return slices.Contains(subcommandPrograms(), program)
}

func subcommandPrograms() []string { return []string{"git", "go", "npm", "docker", "cargo"} }
