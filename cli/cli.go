// Package cli is the fettle program: it turns a command line into calls of
// the core, and their answers into text, JSON and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// Main runs the program with the process's arguments, streams and signals,
// and returns its exit code.
func Main() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // half the garbage of the default, at a cost that does not show
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, open: openConfig}
	return p.run(ctx, os.Args[1:])
}

// program is one run of fettle.
type program struct {
	in       io.Reader
	out, err io.Writer
	open     func(context.Context, sessionOptions) (session, error)

	parsed  bool           // the command line has been understood
	secrets *redact.Masker // of the session; nil: none was opened
}

// run executes a command line, and prints what no command has reported yet.
func (p *program) run(ctx context.Context, args []string) int {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") && p.printVersion() == nil {
		return int(exitDone) // asked often by scripts, and needs no command
	}
	root := p.rootCommand()
	root.SetArgs(negativeValues(args))
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(exitDone)
	}
	failed := &exitError{code: exitToolError, err: err}
	if !p.parsed {
		failed = &exitError{code: exitUsage, err: usageFault(err)}
	}
	errors.As(err, &failed)
	if failed.err != nil {
		p.complain(failed.err)
	}
	return int(failed.code)
}

// complain prints an error as one line on stderr, its remedy included.
func (p *program) complain(err error) {
	line := err.Error()
	if f := fault.As(err); f != nil {
		line = f.Line()
	}
	_, _ = fmt.Fprintln(p.err, "fettle: "+oneLine(p.masked(line)))
}

// masked is text without the secrets of the session, or of the environment before
// there is one, and without what has the shape of one.
func (p *program) masked(text string) string {
	hide := p.secrets
	if hide == nil {
		hide = &redact.Masker{}
		hide.Add(secretsOf(os.Environ())...)
	}
	return hide.Text(text)
}

// oneLine joins s to a line that is safe to show.
func oneLine(s string) string { return escape.Line(s) }

func (p *program) rootCommand() *cobra.Command {
	var g globalFlags
	var talk headlessFlags
	var showVersion bool
	root := &cobra.Command{
		Use:   "fettle",
		Short: "The tool layer of a coding agent: verified reads and writes of files",
		Long: `fettle runs the tools of a coding agent. Every read hands out a version and a
hash, every write proves what it was based on, and a write that would lose
somebody's bytes does not happen.

With -p it has a model work on a prompt with these tools.`,
		Example: `  fettle -p 'Why does the build fail? @Makefile'
  git diff | fettle -p 'Review this change.' -o json
  fettle --resume -p 'And the tests?'`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(root *cobra.Command, args []string) error {
			if showVersion || root.Flags().Changed(resumeFlag) && len(args) == 1 { // --resume 3
				return nil
			}
			return knownCommand(root, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if showVersion {
				return p.printVersion()
			}
			if len(args) == 1 {
				talk.resume = args[0]
			}
			return p.start(cmd, &g, &talk)
		},
		PersistentPreRun: func(*cobra.Command, []string) { p.parsed = true },
	}
	// A flag of our own, as cobra's prints by a template: a program that has
	// text/template keeps each method of each of its types.
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version")
	root.SuggestionsMinimumDistance = 2
	g.register(root)
	talk.register(root.Flags())
	talk.registerSession(root)
	root.AddCommand(p.callCommand(&g), p.toolsCommand(&g), p.demoCommand(&g), p.versionCommand(), p.completionCommand())
	root.AddCommand(p.policyCommand(&g), p.configCommand(&g), p.trustCommand(&g), p.untrustCommand(&g))
	root.AddCommand(p.sessionsCommand(&g), p.restoreCommand(&g), p.agentsCommand(&g), p.hooksCommand(&g), p.skillsCommand(&g), p.mcpCommand(&g))
	root.AddCommand(p.extensionsCommand(&g), p.newCommand(&g))
	return root
}

// knownSubcommand is knownCommand for a command that has others below it.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := "See " + cmd.CommandPath() + " --help."
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "Did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "? " + remedy
	}
	return usageError(fmt.Sprintf("Unknown command %q.", args[0]), remedy)
}

// knownCommand refuses what stands where a command should, and names the near ones.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := "See fettle --help."
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "Did you mean fettle " + strings.Join(near, " or fettle ") + "? " + remedy
	}
	return usageError(fmt.Sprintf("Unknown command %q.", args[0]), remedy)
}

// exitCode is what the process tells its caller.
type exitCode int

// The exit codes that a command here can end with; docs/cli.md has them all.
const (
	exitDone        exitCode = 0
	exitToolError   exitCode = 1
	exitUsage       exitCode = 2
	exitDenied      exitCode = 3
	exitConfig      exitCode = 4
	exitLimit       exitCode = 5
	exitUntrusted   exitCode = 55
	exitInterrupted exitCode = 130
)

// exitError ends the program with a code. A nil err has been reported already.
type exitError struct {
	code exitCode
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageFault words a command line that cannot be understood.
func usageFault(err error) error {
	if fault.As(err) != nil {
		return err
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return fault.New(fault.InvalidToolParams, "cli", sentence(message), "See fettle --help.")
}

// usageError is a mistake in the command line.
func usageError(message, remedy string) error {
	return &exitError{code: exitUsage, err: fault.New(fault.InvalidToolParams, "cli", message, remedy)}
}

// interrupted is the end by Ctrl-C.
func interrupted() error {
	return &exitError{code: exitInterrupted, err: fault.New(fault.Cancelled, "cli", "Interrupted.", "")}
}

// sentence gives s a capital letter and a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}
