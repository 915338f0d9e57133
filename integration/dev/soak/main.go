// Command soak runs all kinds of fettle traffic in one process for a given time, and
// fails if memory, goroutines, descriptors, processes or files grow, or if a byte or
// a result is lost: go run -C integration/dev ./soak -for 10m.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serve(ctx, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0; 1 for growth or loss; 2 for invalid arguments; 130 if
// interrupted.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{rounds: 20, warm: 5, fill: 10_000, parts: allParts()}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.time, "for", 10*time.Minute, "the time to run")
	flags.IntVar(&o.workers, "workers", 3, "the number of concurrent workers")
	flags.Uint64Var(&o.seed, "seed", 1, "the seed of random choices")
	only := flags.String("run", "", "run only the parts whose name matches this `regexp`")
	plot := flags.String("svg", "", "write a plot of the samples to this `file`")
	page := flags.String("write", "", "write the table into this `page`, as ../../docs/fuzzing.md")
	lines := flags.Bool("json", false, "print the samples as JSON objects, one a line, instead of the table")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || o.time <= 0 || o.workers < 1 {
		fmt.Fprintln(stderr, "soak: arguments are not allowed, and -for and -workers must be positive")
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(stderr, "soak: -run: %v\n", err)
		return 2
	}
	o.parts = slices.DeleteFunc(o.parts, func(p part) bool { return !match.MatchString(p.name) })
	reported := 0.0
	o.progress = func(s sample) {
		if s.Seconds-reported >= 10 {
			reported = s.Seconds
			fmt.Fprintln(stderr, s)
		}
	}
	r, err := soakIt(ctx, o)
	if err != nil {
		fmt.Fprintf(stderr, "soak: %v\n", err)
		if ctx.Err() != nil {
			return 130
		}
		return 1
	}
	if *lines {
		for _, s := range r.samples {
			line, err := json.Marshal(s)
			if err != nil {
				fmt.Fprintf(stderr, "soak: %v\n", err)
				return 1
			}
			fmt.Fprintf(stdout, "%s\n", line)
		}
	} else {
		fmt.Fprint(stdout, r.table())
	}
	if *plot != "" {
		if err := os.WriteFile(*plot, []byte(r.svg()), 0o644); err != nil {
			fmt.Fprintf(stderr, "soak: %v\n", err)
			return 1
		}
	}
	if *page != "" {
		if err := write(*page, r.table()); err != nil {
			fmt.Fprintf(stderr, "soak: %v\n", err)
			return 1
		}
	}
	for _, p := range r.problems {
		fmt.Fprintf(stderr, "soak: %s\n", p)
	}
	if len(r.problems) > 0 {
		return 1
	}
	return 0
}
