package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// CommandTree returns the commands of the program for generators of pages, manuals
// and completion scripts. The commands must not be run: running one panics.
func CommandTree() *cobra.Command {
	p := &program.Program{Open: func(context.Context, program.SessionOptions) (program.Session, error) {
		panic("cli: a command of CommandTree must not be run")
	}}
	root := rootCommand(p)
	root.InitDefaultHelpFlag()
	return root
}
