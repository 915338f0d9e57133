package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// CommandTree returns the program's commands, for what is written from them:
// pages, manuals, completion scripts. They are to be read, not to be run.
func CommandTree() *cobra.Command {
	p := &program.Program{Open: func(context.Context, program.SessionOptions) (program.Session, error) {
		panic("cli: a command of CommandTree is run")
	}}
	root := rootCommand(p)
	root.InitDefaultHelpFlag()
	return root
}
