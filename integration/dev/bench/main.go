// Command bench measures fettle and its alternatives by turns in one run, and prints one table with
// ratios. docs/benchmarks.md records a run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 0
	if done, err := runChild(ctx); done {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			code = 1
		}
	} else {
		code = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1 // a contestant failed, or a file could not be written
	exitUsage       = 2
	exitInterrupted = 130
)

// options are the flags.
type options struct {
	run         *regexp.Regexp // cases to measure; nil: all
	full, write bool
	list        bool
	json, from  string
	pace        Pace
	docs        string // directory of the page
}

const usage = `usage: go run -C integration/dev ./bench [flags]

Measures fettle and its alternatives by turns in one run, and prints one table:
the minimum and the median time of each contestant, and the ratio of fettle's
time to it. Programs that are not installed are skipped by name.

`

// parse parses the flags. A nil result means that the command has nothing left to do.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	pattern := flags.String("run", "", "measure only the cases whose name matches this `regexp`; -list has the names")
	flags.BoolVar(&o.full, "full", false, "use the sizes of the budgets: 100,000 files, 10,000 sessions; 3 s a case")
	flags.StringVar(&o.json, "json", "", "write JSON lines to this `file`; - is stdout, instead of the table")
	flags.StringVar(&o.from, "from", "", "measure nothing: show the run that -json has written to this `file`")
	flags.BoolVar(&o.write, "write", false, "write the tables and plots to docs/benchmarks.md; requires a whole run")
	flags.BoolVar(&o.list, "list", false, "list the cases and their contestants, and measure nothing")
	flags.DurationVar(&o.pace.Time, "time", 0, "the time of each case, as 2s (default 500ms, with -full 3s)")
	flags.StringVar(&o.docs, "docs", "../../docs", "the `directory` of benchmarks.md for -write")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is not a flag: select cases with -run", flags.Arg(0))
	case o.pace.Time < 0:
		return nil, errors.New("-time must not be negative")
	case o.write && given["run"]:
		return nil, errors.New("-write needs a whole run, because it replaces every table of the page: remove -run or -write")
	case o.from != "" && (o.full || given["time"] || o.json != ""):
		return nil, errors.New("-from shows a finished run: remove -full, -time and -json")
	}
	var err error
	if o.run, err = regexp.Compile(*pattern); err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	o.pace.MinTurns = 5
	if o.full {
		o.pace.MinTurns = 11
	}
	if !given["time"] {
		o.pace.Time = 500 * time.Millisecond
		if o.full {
			o.pace.Time = 3 * time.Second
		}
	}
	return o, nil
}

// run executes the command and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "bench: %v (bench -h lists the flags)\n", err)
		return exitUsage
	}
	all, err := allCases()
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	var chosen []Case
	for _, c := range all {
		if o.run.MatchString(c.ID) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(stderr, "bench: no case matches -run %q; -list has the names\n", o.run)
		return exitUsage
	}
	if o.list {
		list(stdout, chosen)
		return exitDone
	}
	failed, err := report(ctx, o, chosen, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted; no files are left")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	case failed:
		return exitFailed
	}
	return exitDone
}

func list(w io.Writer, cases []Case) {
	for _, c := range cases {
		fmt.Fprintf(w, "%s\n    %s. %s\n", c.ID, plain(c.Title), c.Description)
		for _, contestant := range c.Contestants {
			fmt.Fprintf(w, "    %-8s %s\n", contestant.Role, contestant.Name)
		}
	}
	fmt.Fprintln(w, "not compared:")
	for _, n := range notCompared() {
		fmt.Fprintf(w, "    %s, because %s\n", n.Subject, n.Because)
	}
}
