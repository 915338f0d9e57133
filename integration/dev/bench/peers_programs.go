package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	gnuPatch = "GNU patch"
	fd       = "fd"
)

// patching lets a program apply a diff and revert it. diff is the path of the diff in git's format.
// The program is started in the directory of changeFile.
func patching(n int, program string, args func(diff string) []string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		path, err := lab.Program(program)
		if err != nil {
			return nil, err
		}
		env, err := lab.Environment(ctx)
		if err != nil {
			return nil, err
		}
		c := changeOf(n)
		dir, file, err := fileWith(lab, changeFile, c.Texts[0])
		if err != nil {
			return nil, err
		}
		var diffs [2]string
		for i := range diffs {
			diffs[i] = filepath.Join(dir, fmt.Sprintf("%d.diff", i))
			if err := os.WriteFile(diffs[i], []byte(c.Diffs[i]), 0o644); err != nil {
				return nil, err
			}
		}
		check, done := alternates(file, c.Texts), 0
		return &Prepared{
			Run: selfTimed(func(ctx context.Context) *exec.Cmd {
				cmd := exec.CommandContext(ctx, path, args(diffs[done%2])...)
				cmd.Dir, cmd.Env = dir, env
				return cmd
			}, func([]byte) error {
				done++
				return check(done)
			}),
		}, nil
	}
}

// selfTimed returns a Run that times a process from start to end, and checks its stdout afterwards.
func selfTimed(command func(ctx context.Context) *exec.Cmd, check func(stdout []byte) error) func(context.Context) (Measured, error) {
	return func(ctx context.Context) (Measured, error) {
		var stdout, stderr bytes.Buffer
		cmd := command(ctx)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		began := time.Now()
		err := cmd.Run()
		elapsed := time.Since(began)
		found := stdout.Len() > 0 || stderr.Len() > 0
		if err != nil && (found || cmd.ProcessState.ExitCode() != foundNothing) {
			return Measured{}, fmt.Errorf("%s: %w\n%.1000s", filepath.Base(cmd.Path), err, stderr.String())
		}
		if err := check(stdout.Bytes()); err != nil {
			return Measured{}, fmt.Errorf("wrong result: %w", err)
		}
		return Measured{Elapsed: elapsed}, nil
	}
}

// foundNothing is the exit code of search programs without a match. The check of the output decides
// whether that is right.
const foundNothing = 1

// lister prepares a program whose output lines are counted. If want returns a number ≥ 0, there
// must be as many lines. Otherwise there must be some, and equally many in every turn.
func lister(get func(*Lab, context.Context) (Tree, error), programs []string, args []string, want func(Tree) int) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		program, err := lab.Program(programs...)
		if err != nil {
			return nil, err
		}
		env, err := lab.Environment(ctx)
		if err != nil {
			return nil, err
		}
		tree, err := get(lab, ctx)
		if err != nil {
			return nil, err
		}
		lines, earlier := 0, -1
		if tree.Files > 0 {
			lines = want(tree)
		}
		return &Prepared{Run: selfTimed(func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.Env = tree.Top, env
			return cmd
		}, func(stdout []byte) error {
			n := bytes.Count(stdout, []byte("\n"))
			switch {
			case lines > 0 && n != lines, lines == 0 && n == 0:
				return fmt.Errorf("%d lines instead of %d", n, lines)
			case earlier >= 0 && n != earlier:
				return fmt.Errorf("%d lines, but %d in an earlier turn", n, earlier)
			}
			earlier = n
			return nil
		})}, nil
	}
}

// ripgrepArgs are the arguments with which ripgrep searches the same files as fettle: hidden files,
// too, but no files of git, and without the user's settings.
func ripgrepArgs(more ...string) []string {
	return append([]string{"--no-config", "--hidden", "-g", "!.git"}, more...)
}

func ripgrepSearch(get func(*Lab, context.Context) (Tree, error), p SearchPattern) Contestant {
	args := ripgrepArgs("-n", "--no-heading")
	if p.Fold {
		args = append(args, "-i")
	}
	want := func(Tree) int { return -1 }
	if p.Key == "rare" {
		want = func(Tree) int { return 1 }
	}
	return Contestant{ripgrep, Peer, lister(get, []string{"rg"}, append(args, "-e", p.Pattern, "."), want)}
}

func ripgrepFiles(get func(*Lab, context.Context) (Tree, error), want func(Tree) int, glob ...string) Contestant {
	args := ripgrepArgs("--files")
	for _, g := range glob {
		args = append(args, "-g", g)
	}
	return Contestant{ripgrep, Peer, lister(get, []string{"rg"}, args, want)}
}

func fdFiles(get func(*Lab, context.Context) (Tree, error), want func(Tree) int, glob ...string) Contestant {
	args := []string{"--hidden", "--exclude", ".git", "--type", "f"}
	for _, g := range glob {
		args = append(args, "--glob", g)
	}
	return Contestant{fd, Peer, lister(get, []string{"fd", "fdfind"}, args, want)}
}

// agentProgram prepares the start of a program of an npm package, which must print want.
func agentProgram(pkg, program string, want func(version string) string, args ...string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		command, err := agentCommand(ctx, lab, pkg, program, args...)
		if err != nil {
			return nil, err
		}
		version, _, err := npmVersion(ctx, lab, pkg)
		if err != nil {
			return nil, err
		}
		return &Prepared{Run: selfTimed(command, func(stdout []byte) error {
			if !strings.Contains(string(stdout), want(version)) {
				return fmt.Errorf("%q is not in %.200q", want(version), stdout)
			}
			return nil
		})}, nil
	}
}

// agentCommand returns a function that starts a program of an npm package in an empty directory,
// with the peers' home.
func agentCommand(ctx context.Context, lab *Lab, pkg, program string, args ...string) (func(context.Context) *exec.Cmd, error) {
	path, err := npmProgram(ctx, lab, pkg, program)
	if err != nil {
		return nil, err
	}
	env, err := peerEnvironment(ctx, lab)
	if err != nil {
		return nil, err
	}
	dir, err := lab.TempDir("peer-start")
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}, err
}

// agentPeak prepares a program of an npm package whose peak memory is measured. The figure is the
// peak of its largest process.
func agentPeak(pkg, program string, args ...string) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		command, err := agentCommand(ctx, lab, pkg, program, args...)
		if err != nil {
			return nil, err
		}
		return &Prepared{Run: func(ctx context.Context) (Measured, error) {
			cmd := command(ctx)
			peak, err := peakBytes(ctx, cmd.Dir, cmd.Env, cmd.Args...)
			return Measured{Value: peak}, err
		}}, nil
	}
}
