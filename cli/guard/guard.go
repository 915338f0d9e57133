// Package guard runs the command line of fettle-guard, which applies fettle's policy to
// other agents. It knows the form of a command and no command; a program passes its
// table to [Main], so that the program for hooks links only what hooks need.
package guard

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
)

// The exit codes of commands. A hook that blocks a call ends with ExitBlocked.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitBlocked = 2
	ExitUsage   = 2
)

// Streams are the standard streams of the process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Command is one command of the program.
type Command struct {
	Name string
	// Usage are lines "NAME FLAGS — purpose", printed in the help of the program.
	Usage string
	// Run runs the command with its arguments and returns the exit code. It prints
	// errors to Streams.Err.
	Run func(ctx context.Context, s Streams, args []string) int
}

// Main runs the command that the process's first argument names and returns the exit
// code.
func Main(program string, commands ...Command) int {
	signal.Ignore(syscall.SIGPIPE) // a closed stdout is an error, which a hook answers with its exit code
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, program, commands, os.Args[1:])
}

func run(ctx context.Context, s Streams, program string, commands []Command, args []string) int {
	if len(args) == 0 {
		usage(s.Err, program, commands)
		return ExitUsage
	}
	switch args[0] {
	case "help", "--help", "-h":
		usage(s.Out, program, commands)
		return ExitDone
	case "version", "--version", "-v":
		_, _ = fmt.Fprintln(s.Out, program, Version()) // a closed stdout cannot be reported
		return ExitDone
	}
	i := slices.IndexFunc(commands, func(c Command) bool { return c.Name == args[0] })
	if i < 0 {
		_, _ = fmt.Fprintf(s.Err, "%s: unknown command %.40q. See %s --help.\n", program, args[0], program)
		return ExitUsage
	}
	return commands[i].Run(ctx, s, args[1:])
}

func usage(w io.Writer, program string, commands []Command) {
	_, _ = fmt.Fprintf(w, "%s applies fettle's policy to other agents; it only makes them stricter.\n\n", program)
	for _, c := range commands {
		_, _ = fmt.Fprintf(w, "  %s %s\n", program, c.Usage)
	}
}

// Version returns the version of the program, as go has recorded it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
