package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// CommandTree returns the program's commands, for what is written from them:
// pages, manuals, completion scripts. They are to be read, not to be run.
func CommandTree() *cobra.Command {
	p := &program{open: func(context.Context, sessionOptions) (session, error) {
		panic("cli: a command of CommandTree is run")
	}}
	root := p.rootCommand()
	root.InitDefaultHelpFlag()
	return root
}
