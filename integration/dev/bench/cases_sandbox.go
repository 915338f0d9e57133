package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// sandboxDirs is the number of directories in the workspace of the cases sandbox/….
const sandboxDirs = 2_000

func sandboxCases() []Case {
	const unconfined = "unconfined"
	all := []Case{
		{ID: "sandbox/true", Title: "a confined command, `true`, in a workspace of 2,000 directories", Description: "The shortest command runs in the sandbox, with a scan for new protected names before and after it.",
			Budgets:     []Budget{{Kind: Difference, Most: 3e6, Against: unconfined}},
			Contestants: []Contestant{{"fettle", Ours, confined(process.ConfineWrite)}, {unconfined, Part, confined(process.ConfineNone)}}},
		{ID: "sandbox/scan", Title: "two scans of 2,000 directories for new protected names", Description: "The scans before and after a command that changes nothing.",
			Budgets: []Budget{{Kind: Absolute, Most: 1e6}},
			Contestants: []Contestant{
				{"fettle", Ours, scanned},
				{"a system call for each directory", Floor, statted},
			}},
	}
	for _, line := range []struct{ key, title, command string }{
		{"one", "one command", "rg -n 'func New' core"},
		{"five", "five commands", "cd core && grep -rn TODO --include='*.go' . | sort | uniq -c | sort -rn | head -20"},
	} {
		all = append(all, Case{ID: "sandbox/decision-" + line.key, Title: "a decision on " + line.title + " in the mode auto",
			Description: "A decision about a command line, with the table of read-only programs and two patterns that deny.",
			Budgets:     []Budget{{Kind: Absolute, Most: 60e3}},
			Contestants: []Contestant{{"fettle", Ours, decidedInAuto(line.command)}}})
	}
	return all
}

// sandboxWorkspace returns a workspace with a repository and 2,000 directories, outside of /tmp,
// which commands do not see.
func sandboxWorkspace(ctx context.Context, lab *Lab) (string, error) {
	return Shared(ctx, lab, "sandbox-workspace", func(context.Context) (string, func() error, error) {
		top, err := os.MkdirTemp("/var/tmp", "fettle-bench-")
		if err != nil {
			return "", nil, absent("%v", err)
		}
		end := func() error { return os.RemoveAll(top) }
		for i := range sandboxDirs {
			if err := os.MkdirAll(filepath.Join(top, fmt.Sprintf("%d/%d/%d", i%10, i%100, i)), 0o700); err != nil {
				return "", end, err
			}
		}
		return top, end, os.Mkdir(filepath.Join(top, ".git"), 0o700)
	})
}

func isGit(path string) bool { return filepath.Base(path) == ".git" }

// confined runs the command true as how states.
func confined(how process.Confine) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		if err := sandbox.Probe(); err != nil {
			return nil, absent("no namespaces: %v", err)
		}
		dir, err := sandboxWorkspace(ctx, lab)
		if err != nil {
			return nil, err
		}
		home, err := lab.TempDir("sandbox-home")
		if err != nil {
			return nil, err
		}
		c := process.Confinement{Kind: process.Namespaces, PerCommand: true, Writable: []string{dir}, Home: home, Cache: filepath.Join(home, "cache"), IsProtected: isGit}
		s := process.New(process.Options{Confinement: c})
		return &Prepared{Close: s.Close, Run: timed(func(ctx context.Context) error {
			r, err := s.Run(ctx, process.Command{Line: "true", Dir: dir, Confine: how})
			if err == nil && r.Exit.Code != 0 {
				err = errors.New("true was false")
			}
			return err
		})}, nil
	}
}

// scanned scans as before and after a command.
func scanned(ctx context.Context, lab *Lab) (*Prepared, error) {
	if err := sandbox.Probe(); err != nil {
		return nil, absent("no namespaces: %v", err)
	}
	dir, err := sandboxWorkspace(ctx, lab)
	if err != nil {
		return nil, err
	}
	tree := sandbox.NewTree(isGit, func() bool { return false }, func() (string, error) { return "", errors.New("nothing is created") })
	return &Prepared{InProcess: true, Close: func() error { tree.Close(); return nil }, Run: timed(func(context.Context) error {
		if found := tree.Begin([]string{dir}, nil); len(found) != 1 {
			return fmt.Errorf("found %d paths instead of 1", len(found))
		}
		_, err := tree.End()
		return err
	})}, nil
}

// statted makes the system calls of two scans without watches.
func statted(ctx context.Context, lab *Lab) (*Prepared, error) {
	dir, err := sandboxWorkspace(ctx, lab)
	if err != nil {
		return nil, err
	}
	var all []string
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	return &Prepared{InProcess: true, Run: timed(func(context.Context) error {
		for range 2 {
			for _, path := range all {
				if _, err := os.Lstat(path); err != nil {
					return err
				}
			}
		}
		return nil
	})}, err
}

// decidedInAuto decides about a line whose programs are found.
func decidedInAuto(line string) func(context.Context, *Lab) (*Prepared, error) {
	return func(context.Context, *Lab) (*Prepared, error) {
		denies := func(pattern string) policy.Rule {
			return policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 900, CommandRegex: pattern, Tier: policy.TierUser}
		}
		e, err := policy.NewEngine(policy.Options{ReadOnlyTable: true, Rules: []policy.Rule{denies(`(curl|wget) .*\| *(ba)?sh`), denies(`.*secret.*`)}})
		if err != nil {
			return nil, err
		}
		c, _ := policy.WellKnown("run_shell_command")
		if c.Params, err = json.Marshal(map[string]string{"command": line}); err != nil {
			return nil, err
		}
		c.Dir, c.Roots, c.Mode, c.Confinable, c.Sealed = "/w", []string{"/w"}, policy.ModeAuto, policy.Namespaces, true
		e.Prepare(&c)
		c.Found = map[string]string{}
		for _, name := range e.Lookups(c) {
			c.Found[name] = name
			if !strings.HasPrefix(name, "/") {
				c.Found[name] = "/usr/bin/" + name
			}
		}
		c.Line = nil // it is parsed in each decision
		if d := e.Decide(c); d.Decision != policy.Allow || d.Run != confirmation.RunRead {
			return nil, fmt.Errorf("the decision about %s is %s: %s", line, d.Decision, d.Reason)
		}
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error { e.Decide(c); return nil })}, nil
	}
}
