package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/commands/forks"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/headless"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/firstrun"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// start runs an interactive session if the user is at a terminal and gave no prompt;
// otherwise it runs the prompt of the command line or stdin. Without a prompt and
// without a flag that needs one, such as --model, it prints the help.
func start(p *program.Program, cmd *cobra.Command, g *program.Flags, f *conversation.Flags) error {
	if err := f.CheckSession(cmd.Flags()); err != nil {
		return err
	}
	if f.Resume != "" && f.SessionID != "" {
		return program.UsageError("A resumed session already has an id.", "Leave out --session-id or --resume.")
	}
	given := cmd.Flags().Changed
	switch {
	case !given(conversation.PromptFlag) && !given(conversation.FormatFlag) && isInteractive(p):
		if err := firstrun.Trust(cmd.Context(), p, g); err != nil {
			return err
		}
		return chat.Run(cmd.Context(), p, g, f)
	case given(conversation.PromptFlag) && (given(conversation.FirstFlag) || given(conversation.PlainFlag)):
		return program.UsageError("-p runs one prompt and exits; --"+conversation.FirstFlag+" and --"+conversation.PlainFlag+" need an interactive session.", "Omit one of them.")
	case given(conversation.FirstFlag) || given(conversation.PlainFlag):
		return program.UsageError("An interactive session needs a terminal.", "Run fettle in a terminal, or give a prompt with -p TEXT.")
	}
	if f.Fork != "" {
		return forks.Run(cmd.Context(), p, g, f, headless.Run)
	}
	asked := given(program.ModelFlag)
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { asked = asked || flag.Changed })
	if !asked && !isPiped(p) {
		return cmd.Help()
	}
	err := headless.Run(cmd.Context(), p, g, f)
	if !asked && errors.Is(err, headless.ErrNoPrompt) {
		return cmd.Help()
	}
	return err
}

// isPiped reports whether stdin is a pipe or a file, which can hold a prompt.
func isPiped(p *program.Program) bool {
	f, ok := p.In.(*os.File)
	if !ok {
		return p.In != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && !info.IsDir()
}

// isInteractive reports whether stdin and stdout are a terminal.
func isInteractive(p *program.Program) bool {
	return display.IsTerminal(p.In) && display.IsTerminal(p.Out)
}
