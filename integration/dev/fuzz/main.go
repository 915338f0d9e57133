// Command fuzz runs every fuzz target of the repository, one after another, and
// prints one table: go run -C integration/dev ./fuzz -time 2m. docs/fuzzing.md
// describes the parser and the property of each target.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// page is the page with the table, relative to the module's root.
const page = "docs/fuzzing.md"

type options struct {
	time     time.Duration
	run      string
	parallel int
	list     bool
	keep     bool
	write    bool
	json     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0, 1 if a target found a failure or could not be run, 2
// for invalid arguments, 130 if interrupted.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.time, "time", 2*time.Minute, "the time of each target")
	flags.StringVar(&o.run, "run", "", "run only targets whose DIR.NAME matches this regular expression")
	flags.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "processes of a target")
	flags.BoolVar(&o.list, "list", false, "list the targets, and run none")
	flags.BoolVar(&o.keep, "keep", false, "store failing inputs and some of the new interesting ones in testdata/fuzz")
	flags.BoolVar(&o.write, "write", false, "write the rows into "+page)
	flags.BoolVar(&o.json, "json", false, "print a JSON object on a line for each target")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || o.time <= 0 || o.parallel < 1 {
		fmt.Fprintln(stderr, "fuzz: arguments are not allowed, and -time and -parallel must be positive")
		return 2
	}
	pattern, err := regexp.Compile(o.run)
	if err != nil {
		fmt.Fprintf(stderr, "fuzz: -run: %v\n", err)
		return 2
	}
	root, targets, err := find(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "fuzz: %v\n", err)
		return 1
	}
	var chosen []target
	for _, t := range targets {
		if pattern.MatchString(t.String()) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(stderr, "fuzz: no target matches %q; -list shows them\n", o.run)
		return 2
	}
	if o.list {
		for _, t := range chosen {
			fmt.Fprintln(stdout, t)
		}
		return 0
	}
	return all(ctx, root, chosen, o, stdout, stderr)
}

// all runs the targets and reports each as soon as it has ended.
func all(ctx context.Context, root string, targets []target, o options, stdout, stderr io.Writer) int {
	code := 0
	var done []outcome
	for i, t := range targets {
		fmt.Fprintf(stderr, "%d of %d: %s\n", i+1, len(targets), t)
		r := t.fuzz(ctx, root, o)
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "fuzz: interrupted")
			code = 130
			break
		}
		if r.Result != ok {
			code = 1
			fmt.Fprintf(stderr, "%s\n%s: %s\n", r.output, t, r.Result)
			if r.Input != "" {
				fmt.Fprintf(stderr, "the input is %s; it fails again by: %s\n", r.Input, r.Again)
			}
		}
		if o.keep {
			kept, err := keep(ctx, root, t)
			if err != nil {
				fmt.Fprintf(stderr, "fuzz: %v\n", err)
				code = 1
			}
			r.Corpus = kept
		}
		if o.json {
			line, err := json.Marshal(r)
			if err != nil {
				fmt.Fprintf(stderr, "fuzz: %v\n", err)
				return 1
			}
			fmt.Fprintf(stdout, "%s\n", line)
		}
		done = append(done, r)
		if o.write { // at once, so that an interrupt loses no row
			if err := write(filepath.Join(root, page), machine(), done); err != nil {
				fmt.Fprintf(stderr, "fuzz: %v\n", err)
				code = 1
			}
		}
	}
	if !o.json {
		fmt.Fprintf(stdout, "\n%s\n\n%s", machine(), table(done))
	}
	return code
}

// machine describes the machine.
func machine() string {
	return fmt.Sprintf("%s/%s, %d processors, %s.", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// goTool runs the go command in dir and returns its output.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
