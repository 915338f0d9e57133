package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/standard"
)

func (p *program) mcpAuthCommand(g *globalFlags) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "auth NAME",
		Short: "Sign in to an MCP server at a URL, or out of it",
		Long: `Opens the page at which the server wants you to sign in, waits until you have
done so, and keeps the tokens for later sessions in your settings folder, in
auth-cache.json, which nobody else may read.`,
		Args: exactlyOne("The name of a server is needed.", "fettle mcp list shows those that there are."),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			return p.withServers(cmd.Context(), g, func(ctx context.Context, c *config.Config, _ *mcp.Manager, _ *signIn) error {
				if forget {
					return p.signOut(ctx, c, name)
				}
				if err := standard.SignIn(ctx, c, name, standard.ServerOptions{Version: versionOf().Version, OpenURL: p.openURL}); err != nil {
					return signInFailure(ctx, err)
				}
				_, err := fmt.Fprintf(p.out, "You are signed in to %s.\n", oneLine(name))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "sign out: forget the tokens of the server")
	return cmd
}

func (p *program) signOut(ctx context.Context, c *config.Config, name string) error {
	had, err := standard.SignOut(ctx, c, name)
	if err != nil {
		return signInFailure(ctx, err)
	}
	said := "The tokens of %s are forgotten.\n"
	if !had {
		said = "There were no tokens of %s.\n"
	}
	_, err = fmt.Fprintf(p.out, said, oneLine(name))
	return err
}

func signInFailure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case fault.CodeOf(err) == fault.InvalidConfig:
		return &exitError{code: exitConfig, err: err}
	}
	return &exitError{code: exitToolError, err: err}
}

// openURL shows a page to the person: its address on stderr and, where there is
// a desktop, the page itself.
func (p *program) openURL(ctx context.Context, url string) error {
	fmt.Fprintf(p.err, "To sign in, open this page:\n  %s\n", printable(url))
	name, args := browser()
	if name == "" {
		return nil
	}
	// What the desktop's program says is for nobody, and the address stands above.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, append(args, url)...)
	if err := cmd.Start(); err != nil {
		return nil
	}
	go func() { _ = cmd.Wait() }() // it ends once it has handed the address on
	return nil
}

// browser is the program that opens addresses on this desktop, "" without one.
func browser() (name string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "", nil
	}
	return "xdg-open", nil
}
