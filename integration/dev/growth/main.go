// Command growth measures how the cost of fettle's work grows with its size, and fits an exponent to
// each curve: go run -C integration/dev ./growth. docs/benchmarks.md records a run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(stderr)
	pattern := flags.String("run", "", "measure only the curves whose name matches this `regexp`")
	most := flags.Int("most", 100_000, "leave out larger sizes; 1000000 includes a million files")
	plots := flags.String("svg", "", "write the plots to this `directory`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	dir, err := os.MkdirTemp("", "fettle-growth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	var all []measured
	for _, c := range curves() {
		if !match.MatchString(c.name) {
			continue
		}
		m, err := measure(ctx, dir, c, *most, time.Second)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(stderr, "%s: n^%.2f\n", c.name, m.exponent())
		all = append(all, m)
	}
	fmt.Fprint(stdout, table(all))
	if *plots == "" {
		return nil
	}
	return writePlots(*plots, all)
}
