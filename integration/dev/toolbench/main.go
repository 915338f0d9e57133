// Command toolbench compares the file and shell tools of programs without a model: it makes the same
// calls in the same states, and judges the files afterwards. docs/toolbench.md records a run and
// describes how to add a contestant.
package main

import (
	"context"
	"encoding/json"
	"errors"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "toolbench:", err)
		os.Exit(1)
	}
}

// Run is the record of a run.
type Run struct {
	Date        string   `json:"date"`
	System      string   `json:"system"`
	Cores       int      `json:"cores"`
	Took        string   `json:"took"`
	Load        string   `json:"load,omitempty"` // average of the last minute, at the beginning and the end
	Contestants []Entry  `json:"contestants"`
	Results     []Result `json:"results"`
	Figures     []Figure `json:"figures"`
}

// Entry is a contestant of a run.
type Entry struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	SetUp   string `json:"set_up"`
	Version string `json:"version,omitempty"`
	Absent  string `json:"absent,omitempty"`
}

const rawName = "toolbench.json" // next to the pictures

func run(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("toolbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run -C integration/dev ./toolbench [flags]")
		flags.PrintDefaults()
	}
	pattern := flags.String("run", "", "run only the cases and figures whose name matches this `regexp`")
	only := flags.String("contestants", "", "run only the contestants whose name matches this `regexp`")
	write := flags.Bool("write", false, "write docs/toolbench.md, its pictures and the raw results; requires a whole run")
	raw := flags.String("json", "", "write the raw results to this `file`")
	from := flags.String("from", "", "run nothing: use the raw results in this `file`")
	docs := flags.String("docs", "../../docs", "the `directory` of toolbench.md for -write")
	packages := flags.String("packages", os.Getenv(packagesVariable), "the `directory` with node_modules (default: toolbench/node, or "+packagesVariable+")")
	if err := flags.Parse(argv); err != nil {
		return err
	}
	if *write && *pattern+*only != "" {
		return errors.New("-write replaces the whole page: remove -run and -contestants")
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	who, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-contestants: %w", err)
	}
	var r *Run
	if *from != "" {
		data, err := os.ReadFile(*from)
		if err != nil {
			return err
		}
		r = &Run{}
		if err := json.Unmarshal(data, r); err != nil {
			return fmt.Errorf("%s: %w", *from, err)
		}
	} else if r, err = measured(ctx, *packages, match, who, stderr); err != nil {
		return err
	}
	if *raw != "" {
		if err := writeRaw(*raw, r); err != nil {
			return err
		}
	}
	if *write {
		return writePage(*docs, r)
	}
	fmt.Fprint(stdout, summary(r))
	return nil
}

// measured builds fettle and runs everything that matches.
func measured(ctx context.Context, packages string, match, who *regexp.Regexp, progress io.Writer) (*Run, error) {
	if packages == "" {
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/fettle-dev/fettle").Output()
		if err != nil {
			return nil, fmt.Errorf("find the repository: %w", err)
		}
		packages = filepath.Join(strings.TrimSpace(string(root)), "integration", "dev", "toolbench", "node")
	}
	packages, err := filepath.Abs(packages)
	if err != nil {
		return nil, err
	}
	l, err := newLab("", packages)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(l.Dir) //nolint:errcheck // a temporary directory
	if err := l.build(ctx); err != nil {
		return nil, err
	}
	return play(ctx, l, contestants(), match, who, false, progress)
}

// play runs the cases and figures with all contestants.
func play(ctx context.Context, l *Lab, all []Contestant, match, who *regexp.Regexp, quick bool, progress io.Writer) (*Run, error) {
	began, load := time.Now(), loadAverage()
	r := &Run{Date: began.UTC().Format(time.DateOnly), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	if node := firstLine(ctx, "node", "--version"); node != "" {
		r.System += ", Node " + strings.TrimPrefix(node, "v")
	}
	for i := range all {
		c := &all[i]
		if !who.MatchString(c.Name) {
			continue
		}
		e := Entry{Name: c.Name, Kind: c.Kind, SetUp: c.SetUp}
		version, err := l.version(ctx, c)
		if e.Version = version; err != nil {
			e.Absent = err.Error()
		}
		r.Contestants = append(r.Contestants, e)
		fmt.Fprintf(progress, "%s %s %s\n", c.Name, e.Version, e.Absent)
		if e.Absent != "" {
			continue
		}
		p, err := newPlayer(l, c)
		if err != nil {
			return nil, err
		}
		for _, k := range cases() {
			if match.MatchString(k.ID) && ctx.Err() == nil {
				r.Results = append(r.Results, p.play(ctx, &k))
			}
		}
		for _, m := range measures() {
			if match.MatchString(m.Keys[0][0]) && ctx.Err() == nil {
				fmt.Fprintln(progress, " ", m.Title)
				r.Figures = append(r.Figures, p.measure(ctx, m, quick)...)
			}
		}
		p.close()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r.Took = time.Since(began).Round(time.Second).String()
	if load != "" {
		r.Load = load + " at the beginning and " + loadAverage() + " at the end"
	}
	return r, nil
}

// loadAverage returns the system's load of the last minute, "" if it is unknown.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(data), " ")
	return load
}

// measure returns the figures of a work, without those that are not offered.
func (p *player) measure(ctx context.Context, m Measure, quick bool) []Figure {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	all, err := m.run(ctx, p, quick)
	if errors.Is(err, errNotOffered) {
		return nil
	}
	if err != nil {
		p.drop(Edits)
		all = []Figure{{Key: m.Keys[0][0], Failed: firstOf(err.Error())}}
	}
	for i := range all {
		all[i].Contestant = p.Name
	}
	return all
}
