// Package cli implements the fettle program. It parses the command line, calls the
// core packages, and prints results as text or JSON with an exit code.
package cli

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/a2a"
	"github.com/fettle-dev/fettle/cli/acp"
	"github.com/fettle-dev/fettle/cli/commands/calls"
	"github.com/fettle-dev/fettle/cli/commands/custom"
	"github.com/fettle-dev/fettle/cli/commands/extensions"
	"github.com/fettle-dev/fettle/cli/commands/forks"
	"github.com/fettle-dev/fettle/cli/commands/mcp"
	"github.com/fettle-dev/fettle/cli/commands/policy"
	"github.com/fettle-dev/fettle/cli/commands/scaffold"
	"github.com/fettle-dev/fettle/cli/commands/sessions"
	"github.com/fettle-dev/fettle/cli/commands/settings"
	"github.com/fettle-dev/fettle/cli/commands/setup"
	"github.com/fettle-dev/fettle/cli/headless"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/keychain"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// Main runs the program with the arguments, streams and signals of the process and
// returns its exit code. The process must end then: signals stay caught, because each
// of them takes 50 µs to release.
func Main() int {
	p := &program.Program{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Open: program.Open}
	args := os.Args[1:]
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") && printVersion(p) == nil {
		return int(program.ExitDone) // frequent in scripts; skips the signals and the command tree
	}
	if os.Getenv("GOGC") == "" {
		collectLate()
	}
	log.SetOutput(io.Discard) // SDKs of providers log to stderr, where a screen may be
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	p.Providers = providers.All{Keys: func() *credentials.Store { return p.Keys }}
	return execute(ctx, p, args)
}

// collectLate lets a short run end without a garbage collection, which would take a fifth of
// its processor time. After the first collection, garbage is half of the default.
func collectLate() {
	const first, later = 400, 50 // percent of the live heap
	debug.SetGCPercent(first)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, later)
}

// execute runs a command line and prints an error that no command has reported yet.
func execute(ctx context.Context, p *program.Program, args []string) int {
	root := rootCommand(p)
	root.SetArgs(settings.NegativeValues(args))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(program.ExitDone)
	}
	failed := &program.ExitError{Code: program.ExitToolError, Err: err}
	if !p.Parsed {
		failed = &program.ExitError{Code: program.ExitUsage, Err: program.UsageFault(err)}
	}
	errors.As(err, &failed)
	if failed.Err != nil {
		p.PrintError(failed.Err)
	}
	return int(failed.Code)
}

func rootCommand(p *program.Program) *cobra.Command {
	var g program.Flags
	var talk conversation.Flags
	var showVersion bool
	root := &cobra.Command{
		Use:   "fettle [PROMPT]",
		Short: "The tool layer of a coding agent: verified reads and writes of files",
		Long: `fettle runs the tools of a coding agent. Every read returns a version and a hash,
every write states the hash it was based on, and a write that would overwrite the
changes of another process is refused.

With -p a model works on a prompt with these tools.`,
		Example: `  fettle -p 'Why does the build fail? @Makefile'
  git diff | fettle -p 'Review this change.' -o json
  fettle --resume -p 'And the tests?'
  fettle 'Add a test for the parser'`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(root *cobra.Command, args []string) error {
			if showVersion {
				return nil
			}
			return positional(p, root, &talk, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(p)
			}
			if other, args := listing(cmd); other != nil {
				other.SetContext(cmd.Context())
				return other.RunE(other, args)
			}
			return start(p, cmd, &g, &talk)
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.Parsed = true
			p.Keys = credentials.Open(program.KeysFile(&g), keychain.System())
			return g.Check(cmd.Flags())
		},
	}
	// The version flag is defined here because cobra prints its own with
	// text/template, and a program that links text/template keeps every method of
	// every type.
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version")
	root.SuggestionsMinimumDistance = 2
	g.Register(root)
	talk.Register(root.Flags())
	talk.RegisterSession(root)
	registerListings(root)
	root.AddCommand(calls.CallCommand(p, &g), calls.ListCommand(p, &g), calls.DemoCommand(p, &g), versionCommand(p), completionCommand(p))
	root.AddCommand(policy.Command(p, &g), settings.Command(p, &g), settings.TrustCommand(p, &g), settings.UntrustCommand(p, &g), settings.DoctorCommand(p, &g), settings.ModelsCommand(p, &g), setup.Command(p, &g))
	root.AddCommand(sessions.Command(p, &g, headless.Run), sessions.RestoreCommand(p, &g), sessions.RecoverCommand(p, &g), forks.Command(p, &g), custom.AgentsCommand(p, &g), custom.HooksCommand(p, &g), custom.SkillsCommand(p, &g), mcp.Command(p, &g), acp.Command(p, &g), a2a.Command(p, &g))
	extensions := extensions.Command(p, &g)
	extensions.AddCommand(scaffold.ExtensionsCommand(p, &g))
	root.AddCommand(extensions, scaffold.Command(p, &g))
	return root
}
