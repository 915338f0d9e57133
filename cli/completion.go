package cli

import (
	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

func completionCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `Prints a script that completes fettle's commands, flags and tool names.

  bash:        source <(fettle completion bash)
  zsh:         fettle completion zsh > "${fpath[1]}/_fettle"
  fish:        fettle completion fish | source
  powershell:  fettle completion powershell | Out-String | Invoke-Expression`,
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.Out, true)
			case "zsh":
				return root.GenZshCompletion(p.Out)
			case "fish":
				return root.GenFishCompletion(p.Out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(p.Out)
			}
		},
	}
}
